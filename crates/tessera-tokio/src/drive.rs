//! What makes a connection go on: the engine, the bytes' way, answers and time, together.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tessera::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Sleep, sleep, sleep_until};

use crate::error::wrap;
use crate::link::Link;
use crate::machine::{Machine, Step};
use crate::side::Side;
use crate::wakers::Half;

/// A connection over a stream.
pub(crate) struct Driver<IO, S: Side> {
    pub(crate) link: Link<IO>,
    pub(crate) machine: Box<Machine<S>>,
    /// Runs while the handshake does, and again while a last alert is sent.
    timer: Option<Pin<Box<Sleep>>>,
    goodbye: Goodbye,
    noticed_completion: bool,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Plaintext, or the end of it.
    Data,
    /// Application data can be written: on a server before the handshake is complete.
    Writable,
    /// The handshake is complete.
    Complete,
}

/// The end after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goodbye {
    NotBegun,
    /// The alert is on its way.
    Sending,
    /// The peer may be sending still. So many bytes of it were passed over.
    Listening(usize),
    Said,
}

impl<IO: AsyncRead + AsyncWrite + Unpin, S: Side> Driver<IO, S> {
    pub(crate) fn new(io: IO, machine: Machine<S>) -> Self {
        let (link, machine) = (Link::new(io), Box::new(machine));
        let goodbye = Goodbye::NotBegun;
        Self { link, machine, timer: None, goodbye, noticed_completion: false }
    }

    /// Goes on until the goal is reached, there is plaintext, or the peer has closed.
    pub(crate) fn poll_drive(
        &mut self,
        half: Half,
        goal: Goal,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Step>> {
        loop {
            if !self.machine.complete {
                self.link.register(half, cx);
            }
            if self.machine.is_late() {
                self.take_what_is_here(cx);
            }
            let step = match self.machine.advance() {
                Ok(step) => step,
                Err(error) => return self.poll_goodbye(half, error, cx).map(Err),
            };
            self.notice_completion(half);
            // Nobody waits for sending before receiving: two peers that did so would wait for each
            // other.
            let sending = self.poll_send(half, cx);
            if self.has_reached(goal) || matches!(step, Step::Plain | Step::PeerClosed) {
                return Poll::Ready(Ok(step));
            }
            let goes_on = match step {
                Step::OutputFull => sending.is_ready(),
                Step::Waiting => self.poll_answer().is_ready(),
                _ => match self.poll_receive(cx) {
                    Poll::Ready(Ok(0)) => {
                        // Whether it may end here the engine knows; a failure comes with the next
                        // round.
                        if self.machine.end_of_stream().is_ok() {
                            return Poll::Ready(Ok(Step::PeerClosed));
                        }
                        true
                    }
                    Poll::Ready(Ok(_)) => true,
                    Poll::Ready(Err(error)) => {
                        // The other half finds its own.
                        self.link.wake_all();
                        return Poll::Ready(Err(error));
                    }
                    Poll::Pending => false,
                },
            };
            // The engine says itself that the time is over.
            if !goes_on && self.poll_deadline().is_pending() {
                self.machine.release();
                return Poll::Pending;
            }
        }
    }

    /// Whoever waited for the end of the handshake goes on.
    pub(crate) fn notice_completion(&mut self, half: Half) {
        if self.machine.complete && !self.noticed_completion {
            self.noticed_completion = true;
            self.timer = None;
            self.link.wake_other(half);
        }
    }

    fn has_reached(&mut self, goal: Goal) -> bool {
        match goal {
            Goal::Data => false,
            Goal::Writable => self.machine.complete || self.machine.is_writable(),
            Goal::Complete => self.machine.complete,
        }
    }

    /// Drives the handshake to a goal; plaintext that comes on the way is kept for later.
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
                    // A reader that waits has something to read.
                    self.link.wake_all();
                }
                // The engine doesn't say so; if it did, nothing would come any more.
                Step::PeerClosed if !self.machine.complete => {
                    return Poll::Ready(Err(wrap(Error::Truncated)));
                }
                _ => (),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what is in the output.
    pub(crate) fn poll_send(&mut self, half: Half, cx: &Context<'_>) -> Poll<()> {
        if !self.link.has_to_send(&self.machine.output) {
            return Poll::Ready(());
        }
        self.link.register(half, cx);
        self.link.poll_send(&mut self.machine.output)
    }

