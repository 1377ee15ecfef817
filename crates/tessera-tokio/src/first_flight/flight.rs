//! What a first flight keeps until it is settled.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::error::{FirstFlightError, FirstFlightFailure};
use super::request::awaits_request;
use crate::early_data::EarlyDataOutcome;
use crate::early_data_buffer::EarlyDataBuffer;

/// What was written, and how far it got.
pub(super) struct Flight {
    pub(super) state: State,
    /// The session's application protocol.
    pub(super) protocol: Option<Vec<u8>>,
    /// Everything written since the beginning; after the verdict, what is left to send.
    pub(super) kept: EarlyDataBuffer,
    /// How much of it the engine took as early data; 0 again once that was accepted.
    pub(super) sent: usize,
    pub(super) repeatable: bool,
    pub(super) limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

/// How far a flight got.
pub(super) enum State {
    /// Nothing was sent, not even the ClientHello.
    Gathering,
    /// The ClientHello is being or was sent; no answer yet.
    UnderWay,
    /// The handshake is complete. The kept data is sent as ordinary data.
    Answered,
    /// Nothing more is sent.
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

    /// Ready when the wait for data has expired.
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

    /// Returns how many more bytes may be kept.
    pub(super) fn room(&self) -> usize {
        MAX_KEPT - self.kept.bytes().len().min(MAX_KEPT)
    }

    /// Returns the bytes that the engine has not taken.
    pub(super) fn unsent(&self) -> &[u8] {
        &self.kept.bytes()[self.sent..]
    }

    /// Fails the flight, and wipes what it kept.
    pub(super) fn fail(&mut self, reason: FirstFlightFailure, outcome: EarlyDataOutcome) {
        self.state = State::Failed(FirstFlightError { reason, outcome });
        self.kept = EarlyDataBuffer::default();
        self.sent = 0;
    }
}

/// A program that knows what to send sends it within microseconds; to a program whose server speaks first,
/// the wait costs at most a third of a round trip across a continent.
const LIMIT: Duration = Duration::from_millis(10);

/// Maximum a client keeps in memory for one server, however much early data its ticket allows.
const MAX_KEPT: usize = 64 * 1024;
