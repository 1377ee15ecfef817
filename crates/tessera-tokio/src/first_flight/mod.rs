//! A client's stream whose first writes travel as early data, transparently to the program above.

mod error;
mod flight;
mod io;
mod request;

use std::future::poll_fn;
use std::io::Result;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tessera::resume::Verdict;
use tessera::{EarlyDataStatus, Facts};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::driver::Goal;
use crate::early_data::EarlyDataOutcome;
use crate::error::wrap;
use crate::stream::ClientStream;
use crate::wakers::Half;
pub use error::{FirstFlightError, FirstFlightFailure};
use flight::{Flight, State};

/// A client's stream whose first writes travel as early data. HTTP clients, copy loops and other programs
/// that read and write can use it unchanged. Made by
/// [`Connector::first_flight`](crate::Connector::first_flight).
///
/// Under a forward-secret ticket, data written before the server's answer goes with the ClientHello or right
/// behind it, and is kept until the verdict. Then:
///
/// | outcome | the stream |
/// |---|---|
/// | accepted | forgets it; data beyond the early data limit follows as ordinary data |
/// | `burned`, or lost as the client may read it so | sends it once more by itself |
/// | `used`, `unknown` | returns a [`FirstFlightError`] from every call; sends it once more if it is [`repeatable`](Self::repeatable) |
/// | the connection failed after it was sent | returns a [`FirstFlightError`] from every call |
/// | refused, and the server chose another application protocol | returns a [`FirstFlightError`] from every call |
///
/// Nothing is resent more than once, and nothing after an error. Without such a ticket, writing waits for the
/// end of the handshake.
///
/// **When the flight leaves.** With the first write; if that begins an HTTP/2 connection (RFC 9113 §3.4),
/// with the write that completes a request, so that preface, SETTINGS and request are one flight. Otherwise
/// 10 ms after the stream was first used ([`wait_at_most`](Self::wait_at_most)), with whatever was written:
/// if the server speaks first, reading waits that long. A read alone doesn't send it earlier, nor does a
/// flush while the request is missing. `shutdown` does, and waits for the verdict.
///
/// **What an application should know.** Early data may be executed before the handshake is complete, and if
/// an attacker on the path holds the rest back, a prefix of it may be: it must be self-delimiting, as HTTP
/// is. If the stream is dropped between flight and verdict, nothing is sent again: query
/// [`early_data`](Self::early_data) first. Data is kept in memory until the verdict, 64 KiB at most, and then
/// wiped.
///
/// ```
/// use std::io;
///
/// use tessera::Destination;
/// use tessera_tokio::{Connector, FirstFlightError};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::TcpStream;
///
/// async fn ask(connector: &Connector, question: &[u8]) -> io::Result<Vec<u8>> {
///     let socket = TcpStream::connect("server.example:443").await?;
///     let destination = Destination { server_name: "server.example".into(), ..Default::default() };
///     let mut stream = connector.first_flight(destination, socket).await?;
///     stream.write_all(question).await?;
///     stream.shutdown().await?;
///     let mut answer = Vec::new();
///     stream.read_to_end(&mut answer).await?;
///     Ok(answer)
/// }
///
/// /// Asks on another connection where that can't have it executed twice.
/// async fn insist(connector: &Connector, question: &[u8]) -> io::Result<Vec<u8>> {
///     match ask(connector, question).await {
///         Err(error) if FirstFlightError::of(&error).is_some_and(|it| it.may_be_sent_again()) => {
///             ask(connector, question).await
///         }
///         result => result,
///     }
/// }
/// ```
pub struct FirstFlight<IO> {
    stream: ClientStream<IO>,
    /// What may travel as early data; `None` once it is settled.
    flight: Option<Box<Flight>>,
    /// Some rejected data was sent again.
    sent_again: bool,
}

impl<IO: AsyncRead + AsyncWrite + Unpin> FirstFlight<IO> {
    /// Wraps a stream that was just started, with the application protocol of its session.
    pub(crate) fn new(stream: ClientStream<IO>, protocol: Option<Vec<u8>>) -> Self {
        // The program doesn't know that its data is early, so it must not be replayable.
        let carries = stream.facts().flight.is_some();
        let carries = carries && stream.driver.machine.connection.early_data_room() > 0;
        let flight = carries.then(|| Box::new(Flight::new(protocol)));
        Self { stream, flight, sent_again: false }
    }

