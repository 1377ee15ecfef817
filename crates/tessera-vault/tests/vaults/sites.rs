//! Two sites, one ring, two vaults: no flight is accepted at one and reported burned by the other.

use std::future::ready;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};

use tessera::handshake::Reply;
use tessera::resume::{Absence, Incarnation, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera_vault::contract::{LIFETIME, NOW, accept, handle, put, question, race};
use tessera_vault::{
    Acknowledgement, BurnAtHome, HomeAnswer, MemoryVault, NoIncarnation, SiteChannel, SiteVault,
    WrappingKeys, WrappingPurpose, contract,
};

/// What happens to requests between the sites.
#[derive(Clone, Copy)]
enum Weather {
    Fair,
    /// The request never arrives.
    Cut,
    /// The request arrives, the acknowledgement does not.
    Deaf,
}

/// Connects a site to the home of the secrets.
struct Wire {
    home: OnceLock<Arc<SiteVault>>,
    weather: Weather,
    asked: Mutex<Vec<BurnAtHome>>,
}

impl SiteChannel for Wire {
    fn burn_at_home(&self, request: &BurnAtHome) -> HomeAnswer {
        self.asked.lock().expect("no thread panicked").push(*request);
        let home = self.home.get().filter(|_| !matches!(self.weather, Weather::Cut));
        let acknowledgement = home.map(|home| burn(home, request));
        Box::pin(ready(acknowledgement.filter(|_| !matches!(self.weather, Weather::Deaf))))
    }
}

fn burn(home: &SiteVault, request: &BurnAtHome) -> Acknowledgement {
    match home.burn_for_another(request, Some(NOW)) {
        Reply::Now(acknowledgement) => acknowledgement,
        Reply::Later => unreachable!("a memory vault answers at once"),
    }
}

fn site(name: u8, weather: Weather) -> (Arc<SiteVault>, Arc<Wire>) {
    let wire = Arc::new(Wire { home: OnceLock::new(), weather, asked: Mutex::default() });
    let vault = Arc::new(MemoryVault::new(1000));
    (Arc::new(SiteVault::named(vault, [name; 16], wire.clone())), wire)
}

/// Makes the home of the secrets, and another site that asks it.
fn sites(weather: Weather) -> (Arc<SiteVault>, Arc<SiteVault>, Arc<Wire>) {
    let (home, _) = site(1, Weather::Cut);
    let (away, wire) = site(2, weather);
    let _ = wire.home.set(home.clone());
    (home, away, wire)
}

/// Makes the question for a secret of this site, as a sealed ticket leads to it.
fn of(site: &SiteVault, number: u32) -> TakeSecret {
    let mut question = question(number, TakePurpose::Accept, Some(NOW));
    question.incarnation = site.incarnation();
    question
}

fn take_away(away: &SiteVault, question: &TakeSecret) -> TakeAnswer {
    assert!(matches!(away.take(question), Reply::Later), "only home can answer");
    // The channel here answers at once.
    let mut answer = pin!(away.take_from_afar(question));
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(taken) => taken,
        Poll::Pending => unreachable!("the wire answers at once"),
    }
}

#[test]
fn a_site_vault_alone_keeps_the_contract_of_vaults() {
    contract::vault(|| {
        let home = Arc::new(MemoryVault::new(100_000));
        SiteVault::named(home, [1; 16], site(2, Weather::Cut).1)
    });
}

#[test]
fn a_vault_without_an_identity_makes_no_site_vault() {
    let (_, wire) = site(1, Weather::Cut);
    let vault = SiteVault::new(Arc::new(MemoryVault::new(1)), wire);
    assert_eq!(vault.err(), Some(NoIncarnation));
}

#[test]
fn a_flight_is_accepted_at_home() {
    let (home, away, wire) = sites(Weather::Fair);
    assert!(put(&*home, 1));
    assert!(matches!(home.take(&of(&home, 1)), Reply::Now(TakeAnswer::Taken(_))));
    let taken = take_away(&away, &of(&home, 1));
    assert!(matches!(taken, TakeAnswer::Absent(Absence::Used)), "{taken:?}");
    let request = BurnAtHome::new(handle(1), home.incarnation().unwrap());
    assert_eq!(*wire.asked.lock().unwrap(), [request]);
}

