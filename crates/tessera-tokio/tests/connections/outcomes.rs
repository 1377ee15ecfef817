//! What a client knows of unanswered early data: whether it left, and its flight's name.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::common::vaults::{NoClock, RestartedVault};
use crate::common::{EarlyDataReport, Ends, connect, destination, finish, forward_secret, settled};
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, Receipt, Receipts, SettleReceipt, TakePurpose, TakeSecret, Vault, Verdict,
};
use tessera::{Clock, Destination};
use tessera_tokio::{Acceptor, Connector, EarlyData, EarlyDataOutcome, MemorySessionStore};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Answers for flights from the vault.
struct VaultReceipts(Arc<dyn Vault>);

impl Receipts for VaultReceipts {
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt> {
        let take = TakeSecret::new(question.handle, TakePurpose::Burn, question.unix);
        let Reply::Now(taken) = self.0.take(&take) else { return Reply::Later };
        Reply::Now(Receipt::of(&taken, false))
    }
}

/// Makes both ends, and a client that has sessions.
async fn prepared() -> (Ends, Connector) {
    let mut ends = forward_secret();
    let guard = ends.server.policy.early_data.forward_secret.as_mut().unwrap();
    guard.receipts = Some(Arc::new(VaultReceipts(guard.vault.clone())));
    let connector = ends.connector().with_sessions(Arc::new(MemorySessionStore::default()));
    let (mut client, mut server) = connect(&connector, &ends.acceptor()).await;
    finish(&mut client, &mut server).await;
    (ends, connector)
}

/// Asks for a flight's receipt in the next connection.
async fn receipt(ends: &Ends, connector: &Connector, flight: FlightHandle) -> Receipt {
    let (near, far) = duplex(64 * 1024);
    let destination = Destination { ask_receipts: vec![flight], ..destination() };
    let acceptor = ends.acceptor();
    let (client, server) = tokio::join!(connector.connect(destination, near), acceptor.accept(far));
    server.unwrap();
    let receipts = client.unwrap().facts().receipts.clone();
    assert_eq!(receipts.len(), 1);
    assert_eq!(receipts[0].0, flight);
    receipts[0].1
}

/// Runs a server on a socket; returns its address and what it executes.
async fn server(acceptor: Acceptor) -> (std::net::SocketAddr, UnboundedReceiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (executed, executions) = unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let (acceptor, executed) = (acceptor.clone(), executed.clone());
            tokio::spawn(execute(acceptor, socket, executed));
        }
    });
    (address, executions)
}

async fn execute(
    acceptor: Acceptor,
    socket: TcpStream,
    executed: UnboundedSender<Vec<u8>>,
) -> io::Result<()> {
    let mut stream = acceptor.accept_early(socket).await?;
    let mut request = vec![0; REQUEST.len()];
    stream.read_exact(&mut request).await?;
    executed.send(request).unwrap();
    stream.write_all(b"done").await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(())
}

const REQUEST: &[u8] = b"PAY";

/// What a relay does after the server has answered; it drops the answer.
#[derive(Clone, Copy, Debug)]
enum RelayEnd {
    /// It ends the connection.
    Ends,
    /// It resets the connection.
    Resets,
    /// It does nothing.
    Holds,
}

/// Makes a socket to a server, through an attacker on the path.
async fn through_relay(server: std::net::SocketAddr, then: RelayEnd) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    tokio::spawn(async move {
        let (client, _) = listener.accept().await.unwrap();
        let server = TcpStream::connect(server).await.unwrap();
        if let RelayEnd::Resets = then {
            client.set_zero_linger().unwrap();
        }
        let (mut from_client, to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let passing =
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
        // The server's flight, and its answer to the early data.
        let mut dropped = 0;
        while dropped < 200 {
            dropped += from_server.read(&mut [0; 4096]).await.unwrap();
        }
        if let RelayEnd::Holds = then {
            std::future::pending::<()>().await;
        }
        passing.abort();
        drop((passing.await, to_client));
    });
    near
}

