//! The clocks of a measurement.
//!
//! Both processes of an experiment run on one machine and read the same monotonic clock, so a
//! moment at the server can be counted from one at the client.

use std::io;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use nix::time::{ClockId, clock_gettime};

/// Returns the present time on the clock that all processes of the machine share.
pub(crate) fn monotonic() -> io::Result<Duration> {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Returns how much processor time the calling thread has used.
pub(crate) fn thread_cpu() -> io::Result<Duration> {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns how much two readings of [`thread_cpu`] measure of themselves, with nothing between them: the median of
/// many. Each is a system call, and takes longer than an HMAC.
pub(crate) fn thread_cpu_cost() -> Duration {
    static COST: OnceLock<Duration> = OnceLock::new();
    *COST.get_or_init(|| {
        let mut costs: Vec<_> = (0..1001)
            .map(|_| {
                let started = thread_cpu().unwrap_or_default();
                thread_cpu().unwrap_or_default().saturating_sub(started)
            })
            .collect();
        costs.sort_unstable();
        costs[costs.len() / 2]
    })
}

/// Returns how much processor time this process has used, the kernel's work for it included.
pub(crate) fn process_cpu() -> io::Result<Duration> {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the present time for the engine.
pub(crate) fn engine_time() -> io::Result<tessera::Time> {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok();
    Ok(tessera::Time { monotonic: monotonic()?, unix })
}

/// The clock of a client's engine. If the machine has none, nothing is checked.
#[derive(Debug)]
pub(crate) struct MachineClock;

impl tessera::Clock for MachineClock {
    fn now(&self) -> tessera::Time {
        let never = tessera::Time { monotonic: Duration::ZERO, unix: None };
        engine_time().unwrap_or(never)
    }
}

fn read(clock: ClockId) -> io::Result<Duration> {
    Ok(clock_gettime(clock)?.into())
}
