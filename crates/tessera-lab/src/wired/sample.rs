//! The times and bytes of a connection over a link.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bytes::{Counter, Packets, SentBytes};
use super::{Call, EndReport};
use crate::bench::us;
use crate::error::LabError;

/// A connection. Times are from connect() on, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Until TCP was connected.
    pub(crate) tcp_us: f64,
    /// Until the client sent data, if its handshake was not complete: to a server that is authenticated implicitly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_us: Option<f64>,
    /// Until the client's handshake was complete.
    pub(crate) handshake_us: f64,
    /// Until the client had the response.
    pub(crate) response_us: f64,
    /// Processor time in calls of the engine.
    pub(crate) client_engine_us: f64,
    pub(crate) server_engine_us: f64,
    /// The bytes of each end.
    pub(crate) client: SentBytes,
    pub(crate) server: SentBytes,
}

/// The longest time in a connection, in microseconds: all time limits are far below.
pub(crate) const LONGEST_US: f64 = 3_600e6;
/// The most bytes that one end sends, with a large margin.
pub(crate) const MOST_BYTES: u64 = 1 << 30;

impl Sample {
    /// Returns that of a call, whose packets a counter saw.
    ///
    /// # Errors
    /// If the client has no response.
    pub(crate) fn of(call: &Call, counter: &Counter) -> Result<Self, LabError> {
        let since = |moment: Duration| us(moment.saturating_sub(call.started));
        let responded = call.client.responded;
        let responded = responded
            .ok_or_else(|| LabError::Connection("a connection carried nothing".to_owned()))?;
        let sent = |told: &EndReport, packets: Packets| SentBytes {
            handshake: told.handshake_sent,
            tls: told.sent,
            ip: packets.ip,
            packets: packets.count,
            payload: packets.payload,
        };
        Ok(Self {
            tcp_us: since(call.connected),
            data_us: call.client.implicit.map(since),
            handshake_us: since(call.client.complete),
            response_us: since(responded),
            client_engine_us: us(call.client.engine_cpu),
            server_engine_us: us(call.server.engine_cpu),
            client: sent(&call.client, counter.from_client),
            server: sent(&call.server, counter.from_server),
        })
    }

    /// Until the client could send data.
    pub(crate) fn sendable_us(&self) -> f64 {
        self.data_us.unwrap_or(self.handshake_us)
    }

    /// TLS records of the handshake, both directions.
    pub(crate) fn handshake_bytes(&self) -> u64 {
        self.client.handshake + self.server.handshake
    }

    /// IP packets whole, both directions.
    pub(crate) fn ip_bytes(&self) -> u64 {
        self.client.ip + self.server.ip
    }

    /// Whether TCP retransmitted.
    pub(crate) fn was_sent_again(&self) -> bool {
        [self.client, self.server].iter().any(|sent| sent.payload != sent.tls)
    }

    /// Whether the times of a connection are in order, and the bytes of each layer include those above it.
    pub(crate) fn can_be(&self) -> bool {
        let Self { tcp_us, handshake_us, response_us, client_engine_us, server_engine_us, .. } =
            *self;
        let moments = [0.0, tcp_us, self.sendable_us(), handshake_us, response_us, LONGEST_US];
        let work = [client_engine_us, server_engine_us];
        let sides = [self.client, self.server];
        moments.is_sorted()
            && work.iter().all(|us| (0.0..=LONGEST_US).contains(us))
            && sides.iter().all(|sent| {
                let layers = [1, sent.handshake, sent.tls, sent.payload, sent.ip, MOST_BYTES];
                layers.is_sorted() && sent.packets > 0
            })
    }
}
