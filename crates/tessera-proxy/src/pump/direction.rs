//! One direction of a pump.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite};

use super::PumpOperation;
use super::scratch::{Rest, Scratch};

/// The progress of one direction.
#[derive(Default)]
pub(super) struct Direction {
    state: State,
    /// What was read but not yet written.
    rest: Option<Rest>,
    /// Bytes written.
    pub(super) count: u64,
    /// Whether anything was written since the last flush.
    unflushed: bool,
}

#[derive(Default, PartialEq, Eq)]
enum State {
    #[default]
    Copying,
    /// Nothing more comes; the other side is being shut down.
    Ending,
    Done,
}

/// The result of a step.
#[derive(Debug)]
pub(super) enum Step {
    /// Nothing to read, and nothing left to write.
    Waiting,
    /// The other side accepts no more, or other tasks get their turn.
    Blocked,
    /// It has ended, and the other side was shut down.
    Done,
    Failed(Fault),
}

#[derive(Debug)]
pub(super) struct Fault {
    /// Reading from one side, or writing to the other.
    pub(super) doing: PumpOperation,
    pub(super) error: io::Error,
}

impl Direction {
    /// Continues until it must wait. `was_reset`: the end of the data read counts as a failure.
    pub(super) fn step<R, W>(
        &mut self,
        from: &mut R,
        to: &mut W,
        was_reset: bool,
        scratch: &mut Scratch,
        cx: &mut Context<'_>,
    ) -> Step
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        match self.poll(from, to, was_reset, scratch, cx) {
            Ok(step) => step,
            Err(fault) => {
                self.rest = None;
                Step::Failed(fault)
            }
        }
    }

    fn poll<R, W>(
        &mut self,
        from: &mut R,
        to: &mut W,
        was_reset: bool,
        scratch: &mut Scratch,
        cx: &mut Context<'_>,
    ) -> Result<Step, Fault>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut moved = 0;
        while self.state == State::Copying {
            if let Some(mut rest) = self.rest.take() {
                let written = self.write(to, rest.bytes(), cx)?;
                rest.consume(written);
                moved += written;
                if !rest.bytes().is_empty() {
                    self.rest = Some(rest);
                    return Ok(Step::Blocked);
                }
            }
            if moved >= TURN {
                cx.waker().wake_by_ref();
                return Ok(Step::Blocked);
            }
            let count = match scratch.poll_read(from, cx) {
                Poll::Pending => return self.flush(to, cx),
                Poll::Ready(Err(error)) => {
                    return Err(Fault { doing: PumpOperation::Reading, error });
                }
                Poll::Ready(Ok(0)) if was_reset => {
                    let error = io::ErrorKind::ConnectionReset.into();
                    return Err(Fault { doing: PumpOperation::Reading, error });
                }
                Poll::Ready(Ok(0)) => {
                    self.state = State::Ending;
                    break;
                }
                Poll::Ready(Ok(count)) => count,
            };
            let read = scratch.filled(count);
            let written = self.write(to, read, cx)?;
            moved += written;
            if written < count {
                self.rest = Some(Rest::new(&read[written..]));
                return Ok(Step::Blocked);
            }
        }
        if self.state == State::Ending {
            match Pin::new(to).poll_shutdown(cx) {
                Poll::Pending => return Ok(Step::Blocked),
                Poll::Ready(Err(error)) => return Err(writing(error)),
                Poll::Ready(Ok(())) => self.state = State::Done,
            }
        }
        Ok(Step::Done)
    }

    /// Writes until the other side accepts no more; returns how much it accepted.
    fn write<W: AsyncWrite + Unpin>(
        &mut self,
        to: &mut W,
        bytes: &[u8],
        cx: &mut Context<'_>,
    ) -> Result<usize, Fault> {
        let mut written = 0;
        while written < bytes.len() {
            match Pin::new(&mut *to).poll_write(cx, &bytes[written..]) {
                Poll::Pending => break,
                Poll::Ready(Ok(0)) => return Err(writing(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    written += count;
                    self.count += count as u64;
                    self.unflushed = true;
                }
                Poll::Ready(Err(error)) => return Err(writing(error)),
            }
        }
        Ok(written)
    }

    /// Flushes what was written, since there is nothing to read.
    fn flush<W: AsyncWrite + Unpin>(
        &mut self,
        to: &mut W,
        cx: &mut Context<'_>,
    ) -> Result<Step, Fault> {
        if self.unflushed {
            match Pin::new(to).poll_flush(cx) {
                Poll::Pending => return Ok(Step::Blocked),
                Poll::Ready(Err(error)) => return Err(writing(error)),
                Poll::Ready(Ok(())) => self.unflushed = false,
            }
        }
        Ok(Step::Waiting)
    }

    /// Whether the reading side has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.state != State::Copying
    }

    /// Whether the writing side was shut down too.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }
}

fn writing(error: io::Error) -> Fault {
    Fault { doing: PumpOperation::Writing, error }
}

/// After this many bytes the other direction and other tasks get their turn: a fraction of a millisecond of work.
const TURN: usize = 256 * 1024;
