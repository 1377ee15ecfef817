//! One handshake, several faces: over records, over messages by epoch, and in a protocol with other rules.

use std::fs;
use std::path::Path;

use tessera::Error;
use tessera::face::{Carrier, Direction, Epoch, Profile, STREAM, Versions};
use tessera::wire::ProtocolVersion;
use tessera_harness::{ANOTHER, End, Face, Mode, Pair, Scene, at, to};
use tessera_null_provider::provider;

const FACES: [Face; 3] = [Face::Stream, Face::Messages(&STREAM), Face::Messages(&ANOTHER)];

/// A pair whose handshake is complete, in a mode.
fn connect(face: Face, mode: Mode) -> Pair {
    let scene = Scene::new(provider(), mode);
    let mut session = None;
    for resumes in [false, true] {
        if resumes && !mode.resumes() {
            break;
        }
        let (client, server) = (&scene.client, &scene.server);
        let mut pair = Pair::start_over(face, client, server, to(session), at(0)).expect("starts");
        if pair.client.early_data_room() > 0 {
            let written = pair.client.write_early_data(b"early", &mut pair.client_output);
            assert_eq!(written, Ok(5));
        }
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{mode:?}");
        assert!(pair.to_client.complete && pair.to_server.complete, "{mode:?}");
        if resumes == mode.resumes() {
            return pair;
        }
        session = pair.to_client.sessions.pop();
    }
    unreachable!("every mode connects once or twice")
}

fn exported<H: tessera::handshake::Handshake>(end: &mut End<H>) -> [u8; 32] {
    let mut out = [0; 32];
    end.export_keying_material(b"EXPORTER-test", b"context", &mut out).expect("is complete");
    out
}

#[test]
fn every_mode_connects_over_every_face_and_both_ends_agree() {
    for face in FACES {
        for mode in Mode::ALL {
            let mut pair = connect(face, mode);
            assert_eq!(exported(&mut pair.client), exported(&mut pair.server), "{face:?} {mode:?}");
            let (client, server) = (pair.client.facts(), pair.server.facts());
            assert_eq!(client.psk, server.psk, "{face:?} {mode:?}");
            assert_eq!(client.psk.is_some(), mode.resumes(), "{face:?} {mode:?}");
            assert_eq!(client.early_data, server.early_data, "{face:?} {mode:?}");
            let carries_early = !pair.to_server.early_data.is_empty();
            assert_eq!(carries_early, pair.to_client.early_data_accepted.is_some(), "{mode:?}");
            pair.client_write(b"ping");
            pair.server_write(b"pong");
            pair.run();
            assert_eq!(
                (&*pair.to_server.data, &*pair.to_client.data),
                (&b"ping"[..], &b"pong"[..])
            );
        }
    }
}

#[test]
fn what_one_end_writes_under_the_other_reads_under() {
    for profile in [&STREAM, &ANOTHER] {
        for mode in Mode::ALL {
            let pair = connect(Face::Messages(profile), mode);
            let (End::Messages(client), End::Messages(server)) = (&pair.client, &pair.server)
            else {
                unreachable!("the face is messages");
            };
            for (from, to) in
                [(client.secrets(), server.secrets()), (server.secrets(), client.secrets())]
            {
                let written: Vec<_> =
                    from.iter().filter(|secret| secret.0 == Direction::Write).collect();
                let read: Vec<_> = to.iter().filter(|secret| secret.0 == Direction::Read).collect();
                assert_eq!(written.len(), read.len(), "{mode:?}");
                for (written, read) in written.into_iter().zip(read) {
                    assert_eq!((written.1, &written.2), (read.1, &read.2), "{mode:?}");
                }
            }
            let early = client.secrets().iter().any(|secret| secret.1 == Epoch::EarlyData);
            assert_eq!(early, pair.to_client.early_data_accepted.is_some(), "{mode:?}");
        }
    }
}

