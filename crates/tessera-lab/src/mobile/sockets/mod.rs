//! Arms over sockets: two programs at the ends of an emulated link, whose client's interface changes.

mod files;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tessera_link::{DirectionStatistics, End, Link, LinkKind, LinkParameters};

use self::files::Files;
use super::LONGEST;
use super::arm::{Arm, Stack};
use super::client::{ClientEvent, nanoseconds};
use super::measure::{Counts, Datagrams, Direction, Recording, Traffic};
use super::program::{ARGUMENTS, ClientLine, LastLine, ServerLine, StepLine};
use super::report::CellName;
use super::scenario::{Change, HandOver, PACE, Step, TIMEOUT};
use crate::clock;
use crate::endpoint::Result;
use crate::pki::Pki;
use crate::processes::{Process, this_program};

/// The programs of all stacks, with certificates for them.
pub(super) struct Programs {
    peers: Option<PathBuf>,
    files: Files,
}

/// The server's port.
const PORT: u16 = 4433;

/// How long a program may take until its first line: a virtual machine starts slowly.
const PATIENCE: Duration = Duration::from_secs(20);

/// How much longer than its messages a run may take, to end one whose client never goes on.
const SLACK: Duration = Duration::from_secs(60);

/// A run while it goes on.
struct Stage<'a> {
    name: &'a CellName,
    link: Link,
    parameters: LinkParameters,
    /// The addresses of the client's interfaces.
    interfaces: Vec<IpAddr>,
    /// How many addresses the client has had.
    addresses: u64,
    client: Process,
    server: Process,
    events: Vec<ClientEvent>,
    last: Option<LastLine>,
    /// What addresses that are gone have counted.
    gone: Traffic,
    /// What was counted when only messages went to and fro any more.
    early: Option<Counts>,
}

/// After so many acknowledgements nothing else belongs to the first handshake.
const EARLY_ACKS: usize = 5;

impl Programs {
    pub(super) fn new(pki: &Pki, peers: Option<PathBuf>) -> Result<Self> {
        Ok(Self { peers, files: Files::new(pki)? })
    }

    /// Runs an arm once.
    pub(super) fn run(&self, name: &CellName, seed: u64) -> Result<Recording> {
        let parameters = name.scenario.link(seed);
        let link = Link::open(LinkKind::Tun, &parameters)?;
        let mut interfaces = vec![link.addresses().client];
        for number in 1..name.scenario.interfaces {
            let seed = seed.wrapping_add(number.into());
            let parameters = LinkParameters { seed, ..parameters.clone() };
            interfaces.push(link.add_client_address(&parameters)?);
        }
        let mut server = self.server(name, &link)?;
        let ServerLine::Listening { address } = server.hear_within(PATIENCE)? else {
            return Err("the server ended at once".into());
        };
        let client = self.client(name, address, &interfaces, &link)?;
        let addresses = interfaces.len() as u64;
        let stage = Stage {
            name,
            link,
            parameters,
            interfaces,
            addresses,
            client,
            server,
            events: Vec::new(),
            last: None,
            gone: Traffic::default(),
            early: None,
        };
        stage.run(self, seed)
    }

    fn server(&self, name: &CellName, link: &Link) -> Result<Process> {
        let (arm, mut command) = (name.arm, self.command(name.arm)?);
        let address = SocketAddr::new(link.addresses().server, PORT);
        command.args(["server", "--arm", arm.name(), "--listen", &address.to_string()]);
        command.arg("--certificate").arg(self.files.certificate());
        command.arg("--key").arg(self.files.key());
        if name.arm.stack() == Stack::Ours && restarts(name) {
            command.arg("--restarts");
        }
        Ok(Process::start_command("server", command, link, End::Server)?)
    }

