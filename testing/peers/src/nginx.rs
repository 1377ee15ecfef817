//! nginx as a server of TLS.

use crate::{Directory, Network, Process};

/// Starts nginx with this configuration and this directory of its own, and waits until it listens on these ports.
#[track_caller]
pub fn start(directory: &Directory, settings: &str, ports: &[u16]) -> Process {
    let file = directory.write("nginx.conf", settings);
    let prefix = directory.path("");
    let log = directory.path("error.log");
    // In the foreground.
    let options = ["-p", &prefix, "-e", &log, "-c", &file, "-g", "daemon off;"];
    let process = Process::start("nginx", Network::Loopback, options);
    for port in ports {
        process.listens_on(*port);
    }
    process
}