#[test]
fn protocols_with_other_versions_do_not_meet() {
    let scene = Scene::new(provider(), Mode::Full);
    let start = |face| {
        Pair::start_over(face, &scene.client, &scene.server, to(None), at(0)).expect("starts")
    };
    let (mut tls, mut other) = (start(Face::Messages(&STREAM)), start(Face::Messages(&NEXT)));
    let hello = tls.intercept_client();
    other.deliver_to_server(&hello);
    let alert = other.to_server.error.and_then(|error| error.alert());
    assert_eq!(alert, Some(tessera::wire::AlertDescription::PROTOCOL_VERSION));
}

/// TLS with another version. The hellos of DTLS have another format, too.
static NEXT: Profile = Profile {
    versions: Versions { selected: ProtocolVersion(0x0305), ..Versions::TLS_1_3 },
    ..STREAM
};

/// RFC 9147 §5: only TLS echoes a legacy_session_id.
#[test]
fn a_session_id_is_echoed_only_where_the_protocol_has_one() {
    for (profile, echoed) in [(&STREAM, true), (&ANOTHER, false)] {
        let scene = Scene::new(provider(), Mode::Full);
        let face = Face::Messages(profile);
        let mut pair =
            Pair::start_over(face, &scene.client, &scene.server, to(None), at(0)).expect("starts");
        // An item's header has 6 bytes, a message's 4; then come the version and the random.
        let mut hello = pair.intercept_client();
        let at = 6 + 4 + 2 + 32;
        if hello[at] == 0 {
            hello.splice(at..=at, [3, 7, 7, 7]);
            for len in [3, 7] {
                let old = u32::from_be_bytes([0, hello[len], hello[len + 1], hello[len + 2]]);
                hello[len..len + 3].copy_from_slice(&(old + 3).to_be_bytes()[1..]);
            }
        }
        pair.deliver_to_server(&hello);
        let answer = pair.intercept_server();
        assert_eq!(pair.to_server.error, None);
        assert_eq!(answer[at] != 0, echoed, "{profile:?}");
    }
}

#[test]
fn a_connection_that_fails_after_its_handshake_has_no_deadline_and_keeps_its_error() {
    let mut pair = connect(Face::Messages(&STREAM), Mode::Full);
    // A ServerHello under the application keys.
    let mut item = vec![0, Epoch::Application as u8, 0, 0, 0, 4];
    item.extend_from_slice(&[2, 0, 0, 0]);
    pair.deliver_to_client(&item);
    let error = pair.to_client.error.clone().expect("an error");
    assert_eq!(error.alert(), Some(tessera::wire::AlertDescription::UNEXPECTED_MESSAGE));
    assert_eq!(pair.client.deadline(), None);
    let exported = pair.client.export_keying_material(b"label", b"", &mut [0; 16]);
    assert_eq!(exported, Err(error.clone()));
    // A face that delivers another message all the same.
    pair.to_client.error = None;
    pair.deliver_to_client(&item);
    assert_eq!(pair.to_client.error, Some(error));
}

/// A face that protects packets itself may confuse keys, or a peer may try to: the core checks.
#[test]
fn a_message_under_other_keys_than_the_newest_is_refused() {
    let mut pair = connect(Face::Messages(&STREAM), Mode::Full);
    for (epoch, refused) in [(Epoch::Application, false), (Epoch::Initial, true)] {
        // A KeyUpdate that doesn't request one.
        let mut item = vec![0, epoch as u8, 0, 0, 0, 5];
        item.extend_from_slice(&[24, 0, 0, 1, 0]);
        pair.deliver_to_server(&item);
        assert_eq!(pair.to_server.error.is_some(), refused, "{epoch:?}");
    }
}

/// A suite that chose its face itself would run over that face alone, once per face.
#[test]
fn no_suite_chooses_a_face_itself() {
    let suites = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faces/suites");
    let files: Vec<_> = fs::read_dir(suites).expect("the suites").map(|it| it.unwrap()).collect();
    assert!(files.len() > 10);
    for file in files {
        let text = fs::read_to_string(file.path()).expect("a suite");
        let chosen = ["Scene::new(", "Pair::start(", "Face::", "Connection::start("];
        let found: Vec<_> = chosen.iter().filter(|word| text.contains(**word)).collect();
        assert!(found.is_empty(), "{:?}: {found:?}", file.path());
    }
}

