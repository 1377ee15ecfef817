//! A channel to a home site that works, and to one that comes and goes.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{
    AWAY, Authority, HOME, HOME_VAULT, Home, IsolatedChannel, acceptor, burn, channel, connector,
    home_at, impatient, patient, put, request, until,
};
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault,
};
use tessera_sites::{ServerLimits, SiteServer, TlsSiteChannel};
use tessera_tokio::{Answer, Answers};
use tessera_vault::contract::handle;
use tessera_vault::{Acknowledgement, BurnAtHome, MemoryVault, SiteChannel, SiteVault};

#[tokio::test]
async fn the_fate_of_a_secret_comes_over_the_channel() {
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    (1..=2).for_each(|number| home.put(number));
    assert!(home.accepts(2));
    let channel = channel(&authority, home.address, patient());
    assert_eq!(burn(&channel, 1).await, Some(Acknowledgement::Burned));
    assert!(!home.accepts(1), "it is gone");
    assert_eq!(burn(&channel, 1).await, Some(Acknowledgement::Burned), "a request may be repeated");
    assert_eq!(burn(&channel, 2).await, Some(Acknowledgement::Used));
    assert_eq!(burn(&channel, 3).await, Some(Acknowledgement::Unknown));
    let counts = channel.counts();
    assert_eq!((counts.requests, counts.answered, counts.connections), (4, 4, 1));
    assert_eq!((counts.refused, counts.timed_out, counts.late, counts.failures), (0, 0, 0, 0));
    let counts = home.server.counts();
    assert_eq!((counts.connections, counts.requests, counts.answered), (1, 4, 4));
}

#[tokio::test]
async fn times_that_never_come_are_limits_too() {
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    home.put(1);
    let mut limits = patient();
    (limits.deadline, limits.ping, limits.connect) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let channel = channel(&authority, home.address, limits);
    assert_eq!(burn(&channel, 1).await, Some(Acknowledgement::Burned));
    assert_eq!(channel.counts().failures, 0);
}

