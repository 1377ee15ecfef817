//! The bytes of a connection on the wire, by layer and direction.

use std::net::SocketAddrV4;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Segment, Watch};

/// The bytes that one end sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SentBytes {
    /// TLS records of the handshake: without data, tickets and the alert at the end.
    pub(crate) handshake: u64,
    /// All TLS records.
    pub(crate) tls: u64,
    /// Whole IP packets, including retransmissions.
    pub(crate) ip: u64,
    /// How many packets.
    pub(crate) packets: u64,
    /// TCP payload; more than `tls` if TCP retransmitted.
    pub(crate) payload: u64,
}

/// Counts the packets of the next connection to a server.
pub(crate) struct Counter {
    server: SocketAddrV4,
    client: Option<SocketAddrV4>,
    pub(crate) from_client: Packets,
    pub(crate) from_server: Packets,
}

/// Packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packets {
    pub(crate) count: u64,
    pub(crate) ip: u64,
    pub(crate) payload: u64,
}

impl Counter {
    pub(crate) fn new(server: SocketAddrV4) -> Self {
        let (from_client, from_server) = (Packets::default(), Packets::default());
        Self { server, client: None, from_client, from_server }
    }

    /// Returns the client's address, if a connection has begun.
    #[cfg(test)]
    pub(crate) fn client(&self) -> Option<SocketAddrV4> {
        self.client
    }
}

impl Watch for Counter {
    /// Segments of earlier connections may still pass: the first SYN identifies this one.
    fn pass(&mut self, segment: &Segment<'_>, bytes: usize, _: Duration) {
        let to_server = segment.to == self.server;
        if to_server && segment.is_syn {
            self.client.get_or_insert(segment.from);
        }
        let Some(client) = self.client else { return };
        let direction = match (segment.from, segment.to) {
            ends if ends == (client, self.server) => &mut self.from_client,
            ends if ends == (self.server, client) => &mut self.from_server,
            _ => return,
        };
        direction.count += 1;
        direction.ip += bytes as u64;
        direction.payload += segment.payload.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wired::packet;

    #[test]
    fn packets_of_one_connection_are_counted_by_direction() {
        let (client, server): (SocketAddrV4, SocketAddrV4) =
            ("10.77.0.1:50000".parse().unwrap(), "10.77.0.2:443".parse().unwrap());
        let earlier = "10.77.0.1:49999".parse().unwrap();
        let mut counter = Counter::new(server);
        let packets = [
            packet(server, earlier, 9, 0x10, b"late"),
            packet(client, server, 7, 0x02, b""),
            packet(earlier, server, 8, 0x10, b"late"),
            packet(server, client, 50, 0x12, b""),
            packet(client, server, 8, 0x10, b"hello"),
            packet(client, server, 8, 0x10, b"hello"),
        ];
        for packet in &packets {
            counter.pass(&Segment::read(packet).unwrap(), packet.len(), Duration::ZERO);
        }
        let headers = 24 + 28;
        let forth = Packets { count: 3, ip: 3 * headers + 10, payload: 10 };
        assert_eq!(counter.from_client, forth);
        assert_eq!(counter.from_server, Packets { count: 1, ip: headers, payload: 0 });
        assert_eq!(counter.client(), Some(client));
    }
}
