//! The resources that processes have used.

use std::fs;
use std::io::{Error, Result};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

/// Returns the processor time of a process, user and system, with that of its threads that have ended.
///
/// # Errors
/// If there is no such process.
pub fn processor_time(process: u32) -> Result<Duration> {
    let clock =
        ClockId::pid_cpu_clock_id(Pid::from_raw(process.try_into().map_err(Error::other)?))?;
    Ok(clock_gettime(clock)?.into())
}

/// Returns the resident memory of a process, in bytes.
///
/// # Errors
/// If there is no such process.
pub fn resident(process: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or_else(|| Error::other("no VmRSS"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().map_err(Error::other)?;
    Ok(kilobytes * 1024)
}