/// Even if the other site holds a secret of the same name.
#[test]
fn a_foreign_flight_is_never_accepted() {
    for weather in [Weather::Fair, Weather::Cut, Weather::Deaf] {
        let (home, away, _) = sites(weather);
        for number in 0..20 {
            assert!(put(&*home, number));
            assert!(put(&*away, number));
            let taken = take_away(&away, &of(&home, number));
            assert!(!matches!(taken, TakeAnswer::Taken(_)));
        }
        assert_eq!(away.len(), 20, "its own secrets are still there");
    }
}

#[test]
fn home_refuses_a_secret_whose_burn_it_acknowledged() {
    let (home, away, _) = sites(Weather::Fair);
    assert!(put(&*home, 1));
    for _ in 0..2 {
        let taken = take_away(&away, &of(&home, 1));
        assert!(matches!(taken, TakeAnswer::Absent(Absence::Burned)), "{taken:?}");
    }
    assert_eq!(accept(&*home, 1), Err(Absence::Burned));
    assert_eq!(home.len(), 0);
}

#[test]
fn a_burn_without_an_acknowledgement_leaves_the_fate_open() {
    let (home, away, _) = sites(Weather::Cut);
    assert!(put(&*home, 1));
    assert!(matches!(take_away(&away, &of(&home, 1)), TakeAnswer::Unavailable));
    assert_eq!(accept(&*home, 1), Ok(()));
    assert_eq!(accept(&*home, 1), Err(Absence::Used));

    let (home, away, _) = sites(Weather::Deaf);
    assert!(put(&*home, 1));
    assert!(matches!(take_away(&away, &of(&home, 1)), TakeAnswer::Unavailable));
    assert_eq!(accept(&*home, 1), Err(Absence::Burned));
}

/// A replay at home races with the client's own flight elsewhere: executed or reported burned, never both.
#[test]
fn a_replay_at_home_races_with_a_burn_from_afar() {
    let (home, away, _) = sites(Weather::Fair);
    for number in 0..500 {
        assert!(put(&*home, number));
        let outcomes = race(4, |thread| match thread {
            0 | 1 => accept(&*home, number).is_ok(),
            _ => {
                let taken = take_away(&away, &of(&home, number));
                match taken {
                    TakeAnswer::Absent(Absence::Burned) => true,
                    TakeAnswer::Absent(Absence::Used) => false,
                    other => panic!("{other:?}"),
                }
            }
        });
        let [first, second, burned, also_burned] = outcomes[..] else { unreachable!() };
        let accepted = usize::from(first) + usize::from(second);
        assert_eq!(burned, also_burned, "both heard the same");
        assert_eq!(accepted + usize::from(burned), 1, "executed or burned, exactly one of them");
    }
}

/// Home's vault may be shut down, with its secrets handed to the next life, while its server still answers:
/// they are not gone.
#[cfg(unix)]
#[test]
fn a_secret_that_home_can_not_reach_is_not_burned() {
    let memory = Arc::new(MemoryVault::new(1000));
    let (_, dead_end) = site(3, Weather::Cut);
    let home = Arc::new(SiteVault::named(memory.clone(), [1; 16], dead_end));
    let (away, wire) = site(2, Weather::Fair);
    let _ = wire.home.set(home.clone());
    assert!(put(&*home, 1));
    let provider = tessera_aws_lc::provider();
    let keys = WrappingKeys::new(&provider, WrappingPurpose::Snapshot);
    memory.close(&provider, &keys, NOW).expect("nothing is written");
    assert!(matches!(home.take(&of(&home, 1)), Reply::Now(TakeAnswer::Unavailable)));
    let taken = take_away(&away, &of(&home, 1));
    assert!(matches!(taken, TakeAnswer::Absent(Absence::Unknown)), "{taken:?}");
}

