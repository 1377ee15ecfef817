//! This machine, and this program's revision.

use std::{fs, thread};

use nix::sys::utsname::uname;
use tessera_reports::Machine;

/// Returns this machine.
pub(crate) fn this_machine() -> Machine {
    let kernel = uname().ok().map(|names| {
        format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy())
    });
    Machine {
        cpu: cpu().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        cores: thread::available_parallelism().map_or(1, usize::from),
        kernel: kernel.unwrap_or_else(|| std::env::consts::OS.to_owned()),
    }
}

/// Returns the source revision of this program, if it was built with `TESSERA_REVISION`.
pub(crate) fn revision() -> Option<&'static str> {
    option_env!("TESSERA_REVISION").filter(|revision| !revision.is_empty())
}

fn cpu() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}
