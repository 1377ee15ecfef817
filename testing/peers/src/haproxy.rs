//! HAProxy as an end of a tunnel.

use crate::{Directory, Network, Process};

/// Starts HAProxy with this configuration, and waits until it listens on these ports.
#[track_caller]
pub fn start(settings: &str, ports: &[u16]) -> Process {
    let directory = Directory::new();
    let file = directory.write("haproxy.cfg", settings);
    // In the foreground.
    let process = Process::start("haproxy", Network::Loopback, ["-f", &file, "-db"]);
    // The directory is removed once it runs.
    for port in ports {
        process.listens_on(*port);
    }
    process
}
