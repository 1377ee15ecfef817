//! Secrets that move between sites: no flight is accepted twice, and none that is reported burned is ever accepted.

mod histories;
mod net;

use std::future::ready;
use std::os::unix::fs::MetadataExt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{Absence, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera_vault::contract::{LIFETIME, NOW, handle, put_for, question, secret};
use tessera_vault::{
    Acknowledgement, ArrivalRefused, BurnAtHome, BurnMoved, Departure, HomeAnswer, LifeAnswer,
    Limits, MemoryVault, MovedSecret, MovingVault, SiteChannel, SiteVault, VaultLife, WrappingKeys,
    WrappingPurpose,
};

use self::net::*;

#[test]
fn a_flight_is_accepted_where_its_secret_went_and_nowhere_else() {
    let net = Net::new();
    for number in 0..3 {
        assert!(put_for(&*net.at(0), number, Some(CLIENT)));
    }
    assert!(put_for(&*net.at(0), 9, Some(b"another")) && put_for(&*net.at(0), 10, None));
    assert_eq!(net.move_secrets(0, 1), 3);
    assert_eq!((net.at(0).len(), net.at(1).len()), (2, 3));
    let TakeAnswer::Taken(taken) = net.arrive(0, 1) else { panic!("not taken") };
    assert_eq!((&*taken.key, taken.fs_secret), (&*secret(0).key, secret(0).fs_secret));
    // A replay, wherever it arrives.
    assert_eq!([0, 1, 2].map(|site| absence(net.arrive(0, site))), [Absence::Used; 3]);
    // Flights elsewhere burn the secret where it is.
    assert_eq!(absence(net.arrive(1, 0)), Absence::Burned);
    assert_eq!(absence(net.arrive(2, 2)), Absence::Burned);
    assert_eq!(net.at(1).len(), 0);
    assert_eq!(absence(net.arrive(1, 1)), Absence::Burned);
    // Others' secrets stayed.
    assert!(is_taken(&net.arrive(9, 0)) && is_taken(&net.arrive(10, 0)));
}

#[test]
fn a_secret_moves_on_and_back() {
    let net = Net::new();
    for number in 0..2 {
        assert!(put_for(&*net.at(0), number, Some(CLIENT)));
    }
    for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 1), (1, 0)] {
        assert_eq!(net.move_secrets(from, to), 2, "{from} to {to}");
    }
    // Where it was once, a flight is asked about where it is.
    let moved = net.arrive(9, 1);
    assert_eq!(absence(moved), Absence::Unknown, "never here");
    // No old message brings it to where it was.
    let sent = net.between(|between| between.sent.clone());
    for (number, departure) in sent {
        assert_eq!(net.deliver(number, departure), Err(ArrivalRefused::Late), "{departure:?}");
    }
    assert!(is_taken(&net.arrive(0, 0)));
    assert_eq!([1, 2].map(|site| absence(net.arrive(0, site))), [Absence::Used; 2]);
    assert_eq!(absence(net.arrive(1, 2)), Absence::Burned);
}

#[test]
fn a_secret_that_moved_on_is_followed() {
    let net = Net::new();
    assert!(put_for(&*net.at(0), 0, Some(CLIENT)));
    net.move_secrets(0, 1);
    net.move_secrets(1, 2);
    assert_eq!(absence(net.arrive(0, 0)), Absence::Burned);
    assert_eq!(absence(net.arrive(0, 2)), Absence::Burned);
}

/// It would be sent to a site that isn't meant.
#[test]
fn nothing_leaves_for_a_life_of_another_vault() {
    struct Liar;
    impl SiteChannel for Liar {
        fn burn_at_home(&self, _: &BurnAtHome) -> HomeAnswer {
            Box::pin(ready(None))
        }

        fn life(&self, _: &[u8; 16]) -> LifeAnswer {
            Box::pin(ready(Some(HOME)))
        }
    }
    let random = provider().random;
    let vault = MovingVault::new(MemoryVault::new(1000), [5; 16], 10, LIFETIME, random).unwrap();
    let site = SiteVault::moving(Arc::new(vault), Arc::new(Liar));
    assert!(put_for(&site, 0, Some(CLIENT)));
    assert!(now(site.move_secrets(CLIENT, &[6; 16])).is_err());
    assert_eq!(site.len(), 1);
    // A vault whose secrets don't move neither sends nor waits.
    let site = SiteVault::named(Arc::new(MemoryVault::new(1000)), [5; 16], Arc::new(Liar));
    assert!(now(site.move_secrets(CLIENT, &HOME.vault)).is_err() && site.life().is_none());
    let mut question = question(0, TakePurpose::Accept, Some(NOW));
    question.incarnation = Some(HOME.incarnation());
    assert!(!site.may_arrive(&question));
}

