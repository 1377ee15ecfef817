//! stunnel as an end of a tunnel.

use crate::{Directory, Network, Process};

/// Starts stunnel with this configuration, and waits until it listens on these ports. `options` are the global ones,
/// followed by `services`.
#[track_caller]
pub fn start(options: &str, services: &str, ports: &[u16]) -> Process {
    let directory = Directory::new();
    // In the foreground it logs to standard error, and needs no file for its number.
    let settings = format!("foreground = yes\npid =\nsyslog = no\n{options}\n{services}");
    let file = directory.write("stunnel.conf", settings);
    let process = Process::start("stunnel", Network::Loopback, [&file]);
    // The directory is removed once it runs.
    for port in ports {
        process.listens_on(*port);
    }
    process
}
