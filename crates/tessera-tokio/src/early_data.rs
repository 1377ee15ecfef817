//! A client's early data: how it is written, and what became of it.

use std::fmt;
use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};

use tessera::EarlyDataStatus;
use tessera::resume::{FlightHandle, Verdict};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::driver::Goal;
use crate::error::wrap;
use crate::machine::CHUNK;
use crate::stream::ClientStream;
use crate::wakers::Half;

/// What became of a handshake with early data. `S` is the stream if the method returns one, or `()` if the
/// caller already has it.
///
/// Early data whose connection failed may have been executed, and a retry may execute it twice. Therefore
/// this is no `Result`, and `?` does not compile:
///
/// ```compile_fail,E0277
/// # use tessera::Destination;
/// # use tessera_tokio::{ClientStream, Connector};
/// # use tokio::net::TcpStream;
/// # async fn ask(
/// #     connector: Connector,
/// #     destination: Destination,
/// #     socket: TcpStream,
/// # ) -> std::io::Result<()> {
/// connector.connect_with_early_data(destination, socket, b"question").await?;
/// # Ok(())
/// # }
/// ```
///
/// Treat unknown variants as early data that may have been executed.
#[non_exhaustive]
#[must_use = "early data may have been executed: only the outcome shows whether it may be sent again"]
pub enum EarlyData<S = ()> {
    /// Nothing of it was sent: there was no ticket for it, or the connection failed before. It may be sent
    /// after the handshake, or elsewhere.
    NotSent(io::Result<S>),
    /// The server took this many bytes, from the beginning; write the rest as ordinary data. Under a
    /// forward-secret ticket no other server takes them too. From here on, any error of the stream may be
    /// that of a request that was executed.
    #[non_exhaustive]
    Accepted {
        /// The stream.
        stream: S,
        /// Number of bytes taken.
        count: usize,
        /// The flight's name, if its ticket was forward-secret.
        flight: Option<FlightHandle>,
    },
    /// The server did not take it. The verdict determines whether it may be sent again.
    #[non_exhaustive]
    Rejected {
        /// The stream: to send the data again where allowed, or for something else.
        stream: S,
        /// Whether it may be sent again.
        verdict: Verdict,
        /// The flight's name, if its ticket was forward-secret.
        flight: Option<FlightHandle>,
    },
    /// The connection failed after some of it may have been sent.
    #[non_exhaustive]
    Failed {
        /// The cause.
        error: io::Error,
        /// What is known; without an answer the verdict is [`Verdict::Unknown`].
        outcome: EarlyDataOutcome,
    },
}

/// Omits the stream.
impl<S> fmt::Debug for EarlyData<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(result) => {
                f.debug_tuple("NotSent").field(&result.as_ref().map(|_| ())).finish()
            }
            Self::Accepted { count, flight, .. } => {
                let mut accepted = f.debug_struct("Accepted");
                accepted.field("count", count).field("flight", flight).finish_non_exhaustive()
            }
            Self::Rejected { verdict, flight, .. } => {
                let mut rejected = f.debug_struct("Rejected");
                rejected.field("verdict", verdict).field("flight", flight).finish_non_exhaustive()
            }
            Self::Failed { error, outcome } => {
                f.debug_struct("Failed").field("error", error).field("outcome", outcome).finish()
            }
        }
    }
}

impl EarlyData {
    /// Adds the stream that it came from.
    pub(crate) fn with<S>(self, stream: S) -> EarlyData<S> {
        match self {
            Self::NotSent(result) => EarlyData::NotSent(result.map(|()| stream)),
            Self::Accepted { count, flight, .. } => EarlyData::Accepted { stream, count, flight },
            Self::Rejected { verdict, flight, .. } => {
                EarlyData::Rejected { stream, verdict, flight }
            }
            Self::Failed { error, outcome } => EarlyData::Failed { error, outcome },
        }
    }
}

/// What is known of a stream's early data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "early data may have been executed: only the outcome shows whether it may be sent again"]
pub struct EarlyDataOutcome {
    /// How many bytes may have been sent, from the beginning: at most this many. 0 if none were.
    pub sent: usize,
    /// How many of them the server took: all or none. None as long as there is no answer, or an unproven one.
    pub accepted: usize,
    /// Whether what was sent may be sent again; [`Verdict::Unknown`] as long as there is no answer. `None` if
    /// nothing was sent, or if it was accepted.
    pub verdict: Option<Verdict>,
    /// The name of the flight that was sent, if its ticket was forward-secret: a later connection can ask for
    /// its receipt ([`Destination::ask_receipts`](tessera::Destination::ask_receipts)).
    pub flight: Option<FlightHandle>,
    /// It was rejected, and a [`FirstFlight`](crate::FirstFlight) has begun to send it once more as ordinary
    /// data, which the verdict does not cover.
    pub sent_again: bool,
}