/// They would be removed, and no channel would carry them.
#[test]
fn the_secrets_of_a_client_whose_name_is_too_long_stay() {
    let vault = MovingVault::new(MemoryVault::new(100), [1; 16], 10, LIFETIME, provider().random);
    let vault = vault.unwrap();
    for (number, len, stays) in
        [(0, MovedSecret::MAX_CLIENT + 1, true), (1, MovedSecret::MAX_CLIENT, false)]
    {
        let client = vec![7; len];
        assert!(put_for(&vault, number, Some(&client)));
        assert_eq!(vault.depart(&client, HOME).is_err(), stays);
    }
    assert_eq!(vault.len(), 1);
}

/// It can't be known whether it was used.
#[test]
fn a_secret_that_came_and_is_forgotten_is_not_burned() {
    let random = provider().random;
    let limits = Limits { tombstones: 0, ..Limits::new(1000) };
    let vault = MemoryVault::with_limits(limits);
    let vault = MovingVault::new(vault, [7; 16], 10, LIFETIME, random).unwrap();
    let departure = Departure { to: vault.life(), moves: 1 };
    vault.arrive(message(0, departure), NOW).unwrap();
    let asked = BurnMoved { handle: handle(0), departure };
    let question = question(0, TakePurpose::Accept, Some(NOW));
    assert!(matches!(vault.take(&question), Reply::Now(TakeAnswer::Taken(_))));
    assert_eq!(vault.burn_moved(&asked, NOW), Acknowledgement::Unknown);
    // One that hasn't come is, and comes too late: by every clock.
    let asked = BurnMoved { handle: handle(1), departure };
    assert_eq!(vault.burn_moved(&asked, NOW), Acknowledgement::Burned);
    let expires_at = NOW + LIFETIME + Duration::from_secs(600);
    let ahead = MovedSecret { expires_at, ..message(1, departure) };
    let later = NOW + LIFETIME + Duration::from_secs(1);
    assert_eq!(vault.arrive(ahead, later), Err(ArrivalRefused::Late));
}

/// A ticket may outlive its one-time secret: its flight may come for days. Neither site may then conclude from what it forgot
/// that the secret never came.
#[test]
fn a_secret_that_was_used_and_has_expired_is_not_burned() {
    let random = provider().random;
    let limits = Limits { tombstones: 0, ..Limits::new(1000) };
    let vault = |name| {
        let vault = MemoryVault::with_limits(limits);
        MovingVault::new(vault, [name; 16], 10, LIFETIME, random).unwrap()
    };
    let (home, away) = (vault(1), vault(2));
    assert!(put_for(&home, 0, Some(CLIENT)));
    let moved = home.depart(CLIENT, away.life()).unwrap().remove(0);
    let asked = BurnMoved { handle: handle(0), departure: moved.departure };
    away.arrive(moved, NOW).unwrap();
    let flight = question(0, TakePurpose::Accept, Some(NOW));
    assert!(matches!(away.take(&flight), Reply::Now(TakeAnswer::Taken(_))));
    let second = Duration::from_secs(1);
    // The other site, whose clock is behind, still asks.
    let late = NOW + 2 * LIFETIME - second;
    let other = MovedSecret { expires_at: late + LIFETIME, ..message(1, asked.departure) };
    away.arrive(other, late).unwrap();
    assert_eq!(away.burn_moved(&asked, late), Acknowledgement::Unknown);
    // By its own clock, it no longer does.
    assert_eq!(home.departure(&handle(0), NOW + LIFETIME - second), Some(asked.departure));
    assert_eq!(home.departure(&handle(0), NOW + LIFETIME), None);
    let home = SiteVault::moving(Arc::new(home), Arc::new(Wire(Net::new().0)));
    let request = BurnAtHome::new(handle(0), HOME.incarnation());
    let burn = |unix| match home.burn_for_another(&request, unix) {
        Reply::Now(acknowledgement) => acknowledgement,
        Reply::Later => unreachable!("a memory vault answers at once"),
    };
    assert_eq!(burn(Some(NOW)), Acknowledgement::Moved(asked.departure));
    assert_eq!(burn(Some(NOW + LIFETIME)), Acknowledgement::Unknown);
    assert_eq!(burn(None), Acknowledgement::Unknown, "without a clock");
}

