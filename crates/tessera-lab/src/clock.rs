//! The clocks of a measurement.
//!
//! Both processes of an experiment run on one machine and read the same monotonic clock, so a
//! moment at the server can be counted from one at the client.

use std::io;
use std::time::{Duration, SystemTime};

use nix::time::{ClockId, clock_gettime};

/// Now, on the clock that all processes of the machine share.
pub(crate) fn monotonic() -> io::Result<Duration> {
    read(ClockId::CLOCK_MONOTONIC)
}

/// How much processor time the calling thread has used.
pub(crate) fn thread_cpu() -> io::Result<Duration> {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// How much processor time this process has used, the kernel's work for it included.
pub(crate) fn process_cpu() -> io::Result<Duration> {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// Now, as the engine wants to be told.
pub(crate) fn engine_time() -> io::Result<tessera::Time> {
    let unix = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok();
    Ok(tessera::Time { monotonic: monotonic()?, unix })
}

fn read(clock: ClockId) -> io::Result<Duration> {
    Ok(clock_gettime(clock)?.into())
}
