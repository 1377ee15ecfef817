use std::sync::Arc;
use std::time::Duration;

use super::*;

fn target(port: u16, priority: u16, weight: u16) -> Target {
    Target { address: DialAddress::Tcp(([192, 0, 2, 1], port).into()), priority, weight }
}

fn places(targets: &[(u16, u16, u16)]) -> Places {
    let mut places = Places::default();
    let targets = targets.iter().map(|(port, priority, weight)| target(*port, *priority, *weight));
    places.replace(targets.collect(), &PoolOptions::default());
    places
}

fn port(place: Option<&mut Place>) -> u16 {
    match place.map(|place| &place.target.address) {
        Some(DialAddress::Tcp(address)) => address.port(),
        _ => 0,
    }
}

fn fail(places: &mut Places, failing: u16, now: Instant) {
    let cause: Cause = Arc::new(std::io::Error::other("no"));
    let place = places.of(&target(failing, 0, 0).address).unwrap();
    place.health.failed(now, (Duration::from_secs(1), Duration::from_secs(8)), 0.0, cause);
}

/// How many of a thousand evenly spaced draws each of these gets.
fn shares(places: &mut Places, ports: [u16; 3]) -> [usize; 3] {
    let now = Instant::now();
    let draws: Vec<_> =
        (0..1000).map(|nth| port(places.choose(now, f64::from(nth) / 1000.0))).collect();
    ports.map(|port| draws.iter().filter(|drawn| **drawn == port).count())
}

#[tokio::test(start_paused = true)]
async fn the_lowest_priority_is_used_by_weight() {
    let mut places = places(&[(1, 10, 60), (2, 10, 40), (3, 20, 100)]);
    assert_eq!(shares(&mut places, [1, 2, 3]), [600, 400, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_weight_of_zero_is_a_small_chance_and_all_zero_are_alike() {
    let [first, second, _] = shares(&mut places(&[(1, 0, 0), (2, 0, 10)]), [1, 2, 0]);
    assert!(first <= 2 && second >= 998);
    assert_eq!(shares(&mut places(&[(1, 0, 0), (2, 0, 0)]), [1, 2, 0]), [500, 500, 0]);
}

#[tokio::test(start_paused = true)]
async fn the_sick_are_passed_over_until_their_pause_has_ended() {
    let mut places = places(&[(1, 0, 1), (2, 1, 1)]);
    let now = Instant::now();
    assert_eq!(port(places.choose(now, 0.5)), 1);
    fail(&mut places, 1, now);
    assert_eq!(port(places.choose(now, 0.5)), 2);
    fail(&mut places, 2, now);
    assert_eq!(port(places.choose(now, 0.5)), 0);
    let (until, cause) = places.recovery().unwrap();
    assert_eq!((until, cause.unwrap().to_string()), (now + Duration::from_secs(1), "no".into()));
    assert_eq!(port(places.choose(until, 0.5)), 1);
}

#[tokio::test(start_paused = true)]
async fn the_pause_doubles_up_to_its_limit_and_is_up_to_a_half_shorter() {
    let (mut health, now) = (Health::default(), Instant::now());
    let cause: Cause = Arc::new(std::io::Error::other("no"));
    let limits = (Duration::from_secs(1), Duration::from_secs(8));
    for seconds in [1, 2, 4, 8, 8, 8] {
        health.failed(now, limits, 0.0, cause.clone());
        assert_eq!(health.sick_until(), Some(now + Duration::from_secs(seconds)));
    }
    health.failed(now, limits, 1.0, cause.clone());
    assert_eq!(health.sick_until(), Some(now + Duration::from_secs(4)));
    health.recovered();
    assert!(!health.is_sick(now) && health.failures() == 0);
    for _ in 0..100 {
        health.failed(now, limits, 0.5, cause.clone());
    }
    assert!(health.sick_until() < Some(now + limits.1));
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_being_connected_to_is_taken_last() {
    let mut places = places(&[(1, 0, 1), (2, 1, 1)]);
    let now = Instant::now();
    places.choose(now, 0.5).unwrap().opening += 1;
    assert_eq!(port(places.choose(now, 0.5)), 2);
    places.choose(now, 0.5).unwrap().opening += 1;
    assert_eq!(port(places.choose(now, 0.5)), 1);
}

#[tokio::test(start_paused = true)]
async fn the_history_of_an_address_stays_when_others_are_added() {
    let mut places = places(&[(1, 0, 1), (2, 0, 1)]);
    let now = Instant::now();
    fail(&mut places, 1, now);
    places
        .replace(vec![target(3, 0, 1), target(1, 5, 1), target(3, 9, 9)], &PoolOptions::default());
    let known: Vec<_> = places.iter().map(|place| place.target.clone()).collect();
    assert_eq!(known, [target(3, 0, 1), target(1, 5, 1)]);
    assert!(places.of(&target(1, 0, 0).address).unwrap().health.is_sick(now));
}