/// The site where it was before refuses it, as one where it never was.
#[test]
fn a_secret_that_is_lost_on_its_way_back_is_burned() {
    let net = Net::new();
    for number in 0..2 {
        assert!(put_for(&*net.at(0), number, Some(CLIENT)));
    }
    net.move_secrets(0, 1);
    net.move_secrets(1, 0);
    net.between(|between| between.delivers = false);
    net.move_secrets(0, 1);
    let (number, departure) = net.between(|between| *between.sent.last().unwrap());
    assert_eq!(departure.moves, 3);
    for number in 0..2 {
        assert_eq!(absence(net.arrive(number, number as usize)), Absence::Burned);
    }
    assert_eq!(net.deliver(number, departure), Err(ArrivalRefused::Late));
}

/// It waits for a moment; after that, its secret comes too late.
#[test]
fn a_flight_may_come_before_its_secret() {
    let net = Net::new();
    for number in 0..3 {
        assert!(put_for(&*net.at(0), number, Some(CLIENT)));
    }
    net.between(|between| between.delivers = false);
    net.move_secrets(0, 1);
    let sent = net.between(|between| between.sent.clone());
    let mut question = question(0, TakePurpose::Accept, Some(NOW));
    question.incarnation = Some(HOME.incarnation());
    let away = net.at(1);
    assert!(away.may_arrive(&question) && !net.at(0).may_arrive(&question));
    let mut arrival = pin!(away.arrival(&question));
    let mut poll = || arrival.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    net.deliver(sent[0].0, sent[0].1).unwrap();
    assert!(poll().is_ready());
    assert!(is_taken(&net.arrive(0, 1)));

    assert_eq!(absence(net.arrive(1, 1)), Absence::Burned, "it gave up");
    assert_eq!(net.deliver(sent[1].0, sent[1].1), Err(ArrivalRefused::Late));
    assert_eq!(absence(net.arrive(1, 0)), Absence::Burned);
    // Another site asks, while the secret is on its way.
    assert_eq!(absence(net.arrive(2, 2)), Absence::Burned);
    assert_eq!(net.deliver(sent[2].0, sent[2].1), Err(ArrivalRefused::Late));
}

