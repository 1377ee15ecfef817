//! Reconnecting: resumption, early data and its verdicts, answers before the end of the handshake.

use crate::common::{
    self, EarlyDataReport, bytes, connect, destination, ends, finish, forward_secret, prepared,
    replayable, settled,
};
use tessera::resume::{ClientSession, PskKind, Verdict};
use tessera::wire::NamedGroup;
use tessera::{Destination, Facts};
use tessera_tokio::SessionStore;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

fn to(session: ClientSession) -> Destination {
    Destination { session: Some(Box::new(session)), ..destination() }
}

fn psk(facts: &Facts) -> Option<PskKind> {
    facts.psk
}

#[tokio::test]
async fn a_session_from_the_store_is_resumed() {
    let ends = ends();
    let (connector, _) = prepared(&ends).await;
    let (client, server) = connect(&connector, &ends.acceptor()).await;
    assert_eq!(psk(client.facts()), Some(PskKind::Resumption));
    assert_eq!(psk(server.facts()), Some(PskKind::Resumption));
}

#[tokio::test]
async fn early_data_is_accepted_and_read_first() {
    for (ends, kind) in
        [(forward_secret(), PskKind::ForwardSecret), (replayable(), PskKind::Resumption)]
    {
        let (connector, _) = prepared(&ends).await;
        let (near, far) = duplex(64 * 1024);
        let acceptor = ends.acceptor();
        let (client, server) = tokio::join!(
            connector.connect_with_early_data(destination(), near, b"early"),
            acceptor.accept(far)
        );
        let ((mut client, early_data), mut server) = (settled(client), server.unwrap());
        assert_eq!(early_data, EarlyDataReport::Accepted(5));
        assert_eq!(psk(client.facts()), Some(kind));
        client.write_all(b"late").await.unwrap();
        let mut buffer = [0; 20];
        assert_eq!(
            server.read(&mut buffer).await.unwrap(),
            5,
            "early data is not mixed with other"
        );
        assert!(server.is_early() && buffer.starts_with(b"early"));
        assert_eq!(server.read(&mut buffer).await.unwrap(), 4);
        assert!(!server.is_early() && buffer.starts_with(b"late"));
    }
}

/// The client waits for the answer to its early data before it continues, so the answer comes before the
/// handshake is complete.
#[tokio::test]
async fn early_data_is_answered_before_the_handshake_is_complete() {
    let ends = forward_secret();
    let (connector, _) = prepared(&ends).await;
    let (near, far) = duplex(64 * 1024);
    let mut client = connector.start(destination(), near).await.unwrap();
    assert_eq!(client.write_early(b"question").await.unwrap(), 8);

    let mut server = ends.acceptor().accept_early(far).await.unwrap();
    assert!(!server.is_handshake_complete());
    let watch = server.handshake_watch();
    assert!(!watch.is_complete() && !watch.is_replayable());
    let mut buffer = [0; 8];
    server.read_exact(&mut buffer).await.unwrap();
    assert!(server.is_early() && &buffer == b"question");
    server.write_all(b"answer").await.unwrap();
    assert!(!server.is_handshake_complete());

    let mut buffer = [0; 6];
    client.read_exact(&mut buffer).await.unwrap();
    assert_eq!(&buffer, b"answer");
    finish(&mut client, &mut server).await;
    assert!(watch.is_complete());
    watch.completed().await.unwrap();
}

#[tokio::test]
async fn a_watch_reports_that_the_handshake_was_never_completed() {
    let (near, far) = duplex(64 * 1024);
    let ends = ends();
    let mut client = ends.connector().start(destination(), near).await.unwrap();
    client.flush().await.unwrap();
    let mut server = ends.acceptor().accept_early(far).await.unwrap();
    let watch = server.handshake_watch();
    let waiting = tokio::spawn(async move { watch.completed().await });
    tokio::task::yield_now().await;
    drop(server);
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test]
async fn a_client_writes_hello_and_early_data_at_once() {
    let ends = forward_secret();
    let (connector, _) = prepared(&ends).await;
    let (near, mut far) = duplex(64 * 1024);
    let mut client = connector.start(destination(), near).await.unwrap();
    client.write_early(&[7; 100]).await.unwrap();
    let mut flight = vec![0; 64 * 1024];
    let len = far.read(&mut flight).await.unwrap();
    // ClientHello, change_cipher_spec, early data (RFC 8446 §D.4).
    let (mut types, mut rest) = (Vec::new(), &flight[..len]);
    while let [typ, _, _, high, low, after @ ..] = rest {
        types.push(*typ);
        rest = &after[usize::from(u16::from_be_bytes([*high, *low]))..];
    }
    assert_eq!(types, [22, 20, 23]);
}

