//! Streams whose first writes travel as early data: what becomes of them under each verdict.

use std::io;
use std::sync::Arc;

use crate::common::vaults::{NoClock, RestartedVault};
use crate::common::{Ends, SERVER_NAME, destination, forward_secret, prepared};
use tessera::resume::{ClientSession, Verdict};
use tessera::wire::NamedGroup;
use tessera::{Clock, Destination};
use tessera_tokio::{
    Acceptor, Connector, FirstFlight, FirstFlightError, FirstFlightFailure, ServerStream,
    SessionStore,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

/// Returns a first flight, and the server's end of its pipe.
async fn first_flight(connector: &Connector) -> (FirstFlight<DuplexStream>, DuplexStream) {
    let (near, far) = duplex(64 * 1024);
    (connector.first_flight(destination(), near).await.unwrap(), far)
}

/// Reads the question, and answers it.
async fn answer(acceptor: &Acceptor, far: DuplexStream) -> io::Result<ServerStream<DuplexStream>> {
    let mut server = acceptor.accept_early(far).await?;
    let mut question = [0; 8];
    server.read_exact(&mut question).await?;
    assert_eq!(&question, b"question");
    server.write_all(b"answer").await?;
    server.flush().await?;
    Ok(server)
}

/// Writes the question and reads the answer, as an unaware program does.
async fn ask(client: &mut FirstFlight<DuplexStream>) -> io::Result<()> {
    client.write_all(b"question").await?;
    client.flush().await?;
    let mut answer = [0; 6];
    client.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"answer");
    Ok(())
}

/// Makes a server whose group is not among the client's shares: it requests another ClientHello, and burns
/// the key.
fn of_another_group(ends: &Ends) -> Acceptor {
    let mut server = ends.server.clone();
    server.groups = vec![NamedGroup::SECP256R1];
    Acceptor::new(server.checked().unwrap())
}

#[tokio::test]
async fn the_first_writes_travel_as_early_data() {
    let ends = forward_secret();
    let (connector, _) = prepared(&ends).await;
    let (mut client, far) = first_flight(&connector).await;
    assert!(client.carries_early_data());
    client.ready().await.unwrap();
    let acceptor = ends.acceptor();
    let (asked, server) = tokio::join!(ask(&mut client), answer(&acceptor, far));
    asked.unwrap();
    assert!(server.unwrap().is_early());
    assert!(!client.carries_early_data());
    let outcome = client.early_data();
    assert_eq!((outcome.accepted, outcome.verdict, outcome.sent_again), (8, None, false));
}

#[tokio::test]
async fn without_a_ticket_what_is_written_waits_for_the_handshake() {
    let ends = forward_secret();
    let connector = ends.connector();
    let (mut client, far) = first_flight(&connector).await;
    assert!(!client.carries_early_data());
    let acceptor = ends.acceptor();
    let (asked, server) = tokio::join!(ask(&mut client), answer(&acceptor, far));
    asked.unwrap();
    assert!(!server.unwrap().is_early());
    assert_eq!(client.early_data().sent, 0);
}

#[tokio::test]
async fn a_burned_flight_is_sent_once_more() {
    let ends = forward_secret();
    let (connector, _) = prepared(&ends).await;
    let (mut client, far) = first_flight(&connector).await;
    let acceptor = of_another_group(&ends);
    let (asked, server) = tokio::join!(ask(&mut client), answer(&acceptor, far));
    asked.unwrap();
    assert!(!server.unwrap().is_early());
    let outcome = client.early_data();
    assert_eq!((outcome.sent, outcome.verdict), (8, Some(Verdict::Burned)));
    assert!(outcome.sent_again && !outcome.may_be_sent_again());
}

/// Starts two first flights with the same session, and returns the second, which finds its key used.
async fn with_used_key(ends: &Ends) -> (FirstFlight<DuplexStream>, DuplexStream) {
    let (connector, store) = prepared(ends).await;
    let session = store.pop(SERVER_NAME).unwrap().export();
    let to = || {
        let session = Some(ClientSession::import(&session).unwrap());
        Destination { session: session.map(Box::new), ..destination() }
    };
    let (near, far) = duplex(64 * 1024);
    let mut client = connector.first_flight(to(), near).await.unwrap();
    let acceptor = ends.acceptor();
    let (asked, server) = tokio::join!(ask(&mut client), answer(&acceptor, far));
    asked.unwrap();
    server.unwrap();
    let (near, far) = duplex(64 * 1024);
    (connector.first_flight(to(), near).await.unwrap(), far)
}

#[tokio::test]
async fn a_used_flight_is_not_sent_again_and_every_call_reports_that() {
    let ends = forward_secret();
    let (mut client, far) = with_used_key(&ends).await;
    let acceptor = ends.acceptor();
    let (asked, server) = tokio::join!(ask(&mut client), answer(&acceptor, far));
    // The server sees the close.
    assert_eq!(server.err().unwrap().kind(), io::ErrorKind::UnexpectedEof);
    let flight = client.early_data().flight;
    assert!(flight.is_some());
    let check = |error: io::Error| {
        let error = FirstFlightError::of(&error).unwrap();
        assert!(matches!(error.reason(), FirstFlightFailure::Rejected));
        assert_eq!((error.verdict(), error.flight()), (Some(Verdict::Used), flight));
        assert!(!error.may_be_sent_again());
    };
    check(asked.unwrap_err());
    for _ in 0..2 {
        check(client.write(b"x").await.unwrap_err());
        check(client.read(&mut [0; 4]).await.unwrap_err());
        check(client.flush().await.unwrap_err());
        check(client.shutdown().await.unwrap_err());
        check(client.ready().await.unwrap_err());
    }
}

#[tokio::test]
async fn a_flight_named_repeatable_is_sent_once_more_after_used() {
    let ends = forward_secret();
    let (client, far) = with_used_key(&ends).await;
    let mut client = client.repeatable();
    let acceptor = ends.acceptor();
    let (asked, server) = tokio::join!(ask(&mut client), answer(&acceptor, far));
    asked.unwrap();
    assert!(!server.unwrap().is_early());
    assert_eq!(client.early_data().verdict, Some(Verdict::Used));
    assert!(client.early_data().sent_again);
}

/// The vault began a new life: a client that knows how long the flight was in transit reads that as `burned`.
#[tokio::test]
async fn a_lost_flight_is_sent_once_more_by_a_client_with_a_clock() {
    let clocks: [Option<Arc<dyn Clock>>; 2] = [None, Some(Arc::new(NoClock))];
    for clock in clocks {
        let ends = forward_secret();
        let (connector, _) = prepared(&ends).await;
        let mut server = ends.server.clone();
        let guard = server.policy.early_data.forward_secret.as_mut().unwrap();
        guard.vault = Arc::new(RestartedVault(guard.vault.clone()));
        let acceptor = Acceptor::new(server.checked().unwrap());
        let (near, far) = duplex(64 * 1024);
        let knows = clock.is_none();
        let destination = Destination { clock, ..destination() };
        let mut client = connector.first_flight(destination, near).await.unwrap();
        let (asked, server) = tokio::join!(ask(&mut client), answer(&acceptor, far));
        assert_eq!((asked.is_ok(), server.is_ok()), (knows, knows));
        assert_eq!(client.early_data().sent_again, knows);
        if let Err(error) = asked {
            let error = FirstFlightError::of(&error).unwrap();
            assert_eq!(error.verdict(), Some(Verdict::Unknown));
            assert!(matches!(error.reason(), FirstFlightFailure::Rejected));
        }
    }
}
