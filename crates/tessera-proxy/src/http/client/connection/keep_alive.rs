//! Checks whether an HTTP/2 connection is alive, and limits its lifetime.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::Context;
use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::time::{Instant, Sleep, sleep};

use super::{Connection, Standing};
use crate::http::client::PoolOptions;

/// Checks a connection periodically, with a single timer.
pub(super) struct KeepAlive<'o> {
    options: &'o PoolOptions,
    ping: Option<PingPong>,
    /// When the unanswered PING was sent.
    asked: Option<Instant>,
    /// Checks in a row that found nothing read.
    silent: u32,
    opened: Instant,
    max_age: Duration,
    /// The number of calls at the last check, and the time of the last call.
    calls: u64,
    last_call: Instant,
    /// Since when it is only finishing.
    ending: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

/// Whether to continue.
pub(super) enum Next {
    GoOn,
    GiveUp,
}

impl<'o> KeepAlive<'o> {
    pub(super) fn new(ping: Option<PingPong>, options: &'o PoolOptions) -> Self {
        let now = Instant::now();
        Self {
            options,
            ping,
            asked: None,
            silent: 0,
            opened: now,
            max_age: options.max_age.mul_f64(1.0 - fastrand::f64() / 10.0),
            calls: 0,
            last_call: now,
            ending: None,
            timer: Box::pin(sleep(options.try_next_after.min(options.keep_alive))),
        }
    }

    pub(super) fn poll(
        mut self: Pin<&mut Self>,
        connection: &Connection,
        cx: &mut Context<'_>,
    ) -> Next {
        let this = &mut *self;
        if this.asked.is_some()
            && let Some(ping) = &mut this.ping
            && ping.poll_pong(cx).is_ready()
        {
            this.asked = None;
            connection.is_suspect.store(false, Ordering::Relaxed);
        }
        while this.timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            let Some(pause) = this.look(connection, now, cx) else { return Next::GiveUp };
            this.timer.as_mut().reset(now + pause);
        }
        Next::GoOn
    }

    /// Returns the time to the next check; `None` to give up the connection.
    fn look(
        &mut self,
        connection: &Connection,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> Option<Duration> {
        let (standing, in_use) = (connection.standing(), connection.in_use());
        if connection.has_read.swap(false, Ordering::Relaxed) {
            self.silent = 0;
        } else {
            self.silent = self.silent.saturating_add(1);
        }
        if in_use > 0 || connection.calls() != self.calls {
            (self.calls, self.last_call) = (connection.calls(), now);
        }
        if standing == Standing::Retired && in_use == 0 {
            if now - *self.ending.get_or_insert(now) >= LONGEST_END {
                return None;
            }
            return Some(LONGEST_END);
        }
        let is_old =
            now - self.opened > self.max_age || connection.calls() >= self.options.max_calls;
        if is_old && standing == Standing::Ready {
            connection.grow_old();
        }
        let is_idle = now - self.last_call > self.options.idle;
        let is_over = standing == Standing::Old && in_use == 0;
        if is_over || is_idle && connection.may_close() {
            connection.retire();
            return Some(LONGEST_END);
        }
        if standing == Standing::InFlight {
            connection.stalls();
            return Some(self.options.keep_alive);
        }
        if let Some(asked) = self.asked {
            let waited = now - asked;
            if waited >= self.options.keep_alive_answer {
                let silence = io::Error::new(io::ErrorKind::TimedOut, "no answer to PING");
                connection.blame_address(silence);
                return None;
            }
            connection.is_suspect.store(true, Ordering::Relaxed);
            return Some(FIRST_DOUBT.min(self.options.keep_alive_answer - waited));
        }
        let patience = if in_use > 0 { 1 } else { 3 };
        if self.silent >= patience
            && let Some(ping) = &mut self.ping
            && ping.send_ping(Ping::opaque()).is_ok()
        {
            self.asked = Some(now);
            // Registers the waker for the answer.
            if ping.poll_pong(cx).is_ready() {
                self.asked = None;
            }
            return Some(FIRST_DOUBT.min(self.options.keep_alive_answer));
        }
        Some(self.options.keep_alive)
    }
}

/// How long without an answer until other connections are preferred.
const FIRST_DOUBT: Duration = Duration::from_secs(1);
/// The time limit for the last bytes of a connection.
const LONGEST_END: Duration = Duration::from_secs(5);