/// Checks that it was sent and not answered; returns the name of the flight.
fn unanswered(outcome: EarlyDataOutcome) -> FlightHandle {
    assert_eq!((outcome.sent, outcome.accepted), (REQUEST.len(), 0));
    assert_eq!(outcome.verdict, Some(Verdict::Unknown));
    assert!(!outcome.may_be_sent_again());
    outcome.flight.unwrap()
}

/// A retry would execute the data twice.
#[tokio::test]
async fn a_flight_whose_answer_was_dropped_is_unknown_and_has_a_receipt() {
    for then in [RelayEnd::Ends, RelayEnd::Resets] {
        let (ends, connector) = prepared().await;
        let (address, mut executions) = server(ends.acceptor()).await;
        let socket = through_relay(address, then).await;
        let outcome = connector.connect_with_early_data(destination(), socket, REQUEST).await;
        let EarlyData::Failed { error, outcome, .. } = outcome else { panic!("{outcome:?}") };
        let kinds = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset];
        assert!(kinds.contains(&error.kind()), "{then:?}: {error}");
        let flight = unanswered(outcome);
        assert_eq!(executions.recv().await.unwrap(), REQUEST);
        assert_eq!(receipt(&ends, &connector, flight).await, Receipt::TakenNotDone);
    }
}

