//! Drives a connection: the engine, the socket, answers and timers.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tessera::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Sleep, sleep, sleep_until};

use crate::async_handshake::AsyncHandshake;
use crate::error::wrap;
use crate::machine::{Machine, Step};
use crate::socket::Socket;
use crate::wakers::Half;

/// A connection over a stream.
pub(crate) struct Driver<IO, S: AsyncHandshake> {
    pub(crate) socket: Socket<IO>,
    pub(crate) machine: Box<Machine<S>>,
    /// Runs during the handshake, and again while a last alert is sent.
    timer: Option<Pin<Box<Sleep>>>,
    shutdown: Shutdown,
    noticed_completion: bool,
}

/// What the caller waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Plaintext, or the end of it.
    Data,
    /// Application data can be written; on a server this is before the handshake is complete.
    Writable,
    /// The handshake is complete.
    Complete,
}

/// The shutdown after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shutdown {
    NotBegun,
    /// The alert is on its way.
    Sending,
    /// The peer may still be sending; this many of its bytes were dropped.
    Draining(usize),
    Done,
}

impl<IO: AsyncRead + AsyncWrite + Unpin, S: AsyncHandshake> Driver<IO, S> {
    pub(crate) fn new(io: IO, machine: Machine<S>) -> Self {
        let (socket, machine) = (Socket::new(io), Box::new(machine));
        let shutdown = Shutdown::NotBegun;
        Self { socket, machine, timer: None, shutdown, noticed_completion: false }
    }

