//! What processes have used.

use std::fs;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::Failure;

/// The processor time of a process, user and system, with that of its threads that have ended.
pub(crate) fn processor_time(process: u32) -> Result<Duration, Failure> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(process.try_into()?))?;
    Ok(clock_gettime(clock)?.into())
}

/// The resident memory of a process, in bytes.
pub(crate) fn resident(process: u32) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}