#[test]
fn a_waiting_flight_is_woken_and_leaves_nothing() {
    let net = Net::new();
    let provider = provider();
    let vault = MovingVault::new(MemoryVault::new(10), [7; 16], 10, LIFETIME, provider.random);
    let vault = vault.unwrap();
    struct Woken(AtomicBool);
    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let woken = Arc::new(Woken(false.into()));
    let waker = Waker::from(woken.clone());
    let mut arrival = Box::pin(vault.arrival(handle(1)));
    assert!(arrival.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let departure = Departure { to: vault.life(), moves: 1 };
    vault.arrive(message(2, departure), NOW).unwrap();
    assert!(!woken.0.load(Ordering::Relaxed), "another secret");
    vault.arrive(message(1, departure), NOW).unwrap();
    assert!(woken.0.load(Ordering::Relaxed));
    drop(arrival);
    assert_eq!(Arc::strong_count(&woken), 2, "the waker is gone with its flight");
    drop(net);
}

/// A waker may poll or drop any flight that waits.
#[test]
fn a_flight_is_woken_without_the_lock() {
    struct Other(Arc<MovingVault>);
    impl std::task::Wake for Other {
        fn wake(self: Arc<Self>) {
            assert!(self.0.departure(&handle(1), NOW).is_none());
        }
    }
    let vault = MovingVault::new(MemoryVault::new(10), [7; 16], 10, LIFETIME, provider().random);
    let vault = Arc::new(vault.unwrap());
    let waker = Waker::from(Arc::new(Other(vault.clone())));
    let mut arrival = Box::pin(vault.arrival(handle(1)));
    assert!(arrival.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let arrived = vault.clone();
    let thread = std::thread::spawn(move || {
        arrived.arrive(message(1, Departure { to: arrived.life(), moves: 1 }), NOW)
    });
    let begin = std::time::Instant::now();
    while !thread.is_finished() {
        assert!(begin.elapsed() < Duration::from_secs(30), "it waits for itself");
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().unwrap().unwrap();
}

#[test]
fn a_secret_for_an_earlier_life_is_refused() {
    let net = Net::new();
    assert!(put_for(&*net.at(0), 0, Some(CLIENT)));
    net.between(|between| between.delivers = false);
    net.move_secrets(0, 1);
    net.crash(1);
    let (number, departure) = net.between(|between| between.sent[0]);
    assert_eq!(net.deliver(number, departure), Err(ArrivalRefused::OtherLife));
    // These vaults have no directories: what ended with an earlier life can't be known.
    assert_eq!([0, 1, 2].map(|site| absence(net.arrive(0, site))), [Absence::Unknown; 3]);
}

#[test]
fn secrets_that_have_expired_and_those_without_room_are_gone() {
    let provider = provider();
    let vault = MovingVault::new(MemoryVault::new(1000), [7; 16], 3, LIFETIME, provider.random);
    let vault = vault.unwrap();
    let departure = |moves| Departure { to: vault.life(), moves };
    let expired = MovedSecret { expires_at: NOW, ..message(0, departure(1)) };
    assert_eq!(vault.arrive(expired, NOW), Err(ArrivalRefused::Late));
    let unreadable = MovedSecret { secret: vec![1].into(), ..message(0, departure(1)) };
    assert_eq!(vault.arrive(unreadable, NOW), Err(ArrivalRefused::NoRoom));
    for number in 1..=3 {
        vault.arrive(message(number, departure(1)), NOW).unwrap();
    }
    assert_eq!(vault.arrive(message(4, departure(1)), NOW), Err(ArrivalRefused::Late), "full");
    let asked = BurnMoved { handle: handle(4), departure: departure(1) };
    assert_eq!(vault.burn_moved(&asked, NOW), Acknowledgement::Unknown, "no room to remember it");
    // A clock that is ahead elsewhere doesn't make a secret live longer; one that is far ahead can't be right.
    let later = NOW + 2 * LIFETIME;
    let late = |expires_at| MovedSecret { expires_at, ..message(5, departure(1)) };
    let far = later + 2 * LIFETIME + Duration::from_secs(1);
    assert_eq!(vault.arrive(late(far), later), Err(ArrivalRefused::Late));
    vault.arrive(late(later + 2 * LIFETIME), later).unwrap();
    let mut question = question(5, TakePurpose::Accept, Some(later + LIFETIME));
    question.incarnation = Some(HOME.incarnation());
    let Reply::Now(TakeAnswer::Absent(Absence::Unknown)) = vault.take(&question) else {
        panic!("it has expired")
    };
}

/// The next life of a vault knows what it lost, unless some of it may live elsewhere.
#[test]
fn a_life_that_sent_secrets_away_does_not_report_its_secrets_lost() {
    let base = std::env::temp_dir().join(format!("tessera-moving-{}", std::process::id()));
    std::fs::create_dir_all(&base).unwrap();
    let provider = provider();
    let keys = WrappingKeys::new(&provider, WrappingPurpose::Snapshot);
    let net = Net::new();
    let open = |name: &str| {
        let (limits, dir) = (Limits::new(100), base.join(name));
        let (vault, _) = MemoryVault::open(&dir, limits, &provider, &keys, NOW).unwrap();
        net.site(vault, 0)
    };
    let asks = |site: &SiteVault, question: &TakeSecret| match site.take(question) {
        Reply::Now(answer) => absence(answer),
        Reply::Later => absence(now(site.take_from_afar(question))),
    };
    for sends in [false, true] {
        let name = if sends { "sends" } else { "keeps" };
        let site = open(name);
        assert!(put_for(&*site, 0, Some(CLIENT)) && put_for(&*site, 1, Some(b"another")));
        let mut questions = [0, 1].map(|it| question(it, TakePurpose::Accept, Some(NOW)));
        questions.iter_mut().for_each(|it| it.incarnation = site.incarnation());
        if sends {
            assert_eq!(now(site.move_secrets(CLIENT, &[2; 16])).unwrap(), 1);
        }
        let asked = BurnMoved {
            handle: handle(7),
            departure: Departure { to: site.life().unwrap(), moves: 1 },
        };
        if sends {
            let file = || std::fs::metadata(base.join(name).join("moved")).unwrap().ino();
            let noted = file();
            now(site.move_secrets(b"another", &[2; 16])).unwrap();
            assert_eq!(file(), noted, "once in a life");
        }
        // The process dies.
        drop(site);
        for life in 0..2 {
            let site = open(name);
            for question in &questions {
                let absence = asks(&site, question);
                let is_lost = matches!(absence, Absence::Lost { .. });
                assert_eq!(is_lost, !sends, "{name}, {life}: {absence:?}");
            }
            // What had moved here, too.
            let ended = site.burn_moved_here(&asked, NOW);
            assert_eq!(matches!(ended, Acknowledgement::Lost { .. }), !sends, "{ended:?}");
            // Secrets of a life that sent none are lost with it.
            assert!(put_for(&*site, 2 + life, None));
            let mut question = question(2 + life, TakePurpose::Accept, Some(NOW));
            question.incarnation = site.incarnation();
            drop(site);
            let site = open(name);
            assert!(matches!(asks(&site, &question), Absence::Lost { .. }), "{name}, {life}");
        }
    }
    std::fs::remove_dir_all(&base).unwrap();
}

/// Each life that sends secrets away is noted, and an earlier one may have sent some too.
#[test]
fn no_life_up_to_the_last_that_sent_secrets_away_reports_its_secrets_lost() {
    let dir = std::env::temp_dir().join(format!("tessera-moving-lives-{}", std::process::id()));
    let provider = provider();
    let keys = WrappingKeys::new(&provider, WrappingPurpose::Snapshot);
    let net = Net::new();
    let open = || {
        let limits = Limits::new(100);
        let (vault, _) = MemoryVault::open(&dir, limits, &provider, &keys, NOW).unwrap();
        net.site(vault, 0)
    };
    let mut questions = Vec::new();
    for life in 0..3 {
        let site = open();
        assert!(put_for(&*site, life, None));
        if life < 2 {
            now(site.move_secrets(CLIENT, &[2; 16])).unwrap();
        }
        let mut question = question(life, TakePurpose::Accept, Some(NOW));
        question.incarnation = site.incarnation();
        questions.push(question);
    }
    let site = open();
    let is_lost = |question: &TakeSecret| match site.take(question) {
        Reply::Now(answer) => matches!(absence(answer), Absence::Lost { .. }),
        Reply::Later => panic!("it is home"),
    };
    assert_eq!(questions.iter().map(is_lost).collect::<Vec<_>>(), [false, false, true]);
    drop(site);
    std::fs::remove_dir_all(&dir).unwrap();
}

/// No channel leads to itself.
#[test]
fn a_site_to_which_a_secret_is_on_its_way_asks_itself() {
    struct Home(Mutex<Option<VaultLife>>);
    impl SiteChannel for Home {
        fn burn_at_home(&self, _: &BurnAtHome) -> HomeAnswer {
            let to = self.0.lock().unwrap().unwrap();
            let moved = Acknowledgement::Moved(Departure { to, moves: 1 });
            Box::pin(ready(Some(moved)))
        }
    }
    let vault = MovingVault::new(MemoryVault::new(10), [2; 16], 10, LIFETIME, provider().random);
    let vault = Arc::new(vault.unwrap());
    let life = vault.life();
    let site = SiteVault::moving(vault.clone(), Arc::new(Home(Mutex::new(Some(life)))));
    let mut question = question(0, TakePurpose::Accept, Some(NOW));
    question.incarnation = Some(HOME.incarnation());
    assert!(matches!(site.take(&question), Reply::Later));
    assert_eq!(absence(now(site.take_from_afar(&question))), Absence::Burned);
    let late = message(0, Departure { to: life, moves: 1 });
    assert_eq!(vault.arrive(late, NOW), Err(ArrivalRefused::Late));
}
