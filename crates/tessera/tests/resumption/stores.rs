//! The engine with the ring, the vault and the register of real servers, and with real cryptography:
//! replays, restarts, rotation, damaged tickets.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tessera::crypto::Provider;
use tessera::resume::{ClientSession, PskKind, Vault, Verdict};
use tessera::wire::NamedGroup;
use tessera::{Output, ReadEvent, ServerConfig, ServerConnection, Time};
use tessera_harness::{EARLY_DATA, End, Mode, Scene, at};
use tessera_vault::{MemoryRegister, MemoryVault, TicketKey, TicketKeyRing};

const HOUR: Duration = Duration::from_secs(3600);

fn provider() -> Provider {
    tessera_aws_lc::provider()
}

fn unix(now: Time) -> Duration {
    now.unix.expect("a clock")
}

fn key(now: Time) -> TicketKey {
    TicketKey::generate(&provider(), unix(now), HOUR, HOUR).expect("random bytes")
}

/// A scene with real stores, whose register began a second earlier.
fn scene(mode: Mode) -> (Scene, Arc<TicketKeyRing>) {
    let mut scene = Scene::new(provider(), mode);
    let ring = Arc::new(TicketKeyRing::new(&provider()));
    ring.add(key(at(0)), unix(at(0))).expect("a good key");
    scene.server.tickets = Some(ring.clone());
    renew(&mut scene.server, unix(at(0)) - Duration::from_secs(1));
    (scene, ring)
}

/// Replaces what a restart loses: vault and register.
fn renew(config: &mut ServerConfig, now: Duration) -> Arc<MemoryVault> {
    let vault = Arc::new(MemoryVault::new(10_000));
    if let Some(guard) = &mut config.policy.early_data.forward_secret {
        guard.vault = vault.clone();
    }
    if let Some(guard) = &mut config.policy.early_data.replayable_without_forward_secrecy {
        guard.register = Arc::new(MemoryRegister::new(10_000, now));
    }
    vault
}

const EARLY: [Mode; 4] = [Mode::Replayable, Mode::FsDhe, Mode::FsKe, Mode::FsPsk];

/// Returns what a server executes of a flight.
fn executed(config: &ServerConfig, flight: &[u8], now: Time) -> usize {
    let mut server = ServerConnection::start(config.clone().checked().expect("works"), now);
    let mut input = flight.to_vec();
    let mut output = Output::new();
    let mut consumed = 0;
    let mut times = 0;
    while let Ok(progress) = server.read(now, &mut input[consumed..], &mut output) {
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::EarlyData(early) => times += early.len() / EARLY_DATA.len(),
            ReadEvent::NeedInput => break,
            _ => (),
        }
    }
    times
}

#[test]
fn clients_come_back_in_every_mode_with_a_memory_vault() {
    for mode in Mode::ALL {
        let (scene, _) = scene(mode);
        let mut session = scene.session();
        for round in 1..4 {
            let mut pair = scene.start(session.take(), at(round));
            pair.run();
            assert_eq!(pair.to_client.error, None, "{mode:?}");
            assert!(pair.to_client.complete && pair.to_server.complete);
            assert_eq!(pair.client.facts().psk.is_some(), mode.resumes());
            let early = EARLY.contains(&mode);
            assert_eq!(pair.to_client.early_data_accepted, early.then_some(true), "{mode:?}");
            session = pair.to_client.sessions.pop().filter(|_| mode.resumes());
        }
    }
}

