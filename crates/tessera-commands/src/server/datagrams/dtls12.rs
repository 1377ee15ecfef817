//! Clients of DTLS 1.2, whose datagrams are relayed as they are to a server that speaks it.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tessera::wire::{ContentType, HandshakeType};
use tessera_kit::facts::micros;
use tessera_kit::report::{Fact, Report};
use tessera_proxy::datagrams::{
    Arrival, Datagram, DatagramCounts, Ending, SharedSocket, Source, SourceLimits, Sources, pump,
};
use tessera_tokio::{Foreign, ForeignDatagrams, Limits};

use super::target::socket_to;
use crate::datagram_facts::report_refused;

/// Relays until it is asked to end.
pub(super) async fn relay(
    foreign: ForeignDatagrams,
    target: SocketAddr,
    limits: Limits,
    asked: impl Future<Output = ()>,
    report: &Arc<Report>,
) -> io::Result<()> {
    let source_limits =
        SourceLimits { sources: limits.connections, per_address: limits.connections_per_address };
    let sources = Sources::new(Dtls12Socket(foreign), source_limits);
    let serve = |source, ending| serve(source, ending, target, limits.idle, report.clone());
    tokio::select! {
        served = sources.run(asked, limits.drain, serve) => served,
        never = report_refused(&sources, report) => never,
    }
}

/// The server's socket, as clients of DTLS 1.2 use it.
struct Dtls12Socket(ForeignDatagrams);

impl SharedSocket for Dtls12Socket {
    async fn recv_from(&self) -> io::Result<Arrival> {
        loop {
            let received = self.0.recv().await?;
            if received.kind == Foreign::Dtls12 {
                return Ok(Arrival {
                    from: received.from,
                    datagram: Datagram::new(&received),
                    begins: begins(&received),
                });
            }
        }
    }

    async fn send_to(&self, datagram: &[u8], to: SocketAddr) -> io::Result<()> {
        self.0.send_to(datagram, to).await
    }
}

/// Relays the datagrams of one address to their end, and reports them.
async fn serve(
    source: Source<Dtls12Socket>,
    mut ending: Ending,
    target: SocketAddr,
    idle: Duration,
    report: Arc<Report>,
) {
    let started = Instant::now();
    let counts = DatagramCounts::default();
    let carry = async {
        let socket = socket_to(target).await?;
        pump(&source, &socket, idle, &counts).await
    };
    let result = tokio::select! {
        result = carry => result.map(drop),
        _ = ending.changed() => Ok(()),
    };
    let address = source.address();
    let dropped = counts.dropped() + source.dropped();
    // Its next datagram begins another.
    drop(source);
    report.print(&RelayFacts {
        address,
        datagrams_received: counts.a_to_b(),
        datagrams_sent: counts.b_to_a(),
        datagrams_dropped: dropped,
        total_micros: micros(started.elapsed()),
        error: result.err().map(|error| error.to_string()),
    });
}

/// A client of DTLS 1.2 that has ended, or is idle.
#[derive(Serialize)]
struct RelayFacts {
    address: SocketAddr,
    datagrams_received: u64,
    datagrams_sent: u64,
    datagrams_dropped: u64,
    total_micros: u64,
    error: Option<String>,
}

impl Fact for RelayFacts {
    const EVENT: &'static str = "relayed";
}

impl fmt::Display for RelayFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, datagrams_received, datagrams_sent, datagrams_dropped, .. } = self;
        write!(f, "{address}: DTLS 1.2, {datagrams_received} datagrams relayed, ")?;
        write!(f, "{datagrams_sent} back, {datagrams_dropped} dropped")?;
        self.error.as_ref().map_or(Ok(()), |error| write!(f, "; {error}"))
    }
}

/// Returns whether a relay may begin with a datagram: with a ClientHello, or with a record that has a connection ID, whose
/// client may have a new address (RFC 9146 §6). The server knows the others by the address of a relay that has ended.
fn begins(datagram: &[u8]) -> bool {
    match datagram {
        [HANDSHAKE, _, _, 0, 0, rest @ ..] => rest.get(8) == Some(&CLIENT_HELLO),
        [first, ..] => *first == TLS12_CID,
        [] => false,
    }
}

/// Content types, and the type of a message; tls12_cid is of DTLS 1.2 alone (RFC 9146 §4).
const HANDSHAKE: u8 = ContentType::HANDSHAKE.0;
const TLS12_CID: u8 = 25;
const CLIENT_HELLO: u8 = HandshakeType::CLIENT_HELLO.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_begins_with_a_hello_or_a_connection_id() {
        let record = |typ, epoch, content| {
            [&[typ, 254, 253, 0, epoch, 0, 0, 0, 0, 0, 0, 0, 9], &[content; 9][..]].concat()
        };
        assert!(begins(&record(22, 0, 1)) && begins(&record(25, 1, 7)));
        // A ClientKeyExchange, a Finished under keys, change_cipher_spec, an alert, and data.
        for (typ, epoch, content) in
            [(22, 0, 16), (22, 1, 1), (20, 0, 1), (21, 0, 1), (21, 1, 1), (23, 1, 1)]
        {
            assert!(!begins(&record(typ, epoch, content)), "{typ} {epoch} {content}");
        }
        assert!(!begins(&[]) && !begins(&[22, 254, 253, 0, 0]));
    }
}