#[tokio::test]
async fn burned_early_data_may_be_sent_again() {
    let ends = forward_secret();
    let (connector, _) = prepared(&ends).await;
    // Another group causes a HelloRetryRequest, which rejects early data.
    let mut server = ends.server.clone();
    server.groups = vec![NamedGroup::SECP256R1];
    let acceptor = tessera_tokio::Acceptor::new(server.checked().unwrap());
    let (near, far) = duplex(64 * 1024);
    let (client, server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, b"early"),
        acceptor.accept(far)
    );
    let ((mut client, early_data), mut server) = (settled(client), server.unwrap());
    assert_eq!(early_data, EarlyDataReport::Rejected(Verdict::Burned));
    client.write_all(b"again").await.unwrap();
    let mut buffer = [0; 5];
    server.read_exact(&mut buffer).await.unwrap();
    assert!(!server.is_early() && &buffer == b"again");
}

#[tokio::test]
async fn used_early_data_is_never_sent_again() {
    let ends = forward_secret();
    let (connector, store) = prepared(&ends).await;
    let session = store.pop(common::SERVER_NAME).unwrap().export();
    let mut verdicts = Vec::new();
    for _ in 0..2 {
        let (near, far) = duplex(64 * 1024);
        let acceptor = ends.acceptor();
        let copy = ClientSession::import(&session).unwrap();
        let (client, server) = tokio::join!(
            connector.connect_with_early_data(to(copy), near, b"early"),
            acceptor.accept(far)
        );
        server.unwrap();
        verdicts.push(settled(client).1);
    }
    assert_eq!(verdicts, [EarlyDataReport::Accepted(5), EarlyDataReport::Rejected(Verdict::Used)]);
}

#[tokio::test]
async fn early_data_beyond_the_limit_is_left_for_later() {
    let ends = forward_secret();
    let (connector, _) = prepared(&ends).await;
    let data = bytes(20_000);
    // The pipe is small: the client sends early data while the server sends its flight.
    let (near, far) = duplex(100);
    let acceptor = ends.acceptor();
    let (client, server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, &data),
        acceptor.accept(far)
    );
    let ((mut client, early_data), mut server) = (settled(client), server.unwrap());
    let EarlyDataReport::Accepted(taken) = early_data else { panic!("{early_data:?}") };
    assert_eq!(taken, 16 * 1024);
    let mut received = vec![0; data.len()];
    let (written, read) = tokio::join!(
        async {
            client.write_all(&data[taken..]).await?;
            client.flush().await
        },
        server.read_exact(&mut received)
    );
    written.unwrap();
    read.unwrap();
    assert!(received == data);
}

#[tokio::test]
async fn without_a_ticket_there_is_no_early_data() {
    let ends = forward_secret();
    let (near, far) = duplex(64 * 1024);
    let (connector, acceptor) = (ends.connector(), ends.acceptor());
    let (client, _server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, b"early"),
        acceptor.accept(far)
    );
    assert_eq!(settled(client).1, EarlyDataReport::NotSent);
}

/// The server's first answer is also its last.
#[tokio::test]
async fn a_server_that_answers_early_data_and_ends_gives_its_tickets() {
    let ends = forward_secret();
    // The only ticket is used for the flight.
    let (connector, store) = prepared(&ends).await;
    let mut sessions = Vec::new();
    while let Some(session) = store.pop(common::SERVER_NAME) {
        sessions.push(session);
    }
    let destination = to(sessions.pop().unwrap());
    let (near, far) = duplex(64 * 1024);
    let mut client = connector.start(destination, near).await.unwrap();
    client.write_early(b"question").await.unwrap();
    let mut server = ends.acceptor().accept_early(far).await.unwrap();
    assert!(!server.is_handshake_complete());
    server.write_all(b"answer").await.unwrap();
    let mut answer = Vec::new();
    let (ended, read) = tokio::join!(server.shutdown(), client.read_to_end(&mut answer));
    ended.unwrap();
    read.unwrap();
    assert_eq!(answer, b"answer");
    assert!(store.pop(common::SERVER_NAME).is_some());
}

/// The client has sent its flight and disappeared.
#[tokio::test(start_paused = true)]
async fn a_server_that_ends_waits_for_a_silent_client_no_longer_than_a_handshake_may_take() {
    let ends = forward_secret();
    let (connector, _) = prepared(&ends).await;
    let (near, far) = duplex(64 * 1024);
    let mut client = connector.start(destination(), near).await.unwrap();
    client.write_early(b"question").await.unwrap();
    let mut server = ends.acceptor().accept_early(far).await.unwrap();
    let error = server.shutdown().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
}
