//! Client, server and network while they run.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use tessera::Time;
use tessera_endpoint::Path;
use tessera_link::Datagram;

use super::Stage;
use super::network::Network;
use crate::clock;
use crate::endpoint::Result;
use crate::mobile::LONGEST;
use crate::mobile::client::{
    ClientEvent, ClientSettings, Content, MobileClient, NO_HANDSHAKE, SocketId, reason,
};
use crate::mobile::configuration;
use crate::mobile::measure::{DatagramNote, Datagrams, Recording};
use crate::mobile::scenario::{Change, Schedule, Step};
use crate::mobile::sequence::SequenceRecorder;
use crate::mobile::server::MobileServer;

/// Everything.
pub(super) struct World {
    began: Time,
    elapsed: Duration,
    change: Change,
    client: MobileClient,
    server: MobileServer,
    network: Network,
    sockets: HashMap<SocketAddr, SocketId>,
    datagrams: Vec<DatagramNote>,
    sequence: SequenceRecorder,
    events: Vec<ClientEvent>,
    /// Processor time of the client, and of the server.
    cpu: [Duration; 2],
    /// Of the server's next socket for an association.
    next_port: u16,
}

impl World {
    pub(super) fn new(stage: &Stage, settings: ClientSettings, seed: u64) -> Result<Self> {
        // Certificates are valid around now.
        let began = clock::engine_time()?;
        let began = Time { monotonic: Duration::ZERO, ..began };
        let network = Network::open(&stage.scenario.link(seed), stage.scenario.interfaces)?;
        let (config, cookies) = (stage.server.clone(), stage.cookies.clone());
        let addresses = network.interfaces();
        let server_address = SocketAddr::new(network.server(), SERVER_PORT);
        let client = stage.client.clone();
        let client = MobileClient::start(client, settings, addresses, server_address, began)?;
        let mut world = Self {
            began,
            elapsed: Duration::ZERO,
            change: stage.scenario.change,
            client,
            server: MobileServer::new(config, cookies, configuration::endpoint(stage.arm)),
            network,
            sockets: HashMap::new(),
            datagrams: Vec::new(),
            sequence: SequenceRecorder::default(),
            events: Vec::new(),
            cpu: [Duration::ZERO; 2],
            next_port: SERVER_PORT + 1,
        };
        world.give_sockets();
        Ok(world)
    }

    /// Gives the server the sockets that it wants.
    fn give_sockets(&mut self) {
        while self.server.sockets_wanted() > 0 {
            self.server.add_socket(SocketAddr::new(self.network.server(), self.next_port));
            self.next_port += 1;
        }
    }

    fn now(&self) -> Time {
        let Time { monotonic, unix } = self.began;
        Time { monotonic: monotonic + self.elapsed, unix: unix.map(|it| it + self.elapsed) }
    }

    /// Runs until all messages are acknowledged, or the client fails.
    pub(super) fn run(mut self, schedule: Schedule) -> Result<Recording> {
        let mut steps = schedule.steps.into_iter().peekable();
        let mut failure = None;
        while failure.is_none() && !self.client.is_done() {
            let next_step = steps.peek().map(|(at, _)| *at);
            failure = match self.step(next_step) {
                Ok(true) => steps.next().and_then(|(_, step)| self.take(step).err()),
                Ok(false) => None,
                Err(error) => Some(error),
            };
            if self.elapsed > LONGEST {
                failure = Some("it takes longer than an hour".into());
            }
            if self.elapsed > FIRST_HANDSHAKE && !self.client.was_connected() {
                failure = Some(NO_HANDSHAKE.into());
            }
        }
        self.events.extend(self.client.take_events());
        Ok(Recording {
            events: self.events,
            hand_overs: schedule.hand_overs,
            datagrams: Datagrams::Each(self.datagrams),
            sequence: self.sequence.into_datagrams(),
            traffic: self.network.into_traffic(),
            cpu: self.cpu,
            server_sockets: [self.server.used_sockets(); 2],
            failure: failure.map(|error| reason(&*error)),
        })
    }