    fn client(
        &self,
        name: &CellName,
        server: SocketAddr,
        interfaces: &[IpAddr],
        link: &Link,
    ) -> Result<Process> {
        let mut command = self.command(name.arm)?;
        let sources: Vec<_> = interfaces.iter().map(IpAddr::to_string).collect();
        command.args(["client", "--arm", name.arm.name(), "--connect", &server.to_string()]);
        command.arg("--ca").arg(self.files.authority()).args(["--sources", &sources.join(",")]);
        let numbers = [
            ("--acks", u128::from(name.acks)),
            ("--pace-ms", PACE.as_millis()),
            ("--timeout-ms", TIMEOUT.as_millis()),
            ("--timeouts", name.scenario.timeouts.into()),
        ];
        for (option, number) in numbers {
            command.args([option, &number.to_string()]);
        }
        command.args(["--detection", name.scenario.detection.name()]);
        if restarts(name) {
            command.arg("--restarts");
            // The options of others have values.
            command.args((name.arm.stack() != Stack::Ours).then_some("1"));
        }
        Ok(Process::start_command("client", command, link, End::Client)?)
    }

    fn command(&self, arm: Arm) -> Result<Command> {
        match arm.stack() {
            Stack::Ours => {
                let mut command = this_program();
                command.args(ARGUMENTS);
                Ok(command)
            }
            Stack::Other(program) => {
                let peers = self.peers.as_ref().ok_or("no --peers")?;
                let path = peers.join(program);
                if !path.exists() {
                    return Err(format!("no {program} in --peers").into());
                }
                Ok(Command::new(path))
            }
        }
    }
}

/// Returns whether the server restarts: both programs of ours know it, and the clients of others.
fn restarts(name: &CellName) -> bool {
    name.scenario.change == Change::Restart
}

