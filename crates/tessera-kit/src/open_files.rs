//! The limit of open files.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit of open files as far as the user may; returns the new limit.
pub fn raise() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 1024 };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() {
        return hard;
    }
    soft
}
