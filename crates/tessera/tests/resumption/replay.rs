//! Early data is executed at most once: whatever is replayed, in whatever order, and however the
//! client acts on the verdict.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::crypto::Provider;
use tessera::handshake::Reply;
use tessera::resume::{
    AcceptResumption, ClientSession, OneTimeKeyGuard, ResumptionJudge, ResumptionVerdict, Verdict,
};
use tessera::wire::NamedGroup;
use tessera::{Output, ReadEvent, ServerConfig, ServerConnection, Time};
use tessera_harness::{EARLY_DATA, Mode, OneVault, Pair, Ring, Scene, at};

fn null() -> Provider {
    tessera_null_provider::provider()
}

/// Returns what a server executes of a flight.
fn executed(config: &ServerConfig, flight: &[u8], now: Time) -> Vec<u8> {
    let mut server = ServerConnection::start(config.clone().checked().expect("works"), now);
    let mut input = flight.to_vec();
    let mut output = Output::new();
    let mut consumed = 0;
    let mut data = Vec::new();
    while let Ok(progress) = server.read(now, &mut input[consumed..], &mut output) {
        match progress.event {
            ReadEvent::EarlyData(early) => data.extend_from_slice(&input[consumed..][early]),
            ReadEvent::NeedInput => break,
            _ => (),
        }
        consumed += progress.consumed;
    }
    data
}

/// A server with another vault, as after a restart, or at another site with the same ring.
fn with_new_vault(config: &ServerConfig) -> ServerConfig {
    let mut config = config.clone();
    if let Some(guard) = &mut config.policy.early_data.forward_secret {
        guard.vault = Arc::new(OneVault::default());
    }
    config
}

#[test]
fn of_a_thousand_replays_in_a_row_at_most_one_is_executed() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk, Mode::Replayable] {
        let scene = Scene::new(null(), mode);
        let flight = scene.pair().intercept_client();
        let accepted = (0..1_000).filter(|_| executed(&scene.server, &flight, at(0)) == EARLY_DATA);
        assert_eq!(accepted.count(), 1, "{mode:?}");
    }
}

#[test]
fn of_a_thousand_replays_at_once_at_most_one_is_executed() {
    for (mode, provider) in [
        (Mode::FsDhe, null()),
        (Mode::FsKe, null()),
        (Mode::Replayable, null()),
        (Mode::FsDhe, tessera_aws_lc::provider()),
    ] {
        let scene = Scene::new(provider, mode);
        let flight = scene.pair().intercept_client();
        let accepted = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    for _ in 0..16 {
                        let data = executed(&scene.server, &flight, at(0));
                        assert!(data.is_empty() || data == EARLY_DATA);
                        accepted.fetch_add(data.len() / EARLY_DATA.len(), Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(accepted.into_inner(), 1, "{mode:?}");
    }
}

#[test]
fn a_replay_after_a_restart_is_not_executed() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let scene = Scene::new(null(), mode);
        let flight = scene.pair().intercept_client();
        let restarted = with_new_vault(&scene.server);
        // Whether it was executed before or not.
        assert_eq!(executed(&restarted, &flight, at(0)), b"");
        assert_eq!(executed(&scene.server, &flight, at(0)), EARLY_DATA);
        for _ in 0..100 {
            assert_eq!(executed(&restarted, &flight, at(0)), b"");
        }
    }
}

/// Burns every early data that comes with a resumption.
struct EarlyDataRefuser;

impl ResumptionJudge for EarlyDataRefuser {
    fn judge(&self, _: &AcceptResumption) -> Reply<ResumptionVerdict> {
        Reply::Now(ResumptionVerdict::AcceptWithoutEarlyData)
    }
}

/// The servers of one site and another: all share the ring, all but the last the vault.
fn servers(scene: &Scene) -> Vec<ServerConfig> {
    let accepts = scene.server.clone();
    let mut burns = scene.server.clone();
    burns.judge = Some(Arc::new(EarlyDataRefuser));
    let mut retries = scene.server.clone();
    retries.groups = vec![NamedGroup::X25519];
    let elsewhere = with_new_vault(&scene.server);
    vec![accepts, burns, retries, elsewhere]
}

/// Runs the client's connection; returns what the server executed, and the verdict.
fn original(pair: &mut Pair) -> (usize, Option<Verdict>) {
    pair.run();
    assert_eq!(pair.to_client.error, None);
    (pair.to_server.early_data.len() / EARLY_DATA.len(), pair.to_client.verdict)
}