#[test]
fn replays_are_not_executed_by_a_memory_vault_before_or_after_a_restart() {
    for mode in EARLY {
        let (mut scene, _) = scene(mode);
        let flight = scene.pair().intercept_client();
        let server = scene.server.clone().checked().expect("works");
        let times = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    for _ in 0..4 {
                        times.fetch_add(executed(&server, &flight, at(0)), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(times.into_inner(), 1, "{mode:?}");
        // The new life keeps only the ring.
        renew(&mut scene.server, unix(at(1)));
        let server = scene.server.clone().checked().expect("works");
        let times: usize = (0..10).map(|_| executed(&server, &flight, at(1))).sum();
        assert_eq!(times, 0, "{mode:?}");
    }
}

#[test]
fn a_flight_that_no_life_of_the_vault_has_seen_is_rejected_after_a_restart() {
    // Forgotten keys cost a round trip, and a register refuses tickets older than itself.
    for mode in EARLY {
        let (mut scene, _) = scene(mode);
        let session = scene.session();
        renew(&mut scene.server, unix(at(1)));
        let mut pair = scene.start(session, at(2));
        pair.run();
        assert_eq!(pair.to_client.error, None);
        assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
        assert_eq!(pair.to_client.verdict, Some(Verdict::Unknown));
        assert_eq!(pair.to_server.early_data, b"");
    }
}

#[test]
fn clients_learn_the_verdicts_of_a_memory_vault() {
    let (mut scene, _) = scene(Mode::FsDhe);
    let vault = renew(&mut scene.server, unix(at(0)));
    let server = scene.server.clone().checked().expect("works");
    // Replayed first.
    let mut pair = scene.pair();
    let flight = pair.client_output.as_slice().to_vec();
    assert_eq!(executed(&server, &flight, at(0)), 1);
    pair.run();
    assert_eq!(pair.to_client.verdict, Some(Verdict::Used));
    // Burned by its owner.
    let session = scene.session().expect("a session");
    vault.burn(&session.forward_secret.as_ref().expect("a ticket").handle);
    let mut pair = scene.start(Some(session), at(0));
    pair.run();
    assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
    // The key has expired, but the client doesn't know; the sealed ticket has not.
    let mut session = scene.session().expect("a session");
    session.forward_secret.as_mut().expect("a ticket").lifetime = u32::MAX;
    let mut pair = scene.start(Some(session), at(3601));
    pair.run();
    assert_eq!(pair.to_client.verdict, Some(Verdict::Unknown));
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
}

/// Opens the vault of a directory, in its next life.
#[cfg(unix)]
fn open(config: &mut ServerConfig, dir: &std::path::Path) {
    use tessera_vault::{Limits, WrappingKeys, WrappingPurpose};
    let guard = config.policy.early_data.forward_secret.as_mut().expect("a guard");
    guard.vault = Arc::new(MemoryVault::new(0));
    let keys = WrappingKeys::new(&provider(), WrappingPurpose::Snapshot);
    let opened = MemoryVault::open(dir, Limits::new(100), &provider(), &keys, unix(at(0)));
    guard.vault = Arc::new(opened.expect("opens").0);
}

/// After a crash the keys of the previous life are gone. A client that has begun since then may send its
/// data again; one whose flight may have met the previous life must not.
#[cfg(unix)]
#[test]
fn keys_that_a_crash_destroyed_are_burned_for_flights_begun_since() {
    let dir = std::env::temp_dir().join(format!("tessera-stores-{}", std::process::id()));
    let (mut scene, _) = scene(Mode::FsDhe);
    open(&mut scene.server, &dir);
    let (fresh, delayed) = (scene.session(), scene.session());
    // It leaves its client during the first life, and an attacker holds it back.
    let held = scene.start(delayed, at(1)).intercept_client();
    let mut waiting = scene.start(scene.session(), at(1));
    assert_eq!(executed(&scene.server, &held, at(1)), 1);

    // Drops the last reference to the first life's vault.
    let (another, _) = self::scene(Mode::FsDhe);
    let other = another.server.checked().expect("works");
    waiting.server = End::Stream(ServerConnection::start(other, at(1)));
    open(&mut scene.server, &dir);
    std::thread::sleep(Duration::from_millis(20));
    let server = scene.server.clone().checked().expect("works");
    assert_eq!(executed(&server, &held, at(2)), 0);
    waiting.server = End::Stream(ServerConnection::start(server.clone(), at(2)));
    waiting.now = at(2);
    waiting.run();
    assert_eq!(waiting.to_client.error, None);
    assert_eq!(waiting.to_client.verdict, Some(Verdict::Unknown));

    let mut pair = scene.start(fresh, at(2));
    pair.run();
    assert_eq!(pair.to_client.verdict, Some(Verdict::Burned));
    assert_eq!(pair.to_server.early_data, b"");
    assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
    std::fs::remove_dir_all(dir).expect("it is there");
}

#[test]
fn a_full_vault_gives_ordinary_tickets() {
    let (mut scene, _) = scene(Mode::FsDhe);
    if let Some(guard) = &mut scene.server.policy.early_data.forward_secret {
        guard.vault = Arc::new(MemoryVault::new(0));
    }
    let session = scene.session().expect("a session");
    assert!(session.forward_secret.is_none());
    let mut pair = scene.start(Some(session), at(0));
    pair.run();
    assert_eq!(pair.client.facts().psk, Some(PskKind::Resumption));
    assert_eq!(pair.to_client.early_data_accepted, None);
}

#[test]
fn a_session_whose_ticket_key_is_gone_gets_a_full_handshake() {
    let (scene, ring) = scene(Mode::PskDhe);
    let full = |session: ClientSession, now: Time| {
        let mut pair = scene.start(Some(session), now);
        pair.run();
        assert_eq!(pair.to_client.error, None);
        assert!(pair.to_client.complete && pair.to_server.complete);
        (pair.client.facts().psk.is_none(), pair.to_client.sessions.len())
    };
    let session = scene.session().expect("a session");
    ring.install(vec![key(at(0))], unix(at(0))).expect("a good key");
    assert_eq!(full(session, at(0)), (true, 2));
    // No key to seal with: no tickets, and no error.
    let session = scene.session().expect("a session");
    ring.install(Vec::new(), unix(at(0))).expect("no key at all");
    assert_eq!(full(session, at(0)), (true, 0));
}

#[test]
fn damaged_tickets_get_a_full_handshake() {
    let (mut scene, _) = scene(Mode::FsDhe);
    // Many handshakes, so with the cheapest group.
    scene.client.groups = vec![NamedGroup::X25519];
    let exported = scene.session().expect("a session").export();
    let session = || ClientSession::import(&exported).expect("as exported");
    let len = session().ticket.len();
    let check = |session: ClientSession| {
        let mut pair = scene.start(Some(session), at(0));
        pair.run();
        assert_eq!(pair.to_client.error, None);
        assert!(pair.to_client.complete && pair.to_server.complete);
        assert_eq!(pair.client.facts().psk, None);
        assert_eq!(pair.to_server.early_data, b"");
    };
    for index in 0..len {
        let mut damaged = session();
        damaged.ticket[index] ^= 1 << (index % 8);
        check(damaged);
        if index > 0 {
            let mut shorter = session();
            shorter.ticket.truncate(index);
            check(shorter);
        }
    }
    let mut pair = scene.start(Some(session()), at(0));
    pair.run();
    assert_eq!(pair.to_client.early_data_accepted, Some(true));
}

#[test]
fn clients_resume_while_the_ticket_keys_of_a_ring_rotate() {
    let (scene, ring) = scene(Mode::FsDhe);
    let running = AtomicUsize::new(4);
    let early = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while running.load(Ordering::Relaxed) > 0 {
                let (old, new) = (key(at(0)), key(at(0)));
                let id = old.id;
                ring.add(old, unix(at(0))).expect("a good key");
                ring.add(new, unix(at(0))).expect("a good key");
                std::thread::sleep(Duration::from_millis(2));
                ring.retire(&id);
            }
        });
        for _ in 0..4 {
            scope.spawn(|| {
                let mut session = None;
                for _ in 0..30 {
                    let mut pair = scene.start(session.take(), at(0));
                    pair.run();
                    assert_eq!(pair.to_client.error, None);
                    assert_eq!(pair.to_server.error, None);
                    assert!(pair.to_client.complete && pair.to_server.complete);
                    let accepted = pair.to_client.early_data_accepted == Some(true);
                    assert_eq!(pair.to_server.early_data == EARLY_DATA, accepted);
                    early.fetch_add(accepted.into(), Ordering::Relaxed);
                    session = pair.to_client.sessions.pop();
                }
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    assert!(early.into_inner() > 0);
}
