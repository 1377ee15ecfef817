//! The server as a program.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tessera_endpoint::Path;
use tessera_vault::RotatingRing;

use super::files::pem_file;
use super::lines::{ServerLine, StepLine, write};
use super::sockets::{Input, Sockets, any_port};
use crate::clock;
use crate::mobile::server::MobileServer;
use crate::mobile::{Arm, Change, configuration};
use crate::pki::Identity;

/// What a server is to do.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Its arm.
    pub arm: Arm,
    /// Where it listens.
    pub address: SocketAddr,
    /// The PEM file of its certificate.
    pub certificate: PathBuf,
    /// That of its private key (PKCS#8).
    pub key: PathBuf,
    /// Whether it restarts: its clients then come back with forward-secret early data.
    pub restarts: bool,
}

/// Runs it until standard input ends.
///
/// # Errors
/// If it can't listen, or lines can't be written.
pub fn run(options: &ServerOptions) -> io::Result<()> {
    let ServerOptions { arm, address, .. } = *options;
    let [certificate, private_key] = [pem_file(&options.certificate)?, pem_file(&options.key)?];
    let identity = Identity { root: certificate.clone(), certificate, private_key };
    let config = configuration::server(arm, Change::of_programs(options.restarts), &identity);
    let config = config.map_err(|error| io::Error::other(error.to_string()))?;
    let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
    let mut server = MobileServer::new(config, cookies, configuration::endpoint(arm));
    let mut sockets = Sockets::new();
    // Those of associations, in the order of their numbers.
    let mut own: Vec<SocketAddr> = Vec::new();
    if let Some(address) = sockets.open(WELCOME, address)? {
        write(&ServerLine::Listening { address })?;
    }
    loop {
        while server.sockets_wanted() > 0 {
            let number = WELCOME + 1 + own.len();
            let Some(address) = sockets.open(number, any_port(address.ip()))? else { break };
            own.push(address);
            server.add_socket(address);
        }
        let now = clock::engine_time()?;
        let mut datagram = Vec::new();
        while let Some((path, _)) = server.transmit(now, &mut datagram) {
            let is_it = |local: &SocketAddr| Some(*local) == path.local;
            let number = own.iter().position(is_it).map_or(WELCOME, |index| WELCOME + 1 + index);
            sockets.send(number, path.remote, &datagram);
            datagram.clear();
        }
        let input = sockets.wait(server.deadline())?;
        let now = clock::engine_time()?;
        match input {
            Some(Input::Datagram { socket, from, bytes }) => {
                let local = socket.checked_sub(WELCOME + 1).and_then(|index| own.get(index));
                server.receive(bytes, Path { remote: from, local: local.copied() }, now);
            }
            Some(Input::Step(StepLine::Restart)) => server.restart(),
            Some(Input::Step(_)) => (),
            Some(Input::End) => break,
            None => server.handle_timeouts(now),
        }
    }
    let [sockets_most, ports_most] = [server.used_sockets(); 2];
    let cpu_us = clock::process_cpu()?.as_micros() as u64;
    write(&ServerLine::End { cpu_us, sockets_most, ports_most })
}

/// The number of the socket that clients know.
const WELCOME: usize = 0;
