//! nghttpx as a server of TLS.

use crate::{Directory, Network, Process};

/// Starts nghttpx with this configuration and this directory of its own, and waits until it listens on these ports.
#[track_caller]
pub fn start(directory: &Directory, settings: &str, ports: &[u16]) -> Process {
    // Debian's configuration is another.
    let file = directory.write("nghttpx.conf", settings);
    let options = [format!("--conf={file}"), "--log-level=WARN".into()];
    let process = Process::start("nghttpx", Network::Loopback, options);
    for port in ports {
        process.listens_on(*port);
    }
    process
}