#[tokio::test]
async fn a_stream_knows_its_flight_when_its_future_was_dropped() {
    let (ends, connector) = prepared().await;
    let (address, mut executions) = server(ends.acceptor()).await;
    let socket = through_relay(address, RelayEnd::Holds).await;
    let mut stream = connector.start(destination(), socket).await.unwrap();
    assert_eq!(stream.early_data(), EarlyDataOutcome::default());
    tokio::select! {
        outcome = stream.handshake_with_early_data(REQUEST) => panic!("{outcome:?}"),
        executed = executions.recv() => assert_eq!(executed.unwrap(), REQUEST),
    }
    let flight = unanswered(stream.early_data());
    drop(stream);
    assert_eq!(receipt(&ends, &connector, flight).await, Receipt::TakenNotDone);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_no_answer() {
    let (ends, connector) = prepared().await;
    let (near, mut far) = duplex(64 * 1024);
    let outcome = connector.connect_with_early_data(destination(), near, REQUEST).await;
    let EarlyData::Failed { error, outcome, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    let flight = unanswered(outcome);
    // It never reached the server: asking burns it, and a later replay fails.
    assert_eq!(receipt(&ends, &connector, flight).await, Receipt::Burned);
    let mut recorded = Vec::new();
    far.read_to_end(&mut recorded).await.unwrap();
    let (mut replaying, far) = duplex(64 * 1024);
    replaying.write_all(&recorded).await.unwrap();
    let mut server = ends.acceptor().accept_early(far).await.unwrap();
    drop(replaying);
    assert!(server.read_to_end(&mut Vec::new()).await.is_err());
    assert_eq!(server.facts().flight, None, "not accepted");
}

/// Only a part of the ClientHello fits the pipe.
#[tokio::test(start_paused = true)]
async fn early_data_that_never_left_may_be_sent_elsewhere() {
    let (_ends, connector) = prepared().await;
    let (near, mut far) = duplex(10);
    let mut stream = connector.start(destination(), near).await.unwrap();
    let outcome = stream.handshake_with_early_data(REQUEST).await;
    let EarlyData::NotSent(Err(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    // Nor is it sent later, when there is room.
    let mut received = [0; 10];
    far.read_exact(&mut received).await.unwrap();
    let _failed = stream.flush().await;
    let _failed = stream.shutdown().await;
    drop(stream);
    let mut later = Vec::new();
    far.read_to_end(&mut later).await.unwrap();
    assert!(later.is_empty(), "{} bytes left later", later.len());
}

/// Buffered data is sent even when the stream is shut down.
#[tokio::test(start_paused = true)]
async fn early_data_that_may_still_leave_counts_as_sent() {
    let (ends, connector) = prepared().await;
    let (near, far) = duplex(64);
    let mut stream = connector.start(destination(), near).await.unwrap();
    let limit = Duration::from_secs(1);
    let in_time = tokio::time::timeout(limit, stream.handshake_with_early_data(REQUEST)).await;
    assert!(in_time.is_err());
    unanswered(stream.early_data());
    let acceptor = ends.acceptor();
    let server = async {
        let mut executed = vec![0; REQUEST.len()];
        acceptor.accept_early(far).await.unwrap().read_exact(&mut executed).await.unwrap();
        executed
    };
    let (executed, _ended) = tokio::join!(server, stream.shutdown());
    assert_eq!(executed, REQUEST);
}

#[tokio::test]
async fn without_a_ticket_a_connection_that_fails_has_sent_nothing() {
    let connector = forward_secret().connector();
    let (near, far) = duplex(64 * 1024);
    drop(far);
    let outcome = connector.connect_with_early_data(destination(), near, REQUEST).await;
    assert!(matches!(outcome, EarlyData::NotSent(Err(_))), "{outcome:?}");
}

/// A stream that takes one write, and no other.
struct OneWriteStream {
    io: DuplexStream,
    has_taken: bool,
}

impl AsyncRead for OneWriteStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl AsyncWrite for OneWriteStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.has_taken {
            return Poll::Pending;
        }
        let written = Pin::new(&mut self.io).poll_write(cx, data);
        self.has_taken |= written.is_ready();
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// The server's answer is verified; the client's own last flight isn't sent.
#[tokio::test(start_paused = true)]
async fn the_servers_answer_is_known_although_the_connection_fails() {
    let (ends, connector) = prepared().await;
    let (near, far) = duplex(64 * 1024);
    let near = OneWriteStream { io: near, has_taken: false };
    let acceptor = ends.acceptor();
    let (outcome, _server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, REQUEST),
        acceptor.accept_early(far)
    );
    let EarlyData::Failed { error, outcome, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert_eq!((outcome.accepted, outcome.verdict), (REQUEST.len(), None));
    assert!(outcome.flight.is_some() && !outcome.may_be_sent_again());
}

/// A connector uses the machine's clock, unless the destination has another.
#[tokio::test]
async fn a_lost_flight_is_judged_by_the_clock_of_the_destination_or_the_machines() {
    let clocks: [(Option<Arc<dyn Clock>>, _); 2] =
        [(None, Verdict::Burned), (Some(Arc::new(NoClock)), Verdict::Unknown)];
    for (clock, verdict) in clocks {
        let (mut ends, connector) = prepared().await;
        let guard = ends.server.policy.early_data.forward_secret.as_mut().unwrap();
        guard.vault = Arc::new(RestartedVault(guard.vault.clone()));
        let (near, far) = duplex(64 * 1024);
        let acceptor = ends.acceptor();
        let (outcome, _server) = tokio::join!(
            connector.connect_with_early_data(
                Destination { clock, ..destination() },
                near,
                REQUEST
            ),
            acceptor.accept(far)
        );
        let (stream, told) = settled(outcome);
        assert_eq!(told, EarlyDataReport::Rejected(verdict));
        assert_eq!(stream.early_data().may_be_sent_again(), verdict == Verdict::Burned);
    }
}

#[tokio::test]
async fn a_flight_has_its_name_in_every_outcome() {
    let (ends, connector) = prepared().await;
    let (near, far) = duplex(64 * 1024);
    let acceptor = ends.acceptor();
    let (outcome, _server) = tokio::join!(
        connector.connect_with_early_data(destination(), near, REQUEST),
        acceptor.accept(far)
    );
    let EarlyData::Accepted { flight, .. } = &outcome else { panic!("{outcome:?}") };
    let flight = *flight;
    let (stream, told) = settled(outcome);
    assert_eq!(told, EarlyDataReport::Accepted(REQUEST.len()));
    assert_eq!(stream.early_data().flight, flight);
    assert_eq!(receipt(&ends, &connector, flight.unwrap()).await, Receipt::TakenNotDone);
}
