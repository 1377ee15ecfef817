//! The machine of a measurement.

use std::{fmt, fs, thread};

use nix::sys::utsname::uname;
use serde::{Deserialize, Serialize};

/// The machine, as far as it matters for a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
}

impl Machine {
    /// This machine.
    pub(crate) fn this() -> Self {
        let kernel = uname().ok().map(|names| {
            format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy())
        });
        Self {
            cpu: cpu().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            kernel: kernel.unwrap_or_else(|| std::env::consts::OS.to_owned()),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} cores, {}", self.cpu, self.cores, self.kernel)
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
