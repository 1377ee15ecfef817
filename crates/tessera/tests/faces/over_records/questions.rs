//! How a question interacts with input and deadlines, which belong to a stream.

use std::time::Duration;

use tessera::{Error, Output, ReadEvent, Time};
use tessera_harness::{EARLY_DATA, Mode, Pair, Scene};

use super::suites::owner::Owner;
use super::suites::questions::waiting;

#[test]
fn nothing_is_read_while_a_question_is_open() {
    let (mut pair, scene, chosen) = waiting();
    let mut output = Output::new();
    for _ in 0..3 {
        let mut input = [0xff; 64];
        let progress = pair.server.read(pair.now, &mut input, &mut output).expect("no error");
        assert_eq!(progress.consumed, 0);
        assert!(matches!(progress.event, ReadEvent::WaitingForAnswer));
    }
    assert!(output.is_empty());
    let (_, error) = Owner::default().run(&mut pair, &scene, &chosen);
    assert_eq!(error, None);
    assert_eq!(pair.to_server.early_data, EARLY_DATA);
}

#[test]
fn a_handshake_times_out_while_a_question_is_open_or_the_peer_is_silent() {
    let late =
        |pair: &Pair| Time { monotonic: pair.now.monotonic + Duration::from_secs(10), ..pair.now };
    // While a question is open, and while the peer is silent.
    let (waiting, _, _) = waiting();
    let silent = Scene::new(tessera_null_provider::provider(), Mode::Full).pair();
    for mut pair in [waiting, silent] {
        let deadline = Some(pair.now.monotonic + Duration::from_secs(10));
        assert_eq!(pair.server.deadline(), deadline);
        assert_eq!(pair.client.deadline(), deadline);
        let (now, mut output) = (late(&pair), Output::new());
        let error = pair.server.read(now, &mut [], &mut output).err();
        assert_eq!(error, Some(Error::TimedOut));
        let error = pair.client.read(now, &mut [], &mut output).err();
        assert_eq!(error, Some(Error::TimedOut));
        assert!(output.is_empty());
    }
    // A complete connection has no deadline.
    let mut pair = Scene::new(tessera_null_provider::provider(), Mode::Full).pair();
    pair.run();
    assert_eq!((pair.server.deadline(), pair.client.deadline()), (None, None));
    pair.now = late(&pair);
    pair.client_write(b"ping");
    pair.run();
    assert_eq!(pair.to_server.data, b"ping");
}

/// A late read means a slow machine, not a slow peer: what completes the handshake still counts.
#[test]
fn messages_that_complete_the_handshake_count_however_late_they_are_read() {
    let pair = || Scene::new(tessera_null_provider::provider(), Mode::Full).pair();
    let late =
        |pair: &Pair| Time { monotonic: pair.now.monotonic + Duration::from_secs(10), ..pair.now };
    let mut whole = pair();
    whole.client_to_server();
    whole.server_to_client();
    whole.now = late(&whole);
    whole.client_to_server();
    assert!(whole.to_server.complete);
    assert_eq!(whole.to_server.error, None);

    let mut half = pair();
    half.now = late(&half);
    half.client_to_server();
    assert_eq!(half.to_server.error, Some(Error::TimedOut), "only the first flight is there");
}