impl EarlyDataOutcome {
    /// Returns whether sending the data again can't execute it twice: nothing was sent, or it was burned and
    /// not sent again since.
    pub fn may_be_sent_again(&self) -> bool {
        self.sent == 0 || self.verdict == Some(Verdict::Burned) && !self.sent_again
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> ClientStream<IO> {
    /// Performs the handshake with early data in the first flight, as
    /// [`connect_with_early_data`](crate::Connector::connect_with_early_data) does. For a stream that was
    /// just [started](crate::Connector::start).
    ///
    /// Dropping the future loses nothing: [`early_data`](Self::early_data) returns what is known. The
    /// handshake then continues with [`handshake`](Self::handshake), or with reading; a second call would
    /// write the data again.
    pub async fn handshake_with_early_data(&mut self, data: &[u8]) -> EarlyData {
        let before = self.facts().early_data_written;
        let result = self.try_handshake_with_early_data(data).await;
        let count = self.facts().early_data_written - before;
        if result.is_err() {
            self.withdraw_early_data();
        }
        let outcome = self.early_data();
        match (result, outcome) {
            (result, EarlyDataOutcome { sent: 0, .. }) => EarlyData::NotSent(result),
            (Err(error), outcome) => EarlyData::Failed { error, outcome },
            (Ok(()), EarlyDataOutcome { verdict: None, flight, .. }) => {
                EarlyData::Accepted { stream: (), count, flight }
            }
            (Ok(()), EarlyDataOutcome { verdict: Some(verdict), flight, .. }) => {
                EarlyData::Rejected { stream: (), verdict, flight }
            }
        }
    }

    /// Drops data not yet sent, after a failure: the caller may send it elsewhere.
    pub(crate) fn withdraw_early_data(&mut self) {
        if !self.has_early_data_left() {
            let output = &mut self.driver.machine.output;
            output.consume(output.as_slice().len());
            self.early_data_from = None;
        }
    }

    async fn try_handshake_with_early_data(&mut self, data: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < data.len() {
            match self.write_early(&data[written..]).await? {
                0 => break,
                count => written += count,
            }
        }
        self.handshake().await
    }

    /// Returns what is known of the early data now: during the handshake, after it, and after it failed or
    /// its future was dropped. Data written but not yet sent is sent with the next use of the stream,
    /// shutdown included, and counts as sent.
    ///
    /// ```
    /// use std::io;
    /// use std::time::Duration;
    /// use tessera::Destination;
    /// use tessera_tokio::{Connector, EarlyDataOutcome};
    /// use tokio::net::TcpStream;
    /// use tokio::time::timeout;
    ///
    /// /// Waits no longer than it likes, and knows all the same.
    /// async fn ask(
    ///     connector: &Connector,
    ///     destination: Destination,
    ///     socket: TcpStream,
    ///     question: &[u8],
    /// ) -> io::Result<EarlyDataOutcome> {
    ///     // Nothing is sent yet.
    ///     let mut stream = connector.start(destination, socket).await?;
    ///     let limit = Duration::from_millis(300);
    ///     let _in_time = timeout(limit, stream.handshake_with_early_data(question)).await;
    ///     Ok(stream.early_data())
    /// }
    /// ```
    pub fn early_data(&self) -> EarlyDataOutcome {
        let facts = self.facts();
        let is_accepted = facts.early_data == EarlyDataStatus::Accepted;
        // Even shutting the stream down sends what waits in it.
        let waits = self.early_data_from.is_some() && self.driver.socket.check_writable().is_ok();
        let written = facts.early_data_written;
        if written == 0 || !(is_accepted || waits || self.has_early_data_left()) {
            return EarlyDataOutcome::default();
        }
        EarlyDataOutcome {
            sent: written,
            accepted: if is_accepted { written } else { 0 },
            // Unknown, whatever a later version of the engine reports.
            verdict: (!is_accepted).then(|| facts.early_data.verdict().unwrap_or(Verdict::Unknown)),
            flight: facts.flight,
            sent_again: false,
        }
    }

    fn has_early_data_left(&self) -> bool {
        let handed_over = self.driver.socket.handed_over;
        self.early_data_from.is_some_and(|from| handed_over > from)
    }

    /// Writes early data before the handshake is complete; returns how many bytes were taken. That is 0 if
    /// there was no ticket for early data, if its limit is reached or if the server has answered.
    ///
    /// Bytes taken are sent once and never resent automatically. [`early_data`](Self::early_data) reports
    /// what became of them: when the handshake is complete, and also if this or any later call fails. Early
    /// data must be self-delimiting: if an attacker on the path holds the rest back, a prefix may be
    /// executed.
    pub async fn write_early(&mut self, data: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_write_early(Half::Write, data, cx)).await
    }

    pub(crate) fn poll_write_early(
        &mut self,
        half: Half,
        data: &[u8],
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        loop {
            self.check_writable()?;
            let handed_over = self.driver.socket.handed_over;
            let machine = &mut *self.driver.machine;
            let mut written = 0;
            while written < data.len() && machine.has_room() {
                let chunk = &data[written..data.len().min(written + CHUNK)];
                let output = &mut machine.output;
                let from = handed_over + output.as_slice().len() as u64;
                let count = machine.connection.write_early_data(chunk, output).map_err(wrap)?;
                if count == 0 {
                    break;
                }
                written += count;
                self.early_data_from.get_or_insert(from);
            }
            let is_over = data.is_empty() || machine.connection.early_data_room() == 0;
            if written > 0 || is_over {
                // The ClientHello and the early data leave together.
                let _ = self.driver.poll_send(half, cx);
                return Poll::Ready(Ok(written));
            }
            let driven = self.driver.poll_handshake(half, Goal::Complete, cx)?;
            if driven.is_pending() && !self.driver.machine.has_room() {
                return Poll::Pending;
            }
        }
    }
}
