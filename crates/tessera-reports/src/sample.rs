//! The measurements of one reconnection.

use serde::{Deserialize, Serialize};

/// A time's name in reports, and its place in a sample.
pub(crate) type Column = (&'static str, fn(&mut Sample) -> &mut Option<f64>);

/// One reconnection, in microseconds. What was not measured is absent.
///
/// The paper (section 5.5, Fig. 8) has two latencies; here they are:
///
/// - **Sending** lasts "from when a protocol participant initiates transmission of a message until that
///   message has been fully processed by the receiving party": from the moment that the client begins TLS
///   until the server's application holds the whole request. Without early data it has the wait for the
///   server's first flight in it, after which alone the client may send; with early data it has not.
/// - **Receiving** lasts "from when an incoming message arrives at the receiver's network interface until
///   the complete response has been processed by the initiating party": from the arrival of the flight that
///   brings the request (without early data the client's second, with early data its first) at the server
///   until the client's application holds the whole response.
///
/// Both include the server's work on that flight. The paper's total is their sum, and so includes it twice; the time
/// from the client's beginning to the response, which includes it once, is `response_us` without `tcp_us`. The report of
/// `reconnect` lacks both latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The paper's sending latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_us: Option<f64>,
    /// The paper's receiving latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_us: Option<f64>,
    /// connect() returned; absent in memory. This and the next three count from the client's beginning: from before
    /// connect(), if there is one.
    pub tcp_us: Option<f64>,
    /// The server's application held the first byte of an accepted request.
    pub first_byte_us: Option<f64>,
    /// The client's handshake was complete.
    pub handshake_us: Option<f64>,
    /// The client's application held the response.
    pub response_us: Option<f64>,
    /// The time in the client's calls of the engine: processor time; in memory wall-clock time, which is the same if
    /// nothing waits.
    pub client_engine_us: Option<f64>,
    /// In the server's calls of the engine.
    pub server_engine_us: Option<f64>,
    /// Processor time of the client's process, including the kernel's work for it; absent if both ends are one process.
    pub client_cpu_us: Option<f64>,
    /// Processor time of the server's process.
    pub server_cpu_us: Option<f64>,
}

impl Sample {
    /// All of its times: the columns of `roaming`.
    pub(crate) const COLUMNS: [Column; 10] = [
        ("send_us", |it| &mut it.send_us),
        ("receive_us", |it| &mut it.receive_us),
        ("tcp_us", |it| &mut it.tcp_us),
        ("first_byte_us", |it| &mut it.first_byte_us),
        ("handshake_us", |it| &mut it.handshake_us),
        ("response_us", |it| &mut it.response_us),
        ("client_engine_us", |it| &mut it.client_engine_us),
        ("server_engine_us", |it| &mut it.server_engine_us),
        ("client_cpu_us", |it| &mut it.client_cpu_us),
        ("server_cpu_us", |it| &mut it.server_cpu_us),
    ];

    /// Returns each of its times, with the name in reports.
    pub fn times(self) -> impl Iterator<Item = (&'static str, Option<f64>)> {
        Self::COLUMNS.into_iter().map(move |(name, place)| (name, *place(&mut { self })))
    }
}