/// The rules of QUIC (RFC 9001 §4, §6, §8), whose packets change keys themselves.
static QUIC: Profile = Profile {
    carrier: Carrier(254),
    end_of_early_data: false,
    legacy_session_id: false,
    key_update: false,
    ..STREAM
};

#[test]
fn a_key_update_is_sent_and_taken_only_where_the_protocol_has_it() {
    for (profile, has_it) in [(&STREAM, true), (&ANOTHER, true), (&QUIC, false)] {
        let mut pair = connect(Face::Messages(profile), Mode::Full);
        let refused = Err(Error::Misuse("a KeyUpdate in a protocol that has none"));
        let expected = if has_it { Ok(()) } else { refused };
        let mut output = tessera::Output::new();
        assert_eq!(pair.client.update_keys(true, &mut output), expected, "{profile:?}");
        assert_eq!(pair.server.update_keys(true, &mut output), expected, "{profile:?}");
        pair.run();
        assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None), "{profile:?}");

        let mut item = vec![0, Epoch::Application as u8, 0, 0, 0, 5];
        item.extend_from_slice(&[24, 0, 0, 1, 0]);
        pair.deliver_to_server(&item);
        pair.deliver_to_client(&item);
        for received in [&pair.to_client, &pair.to_server] {
            let alert = received.error.as_ref().and_then(Error::alert);
            let refused = tessera::wire::AlertDescription::UNEXPECTED_MESSAGE;
            assert_eq!(alert, (!has_it).then_some(refused), "{profile:?}");
        }
    }
}

/// Linux exposes a process's own memory as a file.
#[cfg(target_os = "linux")]
mod stack {
    use std::hint::black_box;
    use std::sync::Arc;

    use tessera::KeyLog;
    use tessera::crypto::{Depth, StackDepth};
    use tessera_harness::Mark;

    use super::*;

    /// Leaves marks deep in the stack wherever a secret is logged, as primitives leave copies of keys.
    struct CarelessKeyLog(Mark);

    impl KeyLog for CarelessKeyLog {
        #[inline(never)]
        fn log(&self, _: &str, _: &[u8; 32], _: &[u8]) {
            let mut frame = [0; 64 * 1024];
            self.0.fill(&mut frame);
            black_box(&mut frame);
        }
    }

    /// Counts the marks after the client's start, after the server's flight, and after the client's last.
    fn marks(face: Face, mode: Mode, depth: StackDepth) -> [usize; 3] {
        let mut scene = Scene::new(provider(), mode);
        let session = scene.session();
        let careless = Arc::new(CarelessKeyLog(Mark::new()));
        scene.client.key_log = Some(careless.clone());
        scene.server.key_log = Some(careless.clone());
        scene.client.provider.stack_depth = depth;
        scene.server.provider.stack_depth = depth;
        let (client, server) = (&scene.client, &scene.server);
        let mut pair = Pair::start_over(face, client, server, to(session), at(0)).expect("starts");
        let started = careless.0.count();
        pair.client_to_server();
        let answered = careless.0.count();
        pair.server_to_client();
        assert!(pair.to_client.complete, "{face:?} {mode:?}");
        [started, answered, careless.0.count()]
    }

    /// The core wipes what its steps reached; no face must remember to.
    #[test]
    fn no_step_leaves_anything_on_the_stack_whatever_its_face() {
        let found = marks(Face::Stream, Mode::FsDhe, StackDepth::NOTHING_IS_WIPED);
        assert!(found.iter().sum::<usize>() > 0, "what is looked for can be found");
        // Builds without optimisation reach deeper than release builds.
        const DEEP: Depth = Depth::of::<{ 256 * 1024 }>();
        let wiped = StackDepth { derivation: DEEP, agreement: DEEP };
        for (face, mode) in [(Face::Stream, Mode::FsDhe), (Face::Messages(&STREAM), Mode::Mutual)] {
            assert_eq!(marks(face, mode, wiped), [0; 3], "{face:?} {mode:?}");
        }
    }
}