    /// Declares that data written before the verdict may be executed twice: it is then resent once after
    /// `used` and `unknown` too. Only the owner of the requests knows that; RFC 9110 §9.2.2 calls such
    /// methods idempotent.
    ///
    /// A failed connection is still an error.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        if let Some(flight) = &mut self.flight {
            flight.repeatable = true;
        }
        self
    }

    /// Sets how long to wait for something to send, counted from the first use of the stream. Default: 10 ms.
    #[must_use]
    pub fn wait_at_most(mut self, limit: Duration) -> Self {
        if let Some(flight) = &mut self.flight {
            flight.limit = limit;
        }
        self
    }

    /// Returns whether there is a forward-secret ticket and no answer yet: data written now is sent as early
    /// data as far as the limit allows.
    pub fn carries_early_data(&self) -> bool {
        let state = self.flight.as_ref().map(|flight| &flight.state);
        matches!(state, Some(State::Gathering | State::UnderWay))
    }

    /// Returns the application protocol: the session's while the flight is in progress, then the negotiated
    /// one. If the server chooses another one, nothing is resent in it: the stream fails.
    pub fn protocol(&self) -> Option<&[u8]> {
        match &self.flight {
            Some(flight) if !self.stream.is_handshake_complete() => flight.protocol.as_deref(),
            _ => self.stream.protocol(),
        }
    }

    /// Waits until the application [`protocol`](Self::protocol) is known: at once if early data may be sent,
    /// otherwise when the handshake is complete.
    pub async fn ready(&mut self) -> Result<()> {
        match self.flight.as_ref().map(|flight| &flight.state) {
            Some(State::Failed(error)) => Err(error.to_io()),
            Some(_) => Ok(()),
            None => self.stream.handshake().await,
        }
    }

    /// Returns why the stream failed, if it did: the error that every call on either half returns.
    pub fn failure(&self) -> Option<&FirstFlightError> {
        match self.flight.as_ref().map(|flight| &flight.state) {
            Some(State::Failed(error)) => Some(error),
            _ => None,
        }
    }

    /// Returns what is known of the early data now, without data that the stream keeps and has not begun to
    /// send.
    pub fn early_data(&self) -> EarlyDataOutcome {
        match self.flight.as_ref().map(|flight| &flight.state) {
            Some(State::Failed(error)) => error.outcome(),
            _ => EarlyDataOutcome { sent_again: self.sent_again, ..self.stream.early_data() },
        }
    }

    /// Returns what is known of the connection.
    pub fn facts(&self) -> &Facts {
        self.stream.facts()
    }

    /// Returns whether what the connection depends on was withdrawn: see
    /// [`TlsStream::is_withdrawn`](crate::TlsStream::is_withdrawn).
    pub fn is_withdrawn(&self) -> bool {
        self.stream.is_withdrawn()
    }

    /// Returns the underlying stream, for its addresses or options.
    pub fn get_ref(&self) -> &IO {
        self.stream.get_ref()
    }

    /// Waits until what was written is settled, and resent if necessary.
    ///
    /// Calling it is optional: reading and writing do the same. It also ends the wait for something to send.
    pub async fn settled(&mut self) -> Result<()> {
        poll_fn(|cx| self.poll_settled(cx)).await
    }

    fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if let Some(flight) = &mut self.flight {
            flight.depart();
        }
        ready!(self.poll_verdict(Half::Write, cx))?;
        ready!(self.poll_rest(Half::Write, cx))?;
        self.stream.driver.poll_handshake(Half::Write, Goal::Complete, cx)
    }

    /// Ready when the flight is settled. What is left of it must then be sent as ordinary data.
    fn poll_verdict(&mut self, half: Half, cx: &mut Context<'_>) -> Poll<Result<()>> {
        loop {
            let Some(flight) = &mut self.flight else { return Poll::Ready(Ok(())) };
            match &flight.state {
                State::Gathering => {
                    let waker = self.stream.driver.socket.waker();
                    self.stream.driver.socket.register(half, cx);
                    ready!(flight.poll_wait(&mut Context::from_waker(&waker)));
                    flight.depart();
                }
                State::UnderWay => {
                    let _ = self.poll_send_early(half, cx);
                    let driver = &mut self.stream.driver;
                    let result = ready!(driver.poll_handshake(half, Goal::Complete, cx));
                    self.settle(result, half, cx)?;
                }
                State::Answered => return Poll::Ready(Ok(())),
                State::Failed(error) => return Poll::Ready(Err(error.to_io())),
            }
        }
    }

    /// Passes the gathered data to the engine as early data, as far as it takes it. If it takes no more, the
    /// handshake reports why.
    fn poll_send_early(&mut self, half: Half, cx: &mut Context<'_>) -> Poll<()> {
        let Some(flight) = &mut self.flight else { return Poll::Ready(()) };
        while !flight.unsent().is_empty() {
            match ready!(self.stream.poll_write_early(half, flight.unsent(), cx)) {
                Ok(count @ 1..) => flight.sent += count,
                _ => break,
            }
        }
        Poll::Ready(())
    }

    /// Decides what becomes of the flight once the handshake is complete or has failed.
    fn settle(&mut self, result: Result<()>, half: Half, cx: &mut Context<'_>) -> Result<()> {
        let Some(flight) = &mut self.flight else { return result };
        if let Err(error) = result {
            self.stream.withdraw_early_data();
            if flight.kept.bytes().is_empty() {
                self.flight = None;
                return Err(error);
            }
            let reason = FirstFlightFailure::ConnectionFailed { error: error.into() };
            flight.fail(reason, self.stream.early_data());
            return Ok(());
        }
        let facts = self.stream.facts();
        let is_accepted = facts.early_data == EarlyDataStatus::Accepted;
        let verdict = facts.early_data.verdict().unwrap_or(Verdict::Unknown);
        let reason = if is_accepted {
            let sent = std::mem::take(&mut flight.sent);
            flight.kept.consume(sent);
            None
        } else if facts.protocol != flight.protocol {
            Some(FirstFlightFailure::OtherProtocol { protocol: facts.protocol.clone() })
        } else if flight.sent == 0 || verdict == Verdict::Burned || flight.repeatable {
            None
        } else {
            Some(FirstFlightFailure::Rejected)
        };
        match reason {
            None => flight.state = State::Answered,
            Some(reason) => {
                flight.fail(reason, self.stream.early_data());
                // Close towards the server, so that it doesn't wait for data.
                let driver = &mut self.stream.driver;
                driver.machine.connection.close(&mut driver.machine.output);
                let _ = driver.poll_send(half, cx);
            }
        }
        self.stream.driver.socket.wake_other(half);
        Ok(())
    }

    /// Sends the flight's remaining data as ordinary data; forgets the flight when the engine has all of it.
    fn poll_rest(&mut self, half: Half, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(flight) = &mut self.flight else { return Poll::Ready(Ok(())) };
        if let State::Answered = flight.state {
            while !flight.kept.bytes().is_empty() {
                self.stream.check_writable()?;
                // Of an accepted flight, only what it didn't carry is left.
                self.sent_again |= flight.sent > 0;
                let machine = &mut self.stream.driver.machine;
                let count = machine.write(flight.kept.bytes()).map_err(wrap)?;
                flight.kept.consume(count);
                let sending = self.stream.driver.poll_send(half, cx);
                if count == 0 {
                    ready!(sending);
                }
            }
            self.flight = None;
            self.stream.driver.socket.wake_other(half);
        }
        Poll::Ready(Ok(()))
    }
}

/// Wraps a stream that was started, or has completed its handshake, without early data, for programs that use
/// both kinds: it sends none from here on.
impl<IO> From<ClientStream<IO>> for FirstFlight<IO> {
    fn from(stream: ClientStream<IO>) -> Self {
        Self { stream, flight: None, sent_again: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest is boxed, and freed after the verdict.
    #[test]
    fn an_idle_first_flight_costs_two_words_more_than_a_stream() {
        let words = 2 * size_of::<usize>();
        assert!(size_of::<FirstFlight<()>>() <= size_of::<ClientStream<()>>() + words);
    }
}
