//! What is kept of handshakes over datagrams.

use serde::{Deserialize, Serialize};

/// The samples of a cell: columns of one length. Bytes and packets are those of IP, lost ones included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DatagramSamples {
    /// When each end's handshake was complete, since the client began.
    pub(crate) client_us: Vec<u64>,
    pub(crate) server_us: Vec<u64>,
    /// Until all is acknowledged.
    pub(crate) client_bytes: Vec<u64>,
    pub(crate) server_bytes: Vec<u64>,
    pub(crate) client_packets: Vec<u64>,
    pub(crate) server_packets: Vec<u64>,
    /// Bytes of handshake messages that were sent again, without headers.
    pub(crate) client_resent: Vec<u64>,
    pub(crate) server_resent: Vec<u64>,
}

impl DatagramSamples {
    /// Returns how many handshakes there are.
    pub(crate) fn len(&self) -> usize {
        self.client_us.len()
    }

    /// Returns all columns.
    pub(crate) fn columns(&self) -> [&[u64]; 8] {
        let Self { client_us, server_us, client_bytes, server_bytes, .. } = self;
        let Self { client_packets, server_packets, client_resent, server_resent, .. } = self;
        [
            client_us,
            server_us,
            client_bytes,
            server_bytes,
            client_packets,
            server_packets,
            client_resent,
            server_resent,
        ]
        .map(Vec::as_slice)
    }

    /// Returns when both ends were complete, in milliseconds.
    pub(crate) fn complete_ms(&self) -> impl Iterator<Item = f64> + Clone {
        let both = self.client_us.iter().zip(&self.server_us);
        both.map(|(client, server)| *client.max(server) as f64 / 1e3)
    }

    /// Returns the bytes of both ends.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = f64> + Clone {
        sums(&self.client_bytes, &self.server_bytes)
    }

    /// Returns the packets of both ends.
    pub(crate) fn packets(&self) -> impl Iterator<Item = f64> + Clone {
        sums(&self.client_packets, &self.server_packets)
    }

    /// Returns the bytes that both ends sent again.
    pub(crate) fn resent(&self) -> impl Iterator<Item = f64> + Clone {
        sums(&self.client_resent, &self.server_resent)
    }
}

fn sums(client: &[u64], server: &[u64]) -> impl Iterator<Item = f64> + Clone {
    client.iter().zip(server).map(|(client, server)| (client + server) as f64)
}
