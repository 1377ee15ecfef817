//! Makes connections that resume with early data, for callgrind to count a client's instructions: `first-flight-cost
//! MODE COUNT`, MODE `connect` or `first-flight`. `bench/first-flight-cost` compares the two; see README.md. Collect
//! the function `client_side`.

use std::env;
use std::future::{Future, poll_fn};
use std::io::Result;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::wire::NamedGroup;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_harness::credential;
use tessera_null_provider::NullVerifier;
use tessera_tokio::{Acceptor, ClientStream, Connector, EarlyData, MemorySessionStore};
use tessera_vault::{MemoryVault, TicketKey, TicketKeyRing};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, duplex};

/// The request of each connection.
const REQUEST: &[u8] = b"hello";

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let count = arguments.next().and_then(|count| count.parse().ok());
    let (Some(count), true) = (count, ["connect", "first-flight"].contains(&&*mode)) else {
        eprintln!("usage: first-flight-cost connect|first-flight COUNT");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(connections(mode == "first-flight", count));
    ExitCode::SUCCESS
}

/// Makes this many connections, each with the ticket of the one before.
async fn connections(as_first_flight: bool, count: usize) {
    let (connector, acceptor) = ends();
    for index in 0..=count {
        let (near, far) = duplex(64 * 1024);
        let destination =
            Destination { server_name: "server.example".into(), ..Destination::default() };
        let mut client: Pin<Box<dyn Future<Output = Result<()>>>> = match as_first_flight {
            true => Box::pin(first_flight(&connector, destination, near)),
            false => Box::pin(connect(&connector, destination, near)),
        };
        let mut server = pin!(serve(&acceptor, far));
        let (mut client_ended, mut server_ended) = (false, false);
        poll_fn(|cx| {
            if !client_ended && let Poll::Ready(result) = client_side(client.as_mut(), cx) {
                result.expect("a client that is served");
                client_ended = true;
            }
            if !server_ended && let Poll::Ready(result) = server.as_mut().poll(cx) {
                let is_early = result.expect("a server with a client");
                assert_eq!(is_early, index > 0, "early where there is a ticket");
                server_ended = true;
            }
            if client_ended && server_ended { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

#[inline(never)]
fn client_side(
    client: Pin<&mut dyn Future<Output = Result<()>>>,
    cx: &mut Context<'_>,
) -> Poll<Result<()>> {
    client.poll(cx)
}

async fn connect(
    connector: &Connector,
    destination: Destination,
    near: DuplexStream,
) -> Result<()> {
    match connector.connect_with_early_data(destination, near, REQUEST).await {
        EarlyData::Accepted { stream, .. } => read_answer(stream).await,
        EarlyData::NotSent(stream) => {
            let mut stream: ClientStream<_> = stream?;
            stream.write_all(REQUEST).await?;
            stream.flush().await?;
            read_answer(stream).await
        }
        other => Err(std::io::Error::other(format!("{other:?}"))),
    }
}

async fn first_flight(
    connector: &Connector,
    destination: Destination,
    near: DuplexStream,
) -> Result<()> {
    let mut stream = connector.first_flight(destination, near).await?;
    stream.write_all(REQUEST).await?;
    stream.flush().await?;
    read_answer(stream).await
}

/// Reads to the end, before which the tickets arrive.
async fn read_answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<()> {
    let mut answer = Vec::with_capacity(64);
    stream.read_to_end(&mut answer).await?;
    assert_eq!(answer, REQUEST, "the request comes back");
    stream.shutdown().await
}

async fn serve(acceptor: &Acceptor, far: DuplexStream) -> Result<bool> {
    let mut stream = acceptor.accept_early(far).await?;
    let mut request = [0; REQUEST.len()];
    stream.read_exact(&mut request).await?;
    let is_early = stream.is_early();
    stream.handshake().await?;
    stream.write_all(&request).await?;
    stream.shutdown().await?;
    stream.read_to_end(&mut Vec::new()).await?;
    Ok(is_early)
}

/// Returns both ends, with real cryptography, and the embedded ring and vault.
fn ends() -> (Connector, Acceptor) {
    let provider = tessera_aws_lc::provider();
    let mut client = ClientConfig::new(provider, Arc::new(NullVerifier));
    client.groups = vec![NamedGroup::X25519];
    client.policy.tickets.new_session_count = 1;
    client.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    let mut server = ServerConfig::new(provider, vec![credential()]);
    server.groups = client.groups.clone();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let day = Duration::from_secs(24 * 3600);
    let ring = TicketKeyRing::new(&provider);
    let key = TicketKey::generate(&provider, now, day, day).expect("random bytes");
    ring.add(key, now).expect("a good key");
    server.tickets = Some(Arc::new(ring));
    let mut guard = OneTimeKeyGuard::new(Arc::new(MemoryVault::new(1000)));
    guard.kinds = client.groups.clone();
    server.policy.early_data.forward_secret = Some(guard);
    let connector = Connector::new(client.checked().expect("works"));
    let connector = connector.with_sessions(Arc::new(MemorySessionStore::default()));
    (connector, Acceptor::new(server.checked().expect("works")))
}