    /// Drives the connection until the goal is reached, there is plaintext, or the peer has closed.
    pub(crate) fn poll_drive(
        &mut self,
        half: Half,
        goal: Goal,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Step>> {
        loop {
            if !self.machine.complete {
                self.socket.register(half, cx);
            }
            if self.machine.is_late() {
                self.receive_available(cx);
            }
            let step = match self.machine.advance() {
                Ok(step) => step,
                Err(error) => return self.poll_shutdown_after(half, error, cx).map(Err),
            };
            self.notice_completion(half);
            // Receive even while sending blocks: two peers that both sent first would deadlock.
            let sending = self.poll_send(half, cx);
            if step == Step::PeerClosed {
                // Otherwise the last input stays in memory for the lifetime of the stream.
                self.machine.release();
            }
            if self.has_reached(goal) || matches!(step, Step::Plain | Step::PeerClosed) {
                return Poll::Ready(Ok(step));
            }
            let goes_on = match step {
                Step::OutputFull => sending.is_ready(),
                Step::Waiting => self.poll_answer().is_ready(),
                _ => match self.poll_receive(cx) {
                    Poll::Ready(Ok(0)) => {
                        // The engine knows whether the stream may end here; a failure is reported in the
                        // next round.
                        if self.machine.end_of_stream().is_ok() {
                            return Poll::Ready(Ok(Step::PeerClosed));
                        }
                        true
                    }
                    Poll::Ready(Ok(_)) => true,
                    Poll::Ready(Err(error)) => {
                        // The other half finds its own result.
                        self.socket.wake_all();
                        return Poll::Ready(Err(error));
                    }
                    Poll::Pending => false,
                },
            };
            // The engine itself reports the timeout.
            if !goes_on && self.poll_deadline().is_pending() {
                self.machine.release();
                return Poll::Pending;
            }
        }
    }

    /// Wakes the half that waits for the end of the handshake.
    pub(crate) fn notice_completion(&mut self, half: Half) {
        if self.machine.complete && !self.noticed_completion {
            self.noticed_completion = true;
            self.timer = None;
            self.socket.wake_other(half);
        }
    }

    fn has_reached(&mut self, goal: Goal) -> bool {
        match goal {
            Goal::Data => false,
            Goal::Writable => self.machine.complete || self.machine.is_writable(),
            Goal::Complete => self.machine.complete,
        }
    }

    /// Drives the handshake to a goal; plaintext that arrives meanwhile is kept for later.
    pub(crate) fn poll_handshake(
        &mut self,
        half: Half,
        goal: Goal,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.has_reached(goal) {
            match ready!(self.poll_drive(half, goal, cx))? {
                Step::Plain if !self.machine.complete => {
                    self.machine.hold();
                    // A waiting reader has something to read.
                    self.socket.wake_all();
                }
                // The engine doesn't report this; if it did, nothing more would arrive.
                Step::PeerClosed if !self.machine.complete => {
                    return Poll::Ready(Err(wrap(Error::Truncated)));
                }
                _ => (),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends the output.
    pub(crate) fn poll_send(&mut self, half: Half, cx: &Context<'_>) -> Poll<()> {
        if !self.socket.has_to_send(&self.machine.output) {
            return Poll::Ready(());
        }
        self.socket.register(half, cx);
        self.socket.poll_send(&mut self.machine.output)
    }

    fn poll_receive(&mut self, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        // Both halves may drive a handshake; afterwards only the reader reads.
        let both = self.socket.waker();
        let waker = if self.machine.complete { cx.waker() } else { &both };
        self.socket.poll_receive(waker, &mut self.machine.input)
    }

    /// Receives what arrived in time, even if the task was polled late, before the engine reports the
    /// timeout. The next receive finds a failure or the end of the stream again.
    fn receive_available(&mut self, cx: &mut Context<'_>) {
        let _ = self.poll_answer();
        while self.machine.input.plain().is_empty() && !self.machine.input.is_large() {
            if !matches!(self.poll_receive(cx), Poll::Ready(Ok(1..))) {
                break;
            }
        }
    }

    fn poll_answer(&mut self) -> Poll<()> {
        let waker = self.socket.waker();
        if let Some(pending) = &mut self.machine.pending {
            let answer = ready!(pending.as_mut().poll(&mut Context::from_waker(&waker)));
            self.machine.pending = None;
            // A failure is reported in the next round.
            let _ = self.machine.give(answer);
        }
        Poll::Ready(())
    }

    fn poll_deadline(&mut self) -> Poll<()> {
        let Some(deadline) = self.machine.deadline() else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        timer.as_mut().poll(&mut Context::from_waker(&self.socket.waker()))
    }

    /// Sends the alert, ends this side's direction and waits briefly for the peer's end, as far as possible;
    /// then returns the error.
    pub(crate) fn poll_shutdown_after(
        &mut self,
        half: Half,
        error: Error,
        cx: &mut Context<'_>,
    ) -> Poll<io::Error> {
        if self.shutdown == Shutdown::NotBegun {
            self.shutdown = Shutdown::Sending;
            self.timer = None;
        }
        if self.shutdown != Shutdown::Done {
            self.socket.register(half, cx);
            let done = self.poll_alert_and_drain(error.alert().is_some()).is_ready();
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(SHUTDOWN_TIMEOUT)));
            let waker = self.socket.waker();
            let timer = timer.as_mut();
            if !done && timer.poll(&mut Context::from_waker(&waker)).is_pending() {
                return Poll::Pending;
            }
            self.shutdown = Shutdown::Done;
            self.timer = None;
            self.socket.wake_all();
        }
        Poll::Ready(wrap(error))
    }

    /// Reads and drops what arrives after the alert. Closing a socket with unread bytes resets the
    /// connection, and a peer that is still sending would lose the alert (RFC 9112 §9.6 warns of the same in
    /// HTTP).
    fn poll_alert_and_drain(&mut self, has_alert: bool) -> Poll<()> {
        if self.shutdown == Shutdown::Sending {
            ready!(self.socket.poll_send(&mut self.machine.output));
            let ended = ready!(self.socket.poll_shutdown());
            if !has_alert || ended.is_err() || self.socket.check_writable().is_err() {
                return Poll::Ready(());
            }
            self.shutdown = Shutdown::Draining(0);
        }
        while let Shutdown::Draining(drained @ ..DRAIN_LIMIT) = self.shutdown {
            match ready!(self.socket.poll_drain()) {
                Ok(count @ 1..) => self.shutdown = Shutdown::Draining(drained + count),
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

/// How long a last alert may wait for a peer that doesn't read or doesn't close.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How many bytes are dropped from a peer that keeps sending: more than the kernels at both ends buffer at
/// their usual limits (Linux: 4 MiB to send, 6 MiB received).
const DRAIN_LIMIT: usize = 12 * 1024 * 1024;