/// A request is for one vault: other sites are not asked, and a site with another vault gives no answer.
#[tokio::test]
async fn only_the_site_that_has_the_vault_is_asked() {
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    home.put(1);
    let other = [9; 16];
    let connector = connector(&authority, vec![authority.credential(AWAY)]);
    let mut misnamed = home_at(home.address);
    misnamed.vault = other;
    let sites = vec![home_at(home.address), misnamed];
    let channel = TlsSiteChannel::open(&connector, sites, patient());
    let of = |vault| BurnAtHome::new(handle(1), Incarnation { vault, number: 0 });
    assert_eq!(channel.burn_at_home(&of([7; 16])).await, None, "no site has it");
    assert_eq!(channel.burn_at_home(&of(other)).await, Some(Acknowledgement::Unknown));
    assert!(home.accepts(1));
    assert_eq!((channel.counts().refused, channel.counts().answered), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_at_once_are_answered_each_with_its_own() {
    const ALL: u32 = 10_000;
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    (0..ALL).for_each(|number| home.put(number));
    // A third was used, a third is unknown.
    (0..ALL).filter(|number| number % 3 == 1).for_each(|number| assert!(home.accepts(number)));
    let channel = Arc::new(channel(&authority, home.address, patient()));
    let asked: Vec<_> = (0..ALL)
        .map(|number| if number % 3 == 2 { number + ALL } else { number })
        .map(|number| (number, channel.burn_at_home(&request(number))))
        .collect();
    for (number, answer) in asked {
        let expected = match number % ALL % 3 {
            _ if number >= ALL => Acknowledgement::Unknown,
            1 => Acknowledgement::Used,
            _ => Acknowledgement::Burned,
        };
        assert_eq!(answer.await, Some(expected), "{number}");
    }
    assert_eq!(channel.counts().connections, 1);
}

#[tokio::test]
async fn there_is_room_for_so_many_requests_and_those_that_are_dropped_make_room() {
    let authority = Authority::new();
    // It accepts connections, and never sends anything.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut limits = patient();
    limits.in_flight = 100;
    let channel = channel(&authority, silent.local_addr().unwrap(), limits);
    for round in 1..=50 {
        let asked: Vec<_> = (0..150).map(|number| channel.burn_at_home(&request(number))).collect();
        assert_eq!(channel.counts().refused, round * 50);
        drop(asked);
    }
    assert_eq!(channel.counts().timed_out, 0);
}

/// A home site that restarts fails no request: the next process answers what was asked meanwhile.
#[tokio::test]
async fn a_request_outlives_its_connection() {
    let authority = Authority::new();
    let acceptor = acceptor(&authority, authority.credential(HOME));
    let home = Home::with(acceptor.clone(), ServerLimits::default()).await;
    home.put(1);
    home.put(2);
    let channel = channel(&authority, home.address, patient());
    assert_eq!(burn(&channel, 1).await, Some(Acknowledgement::Burned));
    let (vault, address) = home.end().await;
    let asked = channel.burn_at_home(&request(2));
    until(|| channel.counts().failures >= 2).await;

    let server = Arc::new(SiteServer::new(vault.clone(), ServerLimits::default()));
    let home = Home::serve(vault, server, acceptor, Some(address)).await;
    assert_eq!(asked.await, Some(Acknowledgement::Burned));
    let counts = channel.counts();
    assert_eq!((counts.answered, counts.connections, counts.resumptions), (2, 2, 1), "{counts:?}");
    assert_eq!(home.server.counts().requests, 1);
}

/// Requests fail at once when a site has been away for a deadline, and succeed again when it is back.
#[tokio::test]
async fn a_site_that_is_gone_is_given_up_at_once_until_it_is_back() {
    let authority = Authority::new();
    let acceptor = acceptor(&authority, authority.credential(HOME));
    let home = Home::with(acceptor.clone(), ServerLimits::default()).await;
    home.put(1);
    let mut limits = impatient();
    limits.longest_pause = Duration::from_millis(50);
    let channel = channel(&authority, home.address, limits);
    until(|| channel.counts().connections == 1).await;
    let (vault, address) = home.end().await;
    until(|| channel.counts().failures >= 1).await;
    assert_eq!(burn(&channel, 1).await, None);
    // Away for longer than the deadline by now: the next request is not even queued.
    let before = channel.counts().refused;
    drop(channel.burn_at_home(&request(1)));
    assert_eq!(channel.counts().refused, before + 1);

    let server = Arc::new(SiteServer::new(vault.clone(), ServerLimits::default()));
    let _home = Home::serve(vault, server, acceptor, Some(address)).await;
    let mut answer = None;
    while answer.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        answer = burn(&channel, 1).await;
    }
    assert_eq!(answer, Some(Acknowledgement::Burned));
}

#[tokio::test]
async fn a_dropped_channel_answers_no_one_and_ends_its_connections() {
    let authority = Authority::new();
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let channel = channel(&authority, silent.local_addr().unwrap(), patient());
    let (mut socket, _) = silent.accept().await.unwrap();
    let asked = channel.burn_at_home(&request(1));
    drop(channel);
    assert_eq!(asked.await, None);
    // The end of the handshake, and then of the connection.
    tokio::io::copy(&mut socket, &mut tokio::io::sink()).await.unwrap();
}

/// A home vault across a network, such as etcd: it answers later, if at all.
struct Later {
    vault: MemoryVault,
    hangs: Vec<FlightHandle>,
}

impl Vault for Later {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.vault.put(put)
    }

    fn take(&self, _: &TakeSecret) -> Reply<TakeAnswer> {
        Reply::Later
    }

    fn burn(&self, _: &FlightHandle) {}

    fn len(&self) -> usize {
        self.vault.len()
    }
}

impl Answers for Later {
    fn take_secret(&self, question: TakeSecret) -> Answer<TakeAnswer> {
        if self.hangs.contains(&question.handle) {
            return Box::pin(std::future::pending());
        }
        let Reply::Now(taken) = self.vault.take(&question) else { unreachable!("a memory vault") };
        Box::pin(async {
            tokio::task::yield_now().await;
            taken
        })
    }
}

#[tokio::test]
async fn a_home_vault_that_answers_later_is_awaited_and_given_up_when_it_hangs() {
    let authority = Authority::new();
    let vault = Arc::new(Later { vault: MemoryVault::new(1000), hangs: vec![handle(0)] });
    (1..200).for_each(|number| put(&*vault, number));
    let site = Arc::new(SiteVault::named(vault.clone(), HOME_VAULT, Arc::new(IsolatedChannel)));
    let mut limits = ServerLimits::default();
    limits.in_flight = 3;
    limits.answer = Duration::from_millis(100);
    let server = Arc::new(SiteServer::with_later_answers(site.clone(), vault, limits));
    let acceptor = acceptor(&authority, authority.credential(HOME));
    let home = Home::serve(site, server, acceptor, None).await;
    let channel = channel(&authority, home.address, patient());
    let asked: Vec<_> = (0..200).map(|number| channel.burn_at_home(&request(number))).collect();
    for (number, answer) in asked.into_iter().enumerate() {
        let expected = if number == 0 { Acknowledgement::Unknown } else { Acknowledgement::Burned };
        assert_eq!(answer.await, Some(expected));
    }
    assert_eq!(home.server.counts().timed_out, 1);
}
