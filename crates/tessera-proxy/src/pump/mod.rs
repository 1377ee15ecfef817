//! Carries bytes between two streams, both ways, and holds no buffer while idle.

mod direction;
mod last_words;
pub(crate) mod scratch;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::coop;

use self::direction::{Direction, Step};
use self::last_words::LastWords;
use self::scratch::Scratch;

/// Carries bytes between `a` and `b`, both ways, until both have ended or one fails.
///
/// - When one side ends its direction, the other is shut down for writing, and the opposite direction continues: a
///   half-closed connection stays half-closed.
/// - When a side fails, the other is not shut down, because that would look like a regular end. The caller must signal
///   the failure: reset a TCP connection, or drop a TLS stream, whose peer then misses close_notify. Pass `&mut` of the
///   streams to keep them.
/// - A side that accepts no more may have sent the reason: what it sent is delivered before the end, see
///   [`End::EndedEarly`].
/// - Bytes are read when available, into a buffer shared by the thread's connections. Only what the other side didn't
///   accept is kept, at most [`MAX_KEPT`] bytes for each direction, and until it is written nothing more is read: a
///   slow side slows the other down. These buffers are wiped.
/// - Time-outs are up to the streams: without them, a side that stalls forever blocks the pump forever.
/// - Dropping the future loses what was read and not yet written, and leaves the streams as they are.
///
/// ```
/// use tessera_proxy::pump::{End, pump};
/// use tokio::net::TcpStream;
///
/// async fn forward(mut client: TcpStream, mut backend: TcpStream) {
///     let pumped = pump(&mut client, &mut backend).await;
///     if let End::Failed { .. } = pumped.end {
///         // Both: neither is to take what it got for the whole.
///         let _ = client.set_zero_linger();
///         let _ = backend.set_zero_linger();
///     }
/// }
/// ```
pub fn pump<A, B>(a: A, b: B) -> Pump<A, B>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    Pump { a, b, state: State::default(), last_words: None }
}

/// The future of [`pump`]. An `async fn` would reserve room for everything twice.
#[must_use = "futures do nothing unless they are polled"]
pub struct Pump<A, B> {
    a: A,
    b: B,
    state: State,
    /// Set after an early end, while the side that still sends is being read.
    last_words: Option<Box<LastWords>>,
}

impl<A, B> Pump<A, B> {
    /// Returns how many bytes were carried so far, both ways.
    pub fn carried(&self) -> u64 {
        self.state.a_to_b.count.saturating_add(self.state.b_to_a.count)
    }

    /// Returns the two streams.
    pub fn streams(&mut self) -> (&mut A, &mut B) {
        (&mut self.a, &mut self.b)
    }
}

impl<A, B> Future for Pump<A, B>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    type Output = PumpSummary;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<PumpSummary> {
        let Self { a, b, state, last_words } = self.get_mut();
        if last_words.is_none() {
            let end = ready!(state.poll(a, b, cx));
            let End::EndedEarly { side, error } = end else {
                return Poll::Ready(state.pumped(end));
            };
            *last_words = Some(Box::new(LastWords::new(side, error)));
        }
        if let Some(words) = last_words {
            ready!(match words.ended {
                Side::A => words.poll_hear_out(b, cx),
                Side::B => words.poll_hear_out(a, cx),
            });
        }
        match last_words.take() {
            Some(words) => Poll::Ready(state.pumped(words.end())),
            None => Poll::Pending,
        }
    }
}

/// The result of a [`pump`].
#[derive(Debug)]
pub struct PumpSummary {
    /// Bytes from `a` that `b` accepted.
    pub a_to_b: u64,
    /// Bytes from `b` that `a` accepted.
    pub b_to_a: u64,
    /// How it ended.
    pub end: End,
}

/// How a [`pump`] ended.
#[derive(Debug)]
pub enum End {
    /// Both sides ended their directions, and each was shut down in turn.
    Closed {
        /// The side that ended its direction first.
        first: Side,
    },
    /// This side ended its direction, and didn't accept all that the other sent. The other was shut down; what it still
    /// sent was read and dropped, for a second at most.
    EndedEarly {
        /// The side that ended.
        side: Side,
        /// Why writing to it failed.
        error: io::Error,
    },
    /// This side failed. The other doesn't know it yet: the caller must signal it, see [`pump`].
    Failed {
        /// The side that failed.
        side: Side,
        /// The operation that failed.
        doing: PumpOperation,
        /// The error.
        error: io::Error,
    },
}