    fn poll_receive(&mut self, cx: &Context<'_>) -> Poll<io::Result<usize>> {
        // Both halves may drive a handshake; after it only the reader reads.
        let both = self.link.waker();
        let waker = if self.machine.complete { cx.waker() } else { &both };
        self.link.poll_receive(waker, &mut self.machine.input)
    }

    /// A task that was polled late takes what came in time before the engine says that time is over.
    /// A failure or the end of the stream is found again by whoever receives next.
    fn take_what_is_here(&mut self, cx: &mut Context<'_>) {
        let _ = self.poll_answer();
        while self.machine.input.plain().is_empty() && !self.machine.input.is_large() {
            if !matches!(self.poll_receive(cx), Poll::Ready(Ok(1..))) {
                break;
            }
        }
    }

    fn poll_answer(&mut self) -> Poll<()> {
        let waker = self.link.waker();
        if let Some(pending) = &mut self.machine.pending {
            let answer = ready!(pending.as_mut().poll(&mut Context::from_waker(&waker)));
            self.machine.pending = None;
            // A failure comes with the next round.
            let _ = self.machine.give(answer);
        }
        Poll::Ready(())
    }

    fn poll_deadline(&mut self) -> Poll<()> {
        let Some(deadline) = self.machine.deadline() else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        timer.as_mut().poll(&mut Context::from_waker(&self.link.waker()))
    }

    /// Sends the alert, ends this side's direction and waits for the peer's end, as well as can be done
    /// in a short time; then gives the error.
    pub(crate) fn poll_goodbye(
        &mut self,
        half: Half,
        error: Error,
        cx: &mut Context<'_>,
    ) -> Poll<io::Error> {
        if self.goodbye == Goodbye::NotBegun {
            self.goodbye = Goodbye::Sending;
            self.timer = None;
        }
        if self.goodbye != Goodbye::Said {
            self.link.register(half, cx);
            let said = self.poll_last_words(error.alert().is_some()).is_ready();
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(GOODBYE)));
            let waker = self.link.waker();
            let timer = timer.as_mut();
            if !said && timer.poll(&mut Context::from_waker(&waker)).is_pending() {
                return Poll::Pending;
            }
            self.goodbye = Goodbye::Said;
            self.timer = None;
            self.link.wake_all();
        }
        Poll::Ready(wrap(error))
    }

    /// A socket that is closed with unread bytes resets its connection, and a peer that is still
    /// sending then loses the alert (RFC 9112 §9.6 tells the same of HTTP): so what comes after it is
    /// read and passed over.
    fn poll_last_words(&mut self, has_alert: bool) -> Poll<()> {
        if self.goodbye == Goodbye::Sending {
            ready!(self.link.poll_send(&mut self.machine.output));
            let ended = ready!(self.link.poll_shutdown());
            if !has_alert || ended.is_err() || self.link.check_writable().is_err() {
                return Poll::Ready(());
            }
            self.goodbye = Goodbye::Listening(0);
        }
        while let Goodbye::Listening(passed_over @ ..PASSED_OVER) = self.goodbye {
            match ready!(self.link.poll_pass_over()) {
                Ok(count @ 1..) => self.goodbye = Goodbye::Listening(passed_over + count),
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

/// How long a last alert may wait for a peer that doesn't read, or doesn't end.
const GOODBYE: Duration = Duration::from_secs(1);

/// How many bytes of a peer that goes on sending are passed over: more than the kernels at both ends
/// hold at their usual limits (Linux: 4 MiB to send, 6 MiB received).
const PASSED_OVER: usize = 12 * 1024 * 1024;
