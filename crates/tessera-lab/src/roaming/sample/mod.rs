//! The measurements of one reconnection.

pub(super) mod columns;

use serde::{Deserialize, Serialize};

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
/// from the client's beginning to the response, which includes it once, is `response_us` without `tcp_us`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// The paper's sending latency.
    pub(crate) send_us: Option<f64>,
    /// The paper's receiving latency.
    pub(crate) receive_us: Option<f64>,
    /// connect() returned; absent in memory. This and the next three count from the client's beginning: from before
    /// connect(), if there is one.
    pub(crate) tcp_us: Option<f64>,
    /// The server's application held the first byte of an accepted request.
    pub(crate) first_byte_us: Option<f64>,
    /// The client's handshake was complete.
    pub(crate) handshake_us: Option<f64>,
    /// The client's application held the response.
    pub(crate) response_us: Option<f64>,
    /// The time in the client's calls of the engine: processor time; in memory wall-clock time, which is the same if
    /// nothing waits.
    pub(crate) client_engine_us: Option<f64>,
    /// In the server's calls of the engine.
    pub(crate) server_engine_us: Option<f64>,
    /// Processor time of the client's process, including the kernel's work for it; absent if both ends are one process.
    pub(crate) client_cpu_us: Option<f64>,
    /// Processor time of the server's process.
    pub(crate) server_cpu_us: Option<f64>,
}
