//! What a connection costs each end's engine.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// An end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// Measures the calls of either end's engine.
pub trait Meter {
    /// Makes a call.
    fn run<R>(&mut self, end: End, engine: impl FnOnce() -> R) -> R;
}

/// Measures nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoMeter;

impl Meter for NoMeter {
    fn run<R>(&mut self, _: End, engine: impl FnOnce() -> R) -> R {
        engine()
    }
}

/// Processor time of connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// The client's.
    pub client: Duration,
    /// The server's.
    pub server: Duration,
    /// That of key pairs made ahead, for both.
    pub ahead: Duration,
}

impl Cost {
    /// Returns the average of this many connections.
    pub(crate) fn per_connection(self, connections: usize) -> Self {
        let connections = u32::try_from(connections).unwrap_or(u32::MAX);
        let Self { client, server, ahead } = self;
        Self {
            client: client / connections,
            server: server / connections,
            ahead: ahead / connections,
        }
    }
}

/// Measures the processor time of this thread, less the time to read its clock.
#[derive(Debug)]
pub struct Timer {
    /// The sums so far.
    pub cost: Cost,
    reading: Duration,
}

impl Timer {
    /// Measures how long it takes to read the clock.
    #[must_use]
    pub fn new() -> Self {
        let mut timer = Self { cost: Cost::default(), reading: Duration::ZERO };
        let mut empty: Vec<_> = (0..999)
            .map(|_| {
                timer.cost = Cost::default();
                timer.run(End::Client, || ());
                timer.cost.client
            })
            .collect();
        empty.sort_unstable();
        Self { cost: Cost::default(), reading: empty[empty.len() / 2] }
    }

    /// Returns how long something takes.
    pub(crate) fn time<R>(&self, work: impl FnOnce() -> R) -> (Duration, R) {
        let began = thread_time();
        let result = work();
        ((thread_time() - began).saturating_sub(self.reading), result)
    }
}

impl Default for Timer {
    fn default() -> Self {
        Self::new()
    }
}

impl Meter for Timer {
    fn run<R>(&mut self, end: End, engine: impl FnOnce() -> R) -> R {
        let (time, result) = self.time(engine);
        match end {
            End::Client => self.cost.client += time,
            End::Server => self.cost.server += time,
        }
        result
    }
}

/// Returns the processor time of this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("a clock of the thread");
    Duration::from(time)
}