#[test]
fn resending_by_the_verdict_executes_once_at_most() {
    for mode in [Mode::FsDhe, Mode::FsKe, Mode::FsPsk] {
        let count = servers(&Scene::new(null(), mode)).len();
        let places = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
        // The attacker's replay comes before the original, before the resend, or after it, each at
        // any server.
        for (original_at, replay_at) in places {
            for replay_when in 0..3 {
                let scene = Scene::new(null(), mode);
                let session = scene.session();
                let servers = servers(&scene);
                let mut scene = scene;
                scene.server = servers[original_at].clone();
                let mut pair = scene.start(session, at(0));
                let flight = pair.client_output.as_slice().to_vec();
                let mut times = 0;
                let replay =
                    || executed(&servers[replay_at], &flight, at(0)).len() / EARLY_DATA.len();
                if replay_when == 0 {
                    times += replay();
                }
                let (early, verdict) = original(&mut pair);
                times += early;
                if replay_when == 1 {
                    times += replay();
                }
                // The request must not be executed twice: the client resends it only if it was burned.
                let resent = verdict == Some(Verdict::Burned);
                if resent {
                    pair.client_write(EARLY_DATA);
                    pair.run();
                    times += pair.to_server.data.len() / EARLY_DATA.len();
                }
                if replay_when == 2 {
                    times += replay();
                }
                let context = (mode, original_at, replay_at, replay_when, verdict);
                assert!(times <= 1, "{context:?}");
                if verdict == Some(Verdict::Used) {
                    assert_eq!(times, 1, "`used` means that it was executed: {context:?}");
                }
                if resent || verdict.is_none() {
                    assert_eq!(times, 1, "nothing is lost: {context:?}");
                }
            }
        }
    }
}

#[test]
fn verdicts_state_what_became_of_a_replayed_flight() {
    let verdict_at = |index: usize, replay_at: Option<usize>| {
        let mut scene = Scene::new(null(), Mode::FsDhe);
        let session = scene.session();
        let servers = servers(&scene);
        scene.server = servers[index].clone();
        let mut pair = scene.start(session, at(0));
        let flight = pair.client_output.as_slice().to_vec();
        if let Some(replay_at) = replay_at {
            executed(&servers[replay_at], &flight, at(0));
        }
        original(&mut pair).1
    };
    let (accepts, burns, retries, elsewhere) = (0, 1, 2, 3);
    assert_eq!(verdict_at(accepts, None), None);
    assert_eq!(verdict_at(accepts, Some(accepts)), Some(Verdict::Used));
    assert_eq!(verdict_at(accepts, Some(burns)), Some(Verdict::Burned));
    assert_eq!(verdict_at(accepts, Some(elsewhere)), None);
    assert_eq!(verdict_at(burns, None), Some(Verdict::Burned));
    assert_eq!(verdict_at(burns, Some(accepts)), Some(Verdict::Used));
    assert_eq!(verdict_at(retries, None), Some(Verdict::Burned));
    assert_eq!(verdict_at(retries, Some(accepts)), Some(Verdict::Used));
    assert_eq!(verdict_at(elsewhere, None), Some(Verdict::Unknown));
    assert_eq!(verdict_at(elsewhere, Some(accepts)), Some(Verdict::Unknown));
}

#[test]
fn replayable_early_data_that_comes_late_is_refused() {
    for (delay, accepted) in [(0, true), (9, true), (11, false), (3600, false)] {
        let scene = Scene::new(null(), Mode::Replayable);
        let flight = scene.pair().intercept_client();
        assert_eq!(
            executed(&scene.server, &flight, at(delay)) == EARLY_DATA,
            accepted,
            "{delay} s"
        );
    }
    // A session that is used later is as fresh.
    let scene = Scene::new(null(), Mode::Replayable);
    let session = scene.session();
    let mut pair = scene.start(session, at(3600));
    pair.run();
    assert_eq!(pair.to_client.early_data_accepted, Some(true));
}

#[test]
fn forward_secret_early_data_is_for_the_first_hello_alone() {
    // RFC 8446 §4.2.10: never after a HelloRetryRequest; the key is burned, and a replay of the
    // first flight finds nothing.
    let mut scene = Scene::new(null(), Mode::FsDhe);
    let session = scene.session();
    let accepts = scene.server.clone();
    scene.server.groups = vec![NamedGroup::X25519];
    let mut pair = scene.start(session, at(0));
    let flight = pair.client_output.as_slice().to_vec();
    assert_eq!(original(&mut pair), (0, Some(Verdict::Burned)));
    assert_eq!(executed(&accepts, &flight, at(0)), b"");
}

#[test]
fn clients_resume_while_the_ring_rotates() {
    let mut scene = Scene::new(null(), Mode::FsDhe);
    let ring = Arc::new(Ring::new(null(), 0));
    scene.server.tickets = Some(ring.clone());
    let vault = Arc::new(OneVault::default());
    scene.server.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));
    let resumed = AtomicUsize::new(0);
    let running = AtomicUsize::new(8);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut key = 1;
            while running.load(Ordering::Relaxed) > 0 {
                ring.rotate(key);
                key += 1;
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
        });
        for _ in 0..8 {
            scope.spawn(|| {
                let mut session: Option<ClientSession> = None;
                for round in 0..200 {
                    // Some return late, with a ticket of a key that is gone.
                    if round % 10 == 9 {
                        std::thread::sleep(std::time::Duration::from_millis(3));
                    }
                    let mut pair = scene.start(session.take(), at(0));
                    pair.run();
                    assert_eq!(pair.to_client.error, None);
                    assert_eq!(pair.to_server.error, None);
                    assert!(pair.to_client.complete && pair.to_server.complete);
                    let early = pair.to_server.early_data == EARLY_DATA;
                    assert_eq!(early, pair.to_client.early_data_accepted == Some(true));
                    resumed.fetch_add(early.into(), Ordering::Relaxed);
                    session = pair.to_client.sessions.pop();
                }
                running.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
    assert!(resumed.into_inner() > 0);
}
