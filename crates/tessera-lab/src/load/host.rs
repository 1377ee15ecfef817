//! The limits of the system in which a load runs.

use std::{fs, io};

use tessera_link::{End, Link};

use crate::endpoint;
use crate::error::LabError;

/// How many connections may wait to be accepted at an end of an emulated link: more than any cell has.
const WAITING: u32 = 65_535;

/// Settings of an end, in its own namespace, which ends with the link.
const SETTINGS: [(End, &str, &str); 4] = [
    (End::Server, "core/somaxconn", "65535"),
    (End::Server, "ipv4/tcp_max_syn_backlog", "65535"),
    // Users reconnect more often than the default range has ports in a minute.
    (End::Client, "ipv4/ip_local_port_range", "1024 65535"),
    (End::Client, "ipv4/tcp_tw_reuse", "1"),
];

/// Raises the limits of both ends as far as this process may. Returns how many connections may wait to be
/// accepted.
pub(super) fn prepare(link: &Link) -> Result<u32, LabError> {
    if link.emulates() {
        for (end, name, value) in SETTINGS {
            let path = format!("/proc/sys/net/{name}");
            let failed =
                || LabError::system(format!("setting {path} at the {}", endpoint::name(end)));
            let set = fs_write(link, end, path.clone(), value).map_err(failed())?;
            set.map_err(failed())?;
        }
        return Ok(WAITING);
    }
    let limit = fs::read_to_string("/proc/sys/net/core/somaxconn").ok();
    Ok(limit.and_then(|limit| limit.trim().parse().ok()).unwrap_or(128))
}

fn fs_write(
    link: &Link,
    end: End,
    path: String,
    value: &'static str,
) -> io::Result<io::Result<()>> {
    let thread = link.spawn_thread(end, move || fs::write(path, value))?;
    Ok(thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread failed"))))
}

/// Files that a process opens besides its connections.
const OTHER_FILES: u64 = 100;

/// Returns why this many simultaneous connections are impossible, if they are.
pub(super) fn obstacle(connections: usize, open_files: u64, waiting: u32) -> Option<String> {
    let wanted = connections as u64;
    if wanted + OTHER_FILES > open_files {
        return Some(format!(
            "{connections} connections need more open files than a process may have here ({open_files}): raise \
             the hard limit (ulimit -Hn)"
        ));
    }
    (wanted > waiting.into()).then(|| {
        format!(
            "{connections} connections at once are more than may wait to be accepted here ({waiting}): raise \
             net.core.somaxconn, or use an emulated link"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_that_the_system_forbids_are_refused_with_the_limit_to_raise() {
        assert_eq!(obstacle(900, 1_000, 900), None);
        assert!(obstacle(901, 1_000, 4_096).unwrap().contains("ulimit -Hn"));
        assert!(obstacle(900, 1_000, 899).unwrap().contains("somaxconn"));
    }
}
