//! What a first flight keeps until it is answered for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::error::{FirstFlightError, FirstFlightFailure};
use super::request::awaits_request;
use crate::early_data::EarlyDataOutcome;
use crate::early_data_buffer::EarlyDataBuffer;

/// What was written, and how far it came.
pub(super) struct Flight {
    pub(super) state: State,
    /// The session's.
    pub(super) protocol: Option<Vec<u8>>,
    /// All that was written since the beginning; after the verdict, what is left to be sent.
    pub(super) kept: EarlyDataBuffer,
    /// How much of it the engine took as early data; 0 again once that was accepted.
    pub(super) sent: usize,
    pub(super) repeatable: bool,
    pub(super) limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

/// How far a flight came.
pub(super) enum State {
    /// Nothing has left, the ClientHello neither.
    Gathering,
    /// The ClientHello leaves, or has left, and nobody has answered.
    UnderWay,
    /// The handshake is complete. What is kept is sent as ordinary data.
    Answered,
    /// Nothing is sent any more.
    Failed(FirstFlightError),
}

impl Flight {
    pub(super) fn new(protocol: Option<Vec<u8>>) -> Self {
        Self {
            state: State::Gathering,
            protocol,
            kept: EarlyDataBuffer::default(),
            sent: 0,
            repeatable: false,
            limit: LIMIT,
            timer: None,
        }
    }

    /// Ready when it has been waited for long enough.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.limit)));
        timer.as_mut().poll(cx)
    }

    /// Ends the wait.
    pub(super) fn depart(&mut self) {
        if let State::Gathering = self.state {
            self.state = State::UnderWay;
            self.timer = None;
        }
    }

    /// Whether something was written that need not wait for more.
    pub(super) fn is_whole(&self) -> bool {
        !self.kept.bytes().is_empty() && !awaits_request(self.kept.bytes())
    }

    /// How many bytes may still be kept.
    pub(super) fn room(&self) -> usize {
        MAX_KEPT - self.kept.bytes().len().min(MAX_KEPT)
    }

    /// What the engine has not taken.
    pub(super) fn unsent(&self) -> &[u8] {
        &self.kept.bytes()[self.sent..]
    }

    /// Ends it, and wipes what it kept.
    pub(super) fn fail(&mut self, reason: FirstFlightFailure, outcome: EarlyDataOutcome) {
        self.state = State::Failed(FirstFlightError { reason, outcome });
        self.kept = EarlyDataBuffer::default();
        self.sent = 0;
    }
}

/// A program that knows what to send sends it within microseconds, and a third of a round trip over a continent
/// is no more than what a server that speaks first loses.
const LIMIT: Duration = Duration::from_millis(10);

/// What a client keeps in memory for one server at most, however much early data its ticket allows.
const MAX_KEPT: usize = 64 * 1024;