/// One of the two streams of a [`pump`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// An operation of a [`pump`] on a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PumpOperation {
    /// Reading from it.
    Reading,
    /// Writing to it, or shutting it down.
    Writing,
}

/// The most bytes that a [`pump`] keeps for each direction, of those that were read and could not be written.
pub const MAX_KEPT: usize = scratch::SIZE;

/// Both directions.
#[derive(Default)]
struct State {
    a_to_b: Direction,
    b_to_a: Direction,
    first: Option<Side>,
    /// A side that can't be written to any more. The rest of its data is still read.
    deaf: Option<(Side, io::Error)>,
}

impl State {
    fn poll<A, B>(&mut self, a: &mut A, b: &mut B, cx: &mut Context<'_>) -> Poll<End>
    where
        A: AsyncRead + AsyncWrite + Unpin,
        B: AsyncRead + AsyncWrite + Unpin,
    {
        let mut scratch = Scratch::take();
        loop {
            let deaf = self.deaf_side();
            for from in [Side::A, Side::B] {
                // The data of a side that just became deaf is read in this round or the next.
                if self.deaf_side() == Some(from.other()) {
                    continue;
                }
                let was_reset = self.was_reset(from);
                let step = match from {
                    Side::A => self.a_to_b.step(a, b, was_reset, &mut scratch, cx),
                    Side::B => self.b_to_a.step(b, a, was_reset, &mut scratch, cx),
                };
                if let Some(end) = self.after(from, step) {
                    // Send what was already accepted, without waiting.
                    let _ = Pin::new(&mut *a).poll_flush(cx);
                    let _ = Pin::new(&mut *b).poll_flush(cx);
                    return Poll::Ready(end);
                }
            }
            if self.deaf_side() == deaf {
                return Poll::Pending;
            }
        }
    }

    /// Evaluates the step of the direction from this side.
    fn after(&mut self, from: Side, step: Step) -> Option<End> {
        let (this, opposite) = match from {
            Side::A => (&self.a_to_b, &self.b_to_a),
            Side::B => (&self.b_to_a, &self.a_to_b),
        };
        if self.first.is_none() && this.has_ended() {
            self.first = Some(from);
        }
        let is_deaf = self.deaf_side() == Some(from);
        match step {
            Step::Done if is_deaf => {
                let (side, error) = self.deaf.take()?;
                Some(End::EndedEarly { side, error })
            }
            Step::Done if opposite.is_done() => {
                Some(End::Closed { first: self.first.unwrap_or(from) })
            }
            Step::Waiting if !is_deaf => None,
            // A task without budget finds nothing to read, even if there is data.
            Step::Waiting if !coop::has_budget_remaining() => None,
            Step::Done | Step::Blocked => None,
            Step::Failed(fault) if self.deaf.is_none() && fault.doing == PumpOperation::Writing => {
                self.deaf = Some((from.other(), fault.error));
                None
            }
            Step::Failed(fault) if self.deaf.is_none() => {
                Some(End::Failed { side: from, doing: fault.doing, error: fault.error })
            }
            // All that it sent was read, or can't be delivered. The first failure is the reason.
            Step::Waiting | Step::Failed(_) => {
                let (side, error) = self.deaf.take()?;
                Some(End::Failed { side, doing: PumpOperation::Writing, error })
            }
        }
    }

    /// Whether this side's end is a reset. A reset without an end before it is reported only once, and a write has
    /// already received it. Reads return the earlier data, and then what looks like an end (Linux: `tcp_reset` sets
    /// EPIPE after a FIN, and ECONNRESET otherwise).
    fn was_reset(&self, side: Side) -> bool {
        let reset = io::ErrorKind::ConnectionReset;
        self.deaf.as_ref().is_some_and(|(deaf, error)| *deaf == side && error.kind() == reset)
    }

    fn pumped(&self, end: End) -> PumpSummary {
        PumpSummary { a_to_b: self.a_to_b.count, b_to_a: self.b_to_a.count, end }
    }

    fn deaf_side(&self) -> Option<Side> {
        self.deaf.as_ref().map(|(side, _)| *side)
    }
}

impl Side {
    /// Returns the opposite side.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It lives as long as its connection, and is mostly idle.
    #[test]
    fn a_pump_is_small() {
        type Both<'s> = Pump<&'s mut tokio::net::TcpStream, &'s mut tokio::net::TcpStream>;
        assert!(size_of::<Both<'_>>() <= 136, "{} bytes", size_of::<Both<'_>>());
    }
}