#[test]
fn a_secret_that_home_does_not_know_is_unknown_away() {
    let (home, away, _) = sites(Weather::Fair);
    let taken = take_away(&away, &of(&home, 1));
    assert!(matches!(taken, TakeAnswer::Absent(Absence::Unknown)), "{taken:?}");
}

/// Requests for other vaults burn nothing, even if a secret has that name.
#[test]
fn a_burn_request_for_another_vault_burns_nothing() {
    let (home, _, _) = sites(Weather::Fair);
    assert!(put(&*home, 1));
    let elsewhere = Incarnation { vault: [9; 16], number: 0 };
    let request = BurnAtHome::new(handle(1), elsewhere);
    assert_eq!(burn(&home, &request), Acknowledgement::Unknown);
    assert_eq!(accept(&*home, 1), Ok(()));
}

#[test]
fn home_distinguishes_a_used_key_from_a_burned_one() {
    for (absent, expected) in [
        (Absence::Used, Acknowledgement::Used),
        (Absence::Burned, Acknowledgement::Burned),
        (Absence::Unknown, Acknowledgement::Unknown),
    ] {
        assert_eq!(Acknowledgement::of(&TakeAnswer::Absent(absent)), expected);
    }
    assert_eq!(Acknowledgement::of(&TakeAnswer::Unavailable), Acknowledgement::Unknown);
}

#[test]
fn a_secret_that_expired_at_home_is_unknown_away() {
    let (home, away, wire) = sites(Weather::Cut);
    assert!(put(&*home, 1));
    assert!(matches!(take_away(&away, &of(&home, 1)), TakeAnswer::Unavailable));
    let request = wire.asked.lock().unwrap()[0];
    let late = home.burn_for_another(&request, Some(NOW + LIFETIME));
    assert!(matches!(late, Reply::Now(Acknowledgement::Unknown)));
}

/// A home vault that began a new life reports that through another site, too.
#[cfg(unix)]
#[test]
fn a_life_of_the_vault_that_ended_at_home_is_known_away() {
    let dir = std::env::temp_dir().join(format!("tessera-sites-{}", std::process::id()));
    let open = || {
        let provider = tessera_aws_lc::provider();
        let limits = tessera_vault::Limits::new(100);
        let keys = WrappingKeys::new(&provider, WrappingPurpose::Snapshot);
        let opened = MemoryVault::open(&dir, limits, &provider, &keys, NOW);
        opened.expect("the directory can be opened").0
    };
    let first = open();
    assert!(put(&first, 1));
    let incarnation = first.incarnation();
    drop(first);
    let (_, dead_end) = site(3, Weather::Cut);
    let home = Arc::new(SiteVault::new(Arc::new(open()), dead_end).unwrap());
    let (away, wire) = site(2, Weather::Fair);
    let _ = wire.home.set(home);
    let mut asked = question(1, TakePurpose::Accept, Some(NOW));
    asked.incarnation = incarnation;
    let taken = take_away(&away, &asked);
    assert!(matches!(taken, TakeAnswer::Absent(Absence::Lost { .. })), "{taken:?}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_request_to_burn_shows_no_handle() {
    let request = BurnAtHome::new(handle(0x5a), Incarnation { vault: [9; 16], number: 3 });
    let shown = format!("{request:?}");
    assert!(shown.contains("home") && shown.contains("number: 3"), "{shown}");
    assert!(!shown.contains("handle") && !shown.contains("90, 90"), "{shown}");
}

#[test]
fn a_vault_among_sites_keeps_keys_in_the_form_of_its_own() {
    for expanded_bytes in [0, 1 << 20] {
        let limits = tessera_vault::Limits { expanded_bytes, ..tessera_vault::Limits::new(100) };
        let memory = Arc::new(MemoryVault::with_limits(limits));
        let form = memory.key_form();
        let (_, dead_end) = site(3, Weather::Cut);
        assert_eq!(SiteVault::named(memory, [1; 16], dead_end).key_form(), form);
        assert_eq!(form == tessera::crypto::KeyForm::Seed, expanded_bytes == 0);
    }
}