    /// Lets all happen that happens next; returns whether that is a step of the schedule.
    fn step(&mut self, next_step: Option<Duration>) -> Result<bool> {
        self.transmit()?;
        let moments = [
            self.network.next_arrival(),
            self.client.deadline(),
            self.server.deadline(),
            next_step,
        ];
        let Some(next) = moments.into_iter().flatten().min() else {
            return Err("both ends wait for each other".into());
        };
        self.elapsed = self.elapsed.max(next);
        let now = self.now();
        if next_step == Some(next) {
            return Ok(true);
        }
        while let Some(datagram) = self.network.receive(now.monotonic) {
            self.deliver(datagram, now)?;
        }
        if self.client.deadline().is_some_and(|due| due <= now.monotonic) {
            let client = &mut self.client;
            timed(&mut self.cpu[0], || client.handle_timeout(now))?;
        }
        if self.server.deadline().is_some_and(|due| due <= now.monotonic) {
            let server = &mut self.server;
            timed(&mut self.cpu[1], || server.handle_timeouts(now));
        }
        Ok(false)
    }

    fn deliver(&mut self, datagram: Datagram, now: Time) -> Result<()> {
        let Datagram { from, to, mut payload } = datagram;
        self.sequence.arrived(&payload);
        if !self.network.is_client(to.ip()) {
            let local = Some(to).filter(|to| to.port() != SERVER_PORT);
            let path = Path { remote: from, local };
            let server = &mut self.server;
            timed(&mut self.cpu[1], || server.receive(payload, path, now));
            self.give_sockets();
        } else if let Some(socket) = self.sockets.get(&to) {
            let client = &mut self.client;
            timed(&mut self.cpu[0], || client.receive(*socket, from, &mut payload, now))?;
        }
        Ok(())
    }

    fn take(&mut self, step: Step) -> Result<()> {
        let now = self.now();
        match step {
            Step::Down(index) => {
                self.network.set_down(index)?;
                self.client.interface_down(index, now)?;
            }
            Step::Up(index) => {
                let changes = self.change == Change::NewAddress;
                let address = self.network.set_up(now.monotonic, index, changes)?;
                self.client.interface_up(index, address, now)?;
            }
            Step::Rebind => self.network.rebind()?,
            Step::Restart => {
                self.server.restart();
                self.give_sockets();
            }
        }
        Ok(())
    }

    /// Sends all that both ends have to send.
    fn transmit(&mut self) -> Result<()> {
        let now = self.now();
        let server_address = SocketAddr::new(self.network.server(), SERVER_PORT);
        loop {
            let mut datagram = Vec::new();
            let client = &mut self.client;
            let sent = timed(&mut self.cpu[0], || client.transmit(now, &mut datagram))?;
            let Some((socket, to, content)) = sent else { break };
            self.note(true, content, datagram.len());
            let is_data = content == Content::Data;
            if let Some(ip) = self.client.address(socket) {
                let address = SocketAddr::new(ip, FIRST_PORT + socket.0 as u16);
                self.sockets.insert(address, socket);
                self.sequence.sent(now.monotonic, [address, to], true, is_data, &datagram);
                self.network.send(now.monotonic, address, to, datagram);
            }
        }
        loop {
            let mut datagram = Vec::new();
            let server = &mut self.server;
            let sent = timed(&mut self.cpu[1], || server.transmit(now, &mut datagram));
            let Some((path, content)) = sent else { break };
            self.note(false, content, datagram.len());
            let from = path.local.unwrap_or(server_address);
            let is_data = content == Content::Data;
            self.sequence.sent(now.monotonic, [from, path.remote], false, is_data, &datagram);
            self.network.send(now.monotonic, from, path.remote, datagram);
        }
        self.events.extend(self.client.take_events());
        Ok(())
    }

    fn note(&mut self, is_to_server: bool, content: Content, len: usize) {
        let is_data = content == Content::Data;
        self.datagrams.push(DatagramNote { at: self.elapsed, is_to_server, is_data, len });
    }
}

/// How long the first handshake may take.
const FIRST_HANDSHAKE: Duration = Duration::from_secs(60);

/// The port of the client's first socket.
const FIRST_PORT: u16 = 40_000;

const SERVER_PORT: u16 = 4433;

/// Adds the processor time of a call.
fn timed<T>(sum: &mut Duration, call: impl FnOnce() -> T) -> T {
    let began = clock::thread_cpu().unwrap_or_default();
    let result = call();
    let ended = clock::thread_cpu().unwrap_or_default();
    let all = ended.saturating_sub(began);
    *sum += all.saturating_sub(clock::thread_cpu_cost());
    result
}
