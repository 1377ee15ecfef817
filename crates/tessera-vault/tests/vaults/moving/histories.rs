//! Random histories, and threads at all sites.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use tessera::resume::{Absence, TakeAnswer, TakePurpose};
use tessera_vault::contract::{LIFETIME, NOW, put_for, question};
use tessera_vault::{Limits, MemoryVault, MovedSecret, MovingVault, SiteVault};

use super::net::*;

/// Random histories of one flight: it arrives anywhere, any number of times, while its secret moves; messages are lost, late
/// and repeated, and sites die.
#[test]
fn no_history_accepts_a_flight_twice_or_one_that_was_burned() {
    let mut seen = [0; 4];
    for seed in 0..10_000 {
        let net = Net::new();
        let mut dice = Dice(seed);
        net.between(|between| between.loses = Some(Dice(seed ^ 0x5555)));
        assert!(put_for(&*net.at(0), 0, Some(CLIENT)));
        let (mut accepted, mut burned, mut history) = (0, 0, Vec::new());
        for _ in 0..14 {
            let (site, other) = (dice.roll(3) as usize, dice.roll(3) as usize);
            let choice = dice.roll(10);
            history.push((choice, site, other));
            match choice {
                0 | 1 => match net.arrive(0, site) {
                    TakeAnswer::Taken(_) => accepted += 1,
                    TakeAnswer::Absent(Absence::Burned) => burned += 1,
                    _ => (),
                },
                2..=6 => {
                    net.between(|between| between.delivers = choice <= 4);
                    if site != other {
                        seen[2] += net.move_secrets(site, other);
                    }
                }
                7 | 8 => {
                    let sent = net.between(|between| between.sent.clone());
                    let any = dice.roll(sent.len().max(1) as u64) as usize;
                    if let Some((number, departure)) = sent.get(any) {
                        seen[3] += usize::from(net.deliver(*number, *departure).is_ok());
                    }
                }
                _ if dice.roll(4) == 0 => net.crash(site),
                _ => (),
            }
            assert!(accepted <= 1, "seed {seed}: accepted twice: {history:?}");
            assert!(accepted == 0 || burned == 0, "seed {seed}: burned and accepted: {history:?}");
        }
        seen[0] += accepted;
        seen[1] += usize::from(burned > 0);
    }
    // Much happened.
    assert!(seen.iter().all(|count| *count > 200), "{seen:?}");
}

/// As in a server: threads at all sites at once. Every secret moves while its flight arrives everywhere.
#[test]
fn threads_at_all_sites_accept_each_flight_once_and_none_that_was_burned() {
    const FLIGHTS: u32 = 2000;
    let net = Net::new();
    let limits = Limits { per_client: 1000, ..Limits::new(10_000) };
    let sites = [1, 2, 3].map(|name| {
        let vault = MemoryVault::with_limits(limits);
        let random = provider().random;
        Arc::new(MovingVault::new(vault, [name; 16], 10_000, LIFETIME, random).unwrap())
    });
    let site = |vault: &Arc<MovingVault>| {
        Arc::new(SiteVault::moving(vault.clone(), Arc::new(Wire(net.0.clone()))))
    };
    net.between(|between| between.sites = sites.iter().map(site).collect());
    for number in 0..FLIGHTS {
        let client = [number as u8 % 50];
        assert!(put_for(&*sites[0], number, Some(&client)));
    }
    let [accepted, burned]: [Vec<AtomicU32>; 2] =
        [(); 2].map(|()| (0..FLIGHTS).map(|_| AtomicU32::new(0)).collect());
    let (stop, sent) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let (mut moved, again) = (AtomicU32::new(0), AtomicU32::new(0));
    let clone = |it: &MovedSecret| MovedSecret {
        handle: it.handle,
        secret: it.secret.as_ref().into(),
        expires_at: it.expires_at,
        client: it.client.clone(),
        departure: it.departure,
    };
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (sites, sent, stop, moved, again) = (&sites, &sent, &stop, &moved, &again);
            scope.spawn(move || {
                let mut dice = Dice(seed);
                while !stop.load(Ordering::Relaxed) {
                    let (from, to) = (dice.roll(3) as usize, dice.roll(3) as usize);
                    let life = sites[to].life();
                    let client = [dice.roll(50) as u8];
                    for secret in sites[from].depart(&client, life).unwrap() {
                        // Some get lost, all come twice.
                        let copy = clone(&secret);
                        if dice.roll(20) > 0 && sites[to].arrive(secret, NOW).is_ok() {
                            moved.fetch_add(1, Ordering::Relaxed);
                        }
                        sent.lock().unwrap().push((to, copy));
                    }
                    let late = {
                        let sent = sent.lock().unwrap();
                        let any = dice.roll(sent.len().max(1) as u64) as usize;
                        sent.get(any).map(|(to, copy)| (*to, clone(copy)))
                    };
                    if let Some((to, copy)) = late
                        && sites[to].arrive(copy, NOW).is_ok()
                    {
                        again.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let flights: Vec<_> = (0..4)
            .map(|seed| {
                let (net, accepted, burned) = (&net, &accepted, &burned);
                scope.spawn(move || {
                    let mut dice = Dice(seed ^ 0x1234);
                    for _ in 0..FLIGHTS * 4 {
                        let number = dice.roll(FLIGHTS.into()) as u32;
                        let outcome = match net.arrive(number, dice.roll(3) as usize) {
                            TakeAnswer::Taken(_) => accepted,
                            TakeAnswer::Absent(Absence::Burned) => burned,
                            _ => continue,
                        };
                        outcome[number as usize].fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        flights.into_iter().for_each(|it| it.join().unwrap());
        stop.store(true, Ordering::Relaxed);
    });
    let mut seen = [0; 2];
    for number in 0..FLIGHTS as usize {
        let [accepted, burned] = [&accepted, &burned].map(|it| it[number].load(Ordering::Relaxed));
        assert!(accepted <= 1 && (accepted == 0 || burned == 0), "{number}: {accepted}, {burned}");
        seen[0] += accepted;
        seen[1] += burned.min(1);
    }
    assert!(seen.iter().all(|it| *it > 50) && *moved.get_mut() > 100, "{seen:?} {moved:?}");
}

/// As a driver of connections waits for it.
#[test]
fn the_future_of_a_question_can_be_sent_to_another_thread() {
    fn is_send<T: Send>(_: &T) {}
    let net = Net::new();
    let question = question(0, TakePurpose::Accept, Some(NOW));
    is_send(&net.at(0).take_from_afar(&question));
    is_send(&net.at(0).arrival(&question));
    assert_eq!(Duration::ZERO, Duration::default());
}

/// Two threads: one moves the secret, and one has its flight. `Unknown` would cost the client a request that wasn't executed.
#[test]
fn what_becomes_of_a_secret_is_known_at_the_moment_of_its_move() {
    const ROUNDS: u32 = 900;
    for site in [0, 1, 2] {
        let net = Net::new();
        let (both, moved) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..ROUNDS {
                    assert!(put_for(&*net.at(0), number, Some(CLIENT)));
                    both.wait();
                    net.move_secrets(0, 1);
                    moved.wait();
                }
            });
            let answers = (0..ROUNDS).map(|number| {
                both.wait();
                let answer = net.arrive(number, site);
                moved.wait();
                answer
            });
            let unknown = answers.filter(|answer| {
                !is_taken(answer) && !matches!(answer, TakeAnswer::Absent(Absence::Burned))
            });
            assert_eq!(unknown.count(), 0, "at site {site}");
        });
    }
}
