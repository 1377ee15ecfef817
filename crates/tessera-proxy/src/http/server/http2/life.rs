//! The lifetime of a connection: timers, PING, and its end.

use std::task::{Context, Poll};
use std::time::Duration;

use h2::{Ping, PingPong};
use tokio::time::Instant;

use crate::http::deadline::after;
use crate::http::server::alarm::{Alarm, tick};
use crate::http::server::{Cause, ServerOptions};

/// The time limit for the final GOAWAY to be sent.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

pub(super) struct Life {
    alarm: Alarm,
    tick: Duration,
    pings: Option<Pings>,
    /// Whether a request came since the last check.
    was_used: bool,
    idle_since: Instant,
    ending: Option<Ending>,
}

struct Ending {
    cause: Cause,
    at: Instant,
}

/// Whether the connection continues.
pub(super) enum Next {
    Live,
    /// It is idle: send GOAWAY.
    Leave,
    Over(Cause),
}

impl Life {
    pub(super) fn new(pings: Option<PingPong>, options: &ServerOptions) -> Self {
        let now = Instant::now();
        let pings = pings.zip(options.keep_alive).map(|(pings, keep_alive)| Pings {
            pings,
            interval: keep_alive.interval,
            timeout: keep_alive.timeout,
            sent: None,
            due: after(now, keep_alive.interval),
        });
        let tick = tick(options);
        let alarm = Alarm::at(after(now, tick));
        Self { alarm, tick, pings, was_used: false, idle_since: now, ending: None }
    }

    pub(super) fn request(&mut self, now: Instant) {
        self.was_used = true;
        self.alarm.no_later_than(now + self.tick);
    }

    /// Notes the end of a tunnel: while there are only tunnels, checks are rare.
    pub(super) fn tunnel_ended(&mut self, now: Instant) {
        self.idle_since = now;
    }

    /// Ready when it is time to check.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(pings) = &mut self.pings {
            pings.poll(cx);
        }
        self.alarm.poll(cx)
    }

    pub(super) fn look_around(
        &mut self,
        now: Instant,
        under_way: usize,
        tunnels: usize,
        options: &ServerOptions,
    ) -> Next {
        let open = under_way + tunnels;
        // Until it has seen the GOAWAY, a client may send requests (RFC 9113 §6.8): they keep their own limits.
        if open > 0 && self.is_idle_end() {
            self.end_idle(options);
        }
        if let Some(ending) = self.ending.take_if(|ending| now >= ending.at) {
            return Next::Over(match ending.cause {
                Cause::Drained { .. } => Cause::Drained { cut: open },
                cause => cause,
            });
        }
        if let Some(pings) = &mut self.pings
            && !pings.look_around(now)
        {
            return Next::Over(Cause::NoPong);
        }
        if (open > 0) | std::mem::take(&mut self.was_used) {
            self.idle_since = now;
        }
        let idle_until = after(self.idle_since, options.idle_time);
        let leaves = self.ending.is_none() && now >= idle_until;
        if leaves {
            self.end_idle(options);
        }
        let mut due = if under_way > 0 { now + self.tick } else { idle_until };
        if let Some(ending) = &self.ending {
            due = if under_way > 0 { due.min(ending.at) } else { ending.at };
        }
        if let Some(pings) = &self.pings {
            due = due.min(pings.due);
        }
        self.alarm.set(due);
        if leaves { Next::Leave } else { Next::Live }
    }

    /// Ends the connection within `limit` from now.
    pub(super) fn end(&mut self, cause: Cause, limit: Duration) {
        let at = after(Instant::now(), limit);
        self.alarm.no_later_than(at);
        self.ending = Some(Ending { cause, at });
    }

    /// Ends it once it has no requests and the client has seen the GOAWAY, for which it has at least [`LAST_WORDS`].
    fn end_idle(&mut self, options: &ServerOptions) {
        self.end(Cause::Idle, options.drain_time.max(LAST_WORDS));
    }

    fn is_idle_end(&self) -> bool {
        matches!(&self.ending, Some(Ending { cause: Cause::Idle, .. }))
    }

    /// Whether it can still be drained: it isn't already ending, or only once it has no requests.
    pub(super) fn may_drain(&self) -> bool {
        self.ending.is_none() || self.is_idle_end()
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(&self.ending, Some(Ending { cause: Cause::RapidReset, .. }))
    }

    /// Returns the reason if it was already ending.
    pub(super) fn cause(&mut self) -> Option<Cause> {
        self.ending.take().map(|ending| ending.cause)
    }
}

struct Pings {
    pings: PingPong,
    interval: Duration,
    timeout: Duration,
    sent: Option<Instant>,
    due: Instant,
}

impl Pings {
    fn poll(&mut self, cx: &mut Context<'_>) {
        // The connection itself reports an error.
        if self.sent.is_some() && self.pings.poll_pong(cx).is_ready() {
            self.sent = None;
            self.due = after(Instant::now(), self.interval);
        }
    }

    /// Returns whether the client is still alive, as far as is known.
    fn look_around(&mut self, now: Instant) -> bool {
        if now < self.due {
            return true;
        }
        if self.sent.is_some() {
            return false;
        }
        if self.pings.send_ping(Ping::opaque()).is_ok() {
            self.sent = Some(now);
        }
        self.due = after(now, self.timeout);
        true
    }
}