impl Stage<'_> {
    fn run(mut self, programs: &Programs, seed: u64) -> Result<Recording> {
        let began = self.first_event()?;
        let scenario = &self.name.scenario;
        let schedule = scenario.schedule(LONGEST, seed);
        let longest = PACE * self.name.acks * 3 + scenario.round_trip() * self.name.acks + SLACK;
        let mut steps = schedule.steps.into_iter().peekable();
        let mut hand_overs: Vec<HandOver> = Vec::new();
        let mut planned = schedule.hand_overs.into_iter().peekable();
        let mut before_first = None;
        while self.last.is_none() {
            let elapsed = clock::monotonic()?.saturating_sub(began);
            if elapsed > longest {
                break;
            }
            let Some((at, step)) = steps.peek().copied() else { break };
            if at > elapsed {
                self.read_until(began + at)?;
                continue;
            }
            steps.next();
            if before_first.is_none() {
                before_first = Some(self.counts()?);
            }
            let before = clock::monotonic()?.saturating_sub(began);
            self.take(step, programs)?;
            let after = clock::monotonic()?.saturating_sub(began);
            // When it was done, rather than when it was planned.
            match step {
                Step::Up(0) if scenario.interfaces == 1 => {
                    if let Some(last) = hand_overs.last_mut() {
                        *last = scenario.hand_over(last.at, after);
                    }
                }
                _ if planned.peek().is_some_and(|it| it.at == at) => {
                    planned.next();
                    hand_overs.push(scenario.hand_over(before, after));
                }
                _ => (),
            }
        }
        self.finish(began, hand_overs, before_first)
    }

    /// Waits for the client's handshake; returns when it began.
    fn first_event(&mut self) -> Result<Duration> {
        loop {
            self.hear(PATIENCE)?;
            if let Some(last) = &self.last {
                return Err(format!("the client ended at once: {last:?}").into());
            }
            let begun = self.events.iter().find_map(|event| match event {
                ClientEvent::HandshakeBegin { at } => Some(Duration::from_nanos(*at)),
                _ => None,
            });
            if let Some(begun) = begun {
                return Ok(begun);
            }
        }
    }

    /// Reads the client's lines until a moment.
    fn read_until(&mut self, moment: Duration) -> Result<()> {
        while self.last.is_none() {
            let left = moment.saturating_sub(clock::monotonic()?);
            if left.is_zero() {
                return Ok(());
            }
            self.hear(left)?;
        }
        Ok(())
    }

    /// Waits for a line for a time.
    fn hear(&mut self, patience: Duration) -> Result<()> {
        match self.client.hear_any(patience)? {
            Some(ClientLine::Event(event)) => {
                self.events.push(event);
                if self.early.is_none() && self.acks() == EARLY_ACKS {
                    self.early = Some(self.counts()?);
                }
            }
            Some(ClientLine::Last(last)) => self.last = Some(last),
            None => (),
        }
        Ok(())
    }

    fn take(&mut self, step: Step, programs: &Programs) -> Result<()> {
        match step {
            Step::Down(interface) => {
                self.link.set_down(self.interfaces[interface], true)?;
                self.client.tell(&StepLine::Down { interface })?;
            }
            Step::Up(interface) => {
                let before = self.interfaces[interface];
                let address = if self.name.scenario.change == Change::NewAddress {
                    self.gone += self.traffic(before)?;
                    let seed = self.parameters.seed.wrapping_add(self.addresses);
                    self.addresses += 1;
                    let parameters = LinkParameters { seed, ..self.parameters.clone() };
                    let address = self.link.add_client_address(&parameters)?;
                    self.link.remove_client_address(before)?;
                    address
                } else {
                    self.link.set_down(before, false)?;
                    before
                };
                self.interfaces[interface] = address;
                self.client.tell(&StepLine::Up { interface, address })?;
            }
            Step::Rebind => {
                self.interfaces.iter().try_for_each(|address| self.link.rebind(*address))?;
            }
            Step::Restart => {
                if self.name.arm.stack() == Stack::Ours {
                    return Ok(self.server.tell(&StepLine::Restart)?);
                }
                // The one before is killed when it is replaced, and its port is free then.
                self.server.kill();
                self.server = programs.server(self.name, &self.link)?;
                self.server.hear_within::<ServerLine>(PATIENCE)?;
            }
        }
        Ok(())
    }

    fn acks(&self) -> usize {
        self.events.iter().filter(|it| matches!(it, ClientEvent::Ack { .. })).count()
    }

    /// Returns what the path of an address carried, and lost.
    fn traffic(&self, address: IpAddr) -> Result<Traffic> {
        let statistics = self.link.path_statistics(address)?;
        let both = [statistics.to_server, statistics.to_client];
        let sum = |value: fn(&DirectionStatistics) -> u64| both.iter().map(value).sum::<u64>();
        let (datagrams, delivered) = (sum(|it| it.offered_packets), sum(|it| it.delivered_packets));
        let bytes = sum(|it| it.offered_bytes);
        Ok(Traffic { datagrams, bytes, lost: datagrams.saturating_sub(delivered) })
    }

    /// Returns what was counted so far on the path of the first interface.
    fn counts(&self) -> Result<Counts> {
        let statistics = self.link.path_statistics(self.interfaces[0])?;
        let sent = self.events.iter().filter(|it| matches!(it, ClientEvent::Sent { .. })).count();
        let of = |direction: &DirectionStatistics, data: usize| Direction {
            datagrams: direction.offered_packets,
            bytes: direction.offered_bytes,
            data: data as u64,
        };
        let to_client = of(&statistics.to_client, self.acks());
        Ok(Counts([of(&statistics.to_server, sent), to_client]))
    }

    fn finish(
        mut self,
        began: Duration,
        hand_overs: Vec<HandOver>,
        before_first: Option<Counts>,
    ) -> Result<Recording> {
        let mut traffic = self.gone;
        for address in self.interfaces.clone() {
            traffic += self.traffic(address)?;
        }
        let (client_cpu_us, failure) = match self.last.take() {
            Some(LastLine::End { cpu_us, .. }) => (cpu_us, None),
            Some(LastLine::Failed { why, .. }) => (0, Some(why)),
            None => (0, Some("it takes longer than a run may".to_owned())),
        };
        self.server.end_orders();
        let server = self.server.hear_within(PATIENCE)?;
        let ServerLine::End { cpu_us, sockets_most, ports_most } = server else {
            return Err("the server's last line is another".into());
        };
        // From the beginning of the client's first handshake.
        let began = nanoseconds(began);
        self.events.iter_mut().for_each(|event| event.count_from(began));
        let setup = self.early.zip(before_first);
        Ok(Recording {
            events: self.events,
            hand_overs,
            datagrams: Datagrams::Counted {
                counts: setup,
                are_acknowledged: self.name.arm == Arm::QuinnRebind,
            },
            sequence: Vec::new(),
            traffic,
            cpu: [client_cpu_us, cpu_us].map(Duration::from_micros),
            server_sockets: [sockets_most, ports_most],
            failure,
        })
    }
}
