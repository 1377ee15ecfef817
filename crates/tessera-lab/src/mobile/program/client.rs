//! The client as a program.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::files::pem_file;
use super::lines::{ClientLine, LastLine, StepLine, write};
use super::sockets::{Input, Sockets, any_port};
use crate::clock;
use crate::endpoint::Result;
use crate::mobile::client::{
    ClientEvent, ClientSettings, MobileClient, SocketId, Task, nanoseconds, reason,
};
use crate::mobile::{Arm, Change, Detection, configuration};
use crate::pki::Identity;

/// What a client is to do.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// Its arm.
    pub arm: Arm,
    /// The server.
    pub server: SocketAddr,
    /// The PEM file of the authority that it trusts.
    pub ca: PathBuf,
    /// The addresses of its interfaces.
    pub addresses: Vec<IpAddr>,
    /// How many acknowledgements it awaits.
    pub acks: u32,
    /// The least time between two messages.
    pub pace: Duration,
    /// How long it waits for an acknowledgement.
    pub timeout: Duration,
    /// After how many time-outs in a row it connects again, if its association doesn't survive.
    pub timeouts: u32,
    /// How it notices that its path has gone.
    pub detection: Detection,
    /// Whether its server restarts.
    pub restarts: bool,
}

/// Runs it.
///
/// # Errors
/// If lines can't be read or written.
pub fn run(options: &ClientOptions) -> io::Result<()> {
    let cpu_us = || Ok::<_, io::Error>(clock::process_cpu()?.as_micros() as u64);
    let last = match run_to_end(options) {
        Ok(at) => LastLine::End { at, cpu_us: cpu_us()? },
        Err(error) => {
            LastLine::Failed { at: nanoseconds(clock::monotonic()?), why: reason(&*error) }
        }
    };
    write(&ClientLine::Last(last))
}

/// Runs it until all messages are acknowledged, or standard input ends; returns when.
fn run_to_end(options: &ClientOptions) -> Result<u64> {
    let ClientOptions { arm, acks, pace, timeout, detection, timeouts, .. } = *options;
    let root = pem_file(&options.ca)?;
    let identity = Identity { root, certificate: Vec::new(), private_key: Vec::new() };
    let config = configuration::client(arm, Change::of_programs(options.restarts), &identity)?;
    let settings = ClientSettings {
        task: Task { acks, pace, timeout, detection },
        options: configuration::association(arm),
        follows: arm.has_own_socket(),
        survives: arm.survives(),
        timeouts,
    };
    let mut sockets = Sockets::new();
    let now = clock::engine_time()?;
    let mut client =
        MobileClient::start(config, settings, &options.addresses, options.server, now)?;
    loop {
        transmit(&mut client, &mut sockets)?;
        for event in client.take_events() {
            // The socket's own line has its address.
            if !matches!(event, ClientEvent::Socket { .. }) {
                write(&ClientLine::Event(event))?;
            }
        }
        if client.is_done() {
            return Ok(nanoseconds(clock::monotonic()?));
        }
        let input = sockets.wait(client.deadline())?;
        let now = clock::engine_time()?;
        match input {
            Some(Input::Datagram { socket, from, mut bytes }) => {
                client.receive(SocketId(socket), from, &mut bytes, now)?;
            }
            Some(Input::Step(StepLine::Down { interface })) => {
                client.interface_down(interface, now)?;
            }
            Some(Input::Step(StepLine::Up { interface, address })) => {
                client.interface_up(interface, address, now)?;
            }
            Some(Input::Step(StepLine::Restart)) => (),
            Some(Input::End) => return Ok(nanoseconds(now.monotonic)),
            None => client.handle_timeout(now)?,
        }
    }
}

fn transmit(client: &mut MobileClient, sockets: &mut Sockets) -> Result<()> {
    loop {
        let now = clock::engine_time()?;
        let mut datagram = Vec::new();
        let Some((socket, to, _)) = client.transmit(now, &mut datagram)? else { return Ok(()) };
        let Some(address) = client.address(socket) else { continue };
        // While the interface is down there is no such address, and the datagram is lost.
        if let Ok(Some(address)) = sockets.open(socket.0, any_port(address)) {
            let at = nanoseconds(now.monotonic);
            let address = Some(address);
            write(&ClientLine::Event(ClientEvent::Socket { at, address }))?;
        }
        sockets.send(socket.0, to, &datagram);
    }
}
