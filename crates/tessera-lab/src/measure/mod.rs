//! Measuring one row: sessions first, then the adversary, then the clock.

mod sites;

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use crate::control::{
    ClientAnswer, ClientLoot, ClientOrder, Connected, Cost, Observed, Preparation, Psk, Served,
    Server, ServerAnswer, ServerLoot, ServerOrder, Sites,
};
use crate::error::LabError;
use crate::experiment::{Mode, Way};
use crate::link::{End, Link, LinkParameters};
use crate::pki::Pki;
use crate::processes::Process;
use crate::report::{Row, Sample, Sides};
use crate::statistics::Median;
use crate::verdicts::{Attack, Verdicts};

/// Connections before the first that counts: caches are cold, and TCP knows nothing of the link.
const WARM_UP: usize = 2;

/// How often the adversary sends a recorded flight again to each server.
const REPLAYS: usize = 20;

/// How many sessions one connection brings. The engine refuses more than 32 tickets in a row.
const SESSIONS_AT_ONCE: u8 = 30;

/// Both endpoints, and what is between them.
pub(crate) struct Bench {
    // Before the link: the processes end before it is taken away.
    client: Process,
    server: Process,
    address: SocketAddr,
    pki: Pki,
    pub(crate) link: Link,
    /// The sites of the next rows, if there are two.
    sites: Option<Sites>,
}

/// A connection, as both ends saw it.
struct Pair {
    client: Connected,
    server: Served,
}

impl Bench {
    /// Starts both endpoints.
    pub(crate) fn start(link: Link) -> Result<Self, LabError> {
        let pki = Pki::new()
            .map_err(|error| LabError::Connection(format!("making certificates: {error}")))?;
        let mut server = Process::start(&link, End::Server)?;
        let client = Process::start(&link, End::Client)?;
        server.tell(&ServerOrder::Listen(link.addresses().server))?;
        let address = match server.hear()? {
            ServerAnswer::Listening(address) => address,
            other => return Err(unexpected(&server, &other)),
        };
        Ok(Self { client, server, address, pki, link, sites: None })
    }

    /// Measures a way over a link of these parameters; `done` is called after each repetition.
    pub(crate) fn row(
        &mut self,
        way: Way,
        parameters: &LinkParameters,
        repetitions: usize,
        done: impl Fn(),
    ) -> Result<Row, LabError> {
        // What is not measured goes over a link that costs no time.
        self.set_link(&LinkParameters::default())?;
        self.prepare(way, 2, true)?;
        let raced = self.race()?;
        let mut attack = self.attack()?;
        attack.executions = attack.executions.max(raced);
        self.prepare(way, repetitions + WARM_UP, false)?;

        self.set_link(parameters)?;
        let mut pairs = Vec::with_capacity(repetitions);
        for repetition in 0..WARM_UP + repetitions {
            let pair = self.connect(&ClientOrder::Connect(self.address))?;
            check(way, &pair.client.observed, &pair.server.observed)?;
            if repetition >= WARM_UP {
                pairs.push(pair);
                done();
            }
        }
        let observed = pairs.first().map(|pair| pair.client.observed).unwrap_or_default();
        Ok(Row {
            mode: way.mode,
            kx: way.kx,
            ticket_key: way.ticket_key,
            continuation: way.continuation,
            rtt_ms: parameters.rtt.as_secs_f64() * 1e3,
            samples: pairs.iter().map(sample).collect::<Result<_, _>>()?,
            bytes: sides(&pairs, |cost| cost.sent as f64),
            heap: sides(&pairs, |cost| cost.heap as f64),
            verdicts: Verdicts::of(&observed, &attack),
        })
    }

    /// Changes the link when the last packets have left it.
    fn set_link(&self, parameters: &LinkParameters) -> Result<(), LabError> {
        let present = self.link.parameters();
        if *parameters != present {
            const SCHEDULING: Duration = Duration::from_millis(2);
            if self.link.emulates() {
                thread::sleep(present.rtt + present.jitter + SCHEDULING);
            }
            self.link.set(parameters)?;
        }
        Ok(())
    }

    /// Starts over at both ends, and gets the client the sessions that it will need.
    fn prepare(&mut self, way: Way, sessions: usize, attacked: bool) -> Result<(), LabError> {
        let (sites, identity) = (self.sites, self.pki.server.clone());
        self.server.tell(&ServerOrder::Prepare(Box::new(Preparation {
            way,
            identity,
            attacked,
            sites,
        })))?;
        self.server_is_ready()?;
        let identity = self.pki.client.clone();
        self.client.tell(&ClientOrder::Prepare(Box::new(Preparation {
            way,
            identity,
            attacked,
            sites,
        })))?;
        self.client_is_ready()?;
        if way.mode.resumes() {
            for _ in 0..sessions.div_ceil(SESSIONS_AT_ONCE.into()) {
                let (server, sessions) = (self.address, SESSIONS_AT_ONCE);
                self.connect(&ClientOrder::Collect { server, sessions })?;
            }
        }
        Ok(())
    }

    /// Makes a connection, lets the adversary send its first flight again and again, to every server of a
    /// fleet, and counts how often the application executed the request. Then the adversary steals what
    /// there is, and tries to open what it recorded.
    fn attack(&mut self) -> Result<Attack, LabError> {
        let pair = self.connect(&ClientOrder::Connect(self.address))?;
        for server in Server::ALL {
            self.become_server(server)?;
            self.replay()?;
        }
        let executions = self.count(&pair)?;
        let (client, server) = self.rob()?;
        Attack::of(executions, &client, &server)
            .ok_or_else(|| LabError::Connection("a recording was no TLS connection".to_owned()))
    }

    /// Lets the adversary send a first flight before its client does, so that the client's own is
    /// the second, and counts how often the application executed the request: what the client sends
    /// again included.
    fn race(&mut self) -> Result<u32, LabError> {
        self.expect_connection()?;
        self.client.tell(&ClientOrder::ConnectRaced(self.address))?;
        self.served()?;
        self.expect_connection()?;
        let pair = self.connected()?;
        self.count(&pair)
    }

    fn become_server(&mut self, server: Server) -> Result<(), LabError> {
        self.server.tell(&ServerOrder::Become(server))?;
        self.server_is_ready()
    }

    /// Sends the first flight of the last connection again and again.
    fn replay(&mut self) -> Result<(), LabError> {
        for _ in 0..REPLAYS {
            self.expect_connection()?;
            self.client.tell(&ClientOrder::Replay(self.address))?;
            self.client_is_ready()?;
            // How the server ended the connection is its own business; what counts is the count.
            self.served()?;
        }
        Ok(())
    }

    fn count(&mut self, pair: &Pair) -> Result<u32, LabError> {
        self.server.tell(&ServerOrder::CountExecutions(pair.client.request))?;
        match self.server.hear()? {
            ServerAnswer::Executions(count) => Ok(count),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    fn rob(&mut self) -> Result<(ClientLoot, ServerLoot), LabError> {
        self.client.tell(&ClientOrder::GiveAll)?;
        let client = match self.client.hear()? {
            ClientAnswer::Robbed(loot) => loot,
            other => return Err(unexpected(&self.client, &other)),
        };
        self.server.tell(&ServerOrder::GiveAll)?;
        match self.server.hear()? {
            ServerAnswer::Robbed(loot) => Ok((client, loot)),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    /// Makes one connection, and waits for its end at both sides.
    fn connect(&mut self, order: &ClientOrder) -> Result<Pair, LabError> {
        self.expect_connection()?;
        self.client.tell(order)?;
        self.connected()
    }

    /// Waits for the end of a connection at both sides.
    fn connected(&mut self) -> Result<Pair, LabError> {
        let client = match self.client.hear()? {
            ClientAnswer::Connected(client) => client,
            ClientAnswer::Failed(reason) => return Err(self.connection_failed(&reason)),
            other => return Err(unexpected(&self.client, &other)),
        };
        let server = self.served()?;
        match server.error {
            None => Ok(Pair { client, server }),
            Some(reason) => Err(LabError::Connection(format!("a connection failed: {reason}"))),
        }
    }

    /// The client's reason, and the server's, which often is the better one.
    fn connection_failed(&mut self, client: &str) -> LabError {
        if let Some(reason) = self.link.failure() {
            return LabError::Connection(format!("the link failed: {reason}"));
        }
        // A server that saw nothing of the connection still waits for it.
        let server = match self.server.hear_within(Duration::from_secs(2)) {
            Ok(ServerAnswer::Served(Served { error: Some(reason), .. })) => reason,
            Ok(_) => "nothing went wrong".to_owned(),
            Err(error) => error.to_string(),
        };
        LabError::Connection(format!(
            "a connection failed; the client says: {client}; the server says: {server}"
        ))
    }

    fn expect_connection(&mut self) -> Result<(), LabError> {
        self.server.tell(&ServerOrder::Accept)?;
        self.server_is_ready()
    }

    fn server_is_ready(&mut self) -> Result<(), LabError> {
        match self.server.hear()? {
            ServerAnswer::Ready => Ok(()),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    fn client_is_ready(&mut self) -> Result<(), LabError> {
        match self.client.hear()? {
            ClientAnswer::Ready => Ok(()),
            other => Err(unexpected(&self.client, &other)),
        }
    }

    fn served(&mut self) -> Result<Served, LabError> {
        match self.server.hear()? {
            ServerAnswer::Served(served) => Ok(served),
            other => Err(unexpected(&self.server, &other)),
        }
    }
}

fn unexpected(process: &Process, answer: &impl std::fmt::Debug) -> LabError {
    process.failed(format!("it answers {answer:?}"))
}

/// A row is worth something only if its connections were what it says.
fn check(way: Way, client: &Observed, server: &Observed) -> Result<(), LabError> {
    let wanted = Observed {
        psk: match way.mode {
            Mode::Full => Psk::None,
            Mode::PskOnly | Mode::PskDhe | Mode::ZeroRtt | Mode::ZeroRttUnguarded => {
                Psk::Resumption
            }
            Mode::ZeroRttFs | Mode::ZeroRttFsPsk => Psk::ForwardSecret,
        },
        group: way.kx,
        one_time_key: way.ticket_key,
        continuation: way.continuation,
        early_data_accepted: way.mode.has_early_data(),
        post_quantum: client.post_quantum,
    };
    both_saw(wanted, client, server)
}

fn both_saw(wanted: Observed, client: &Observed, server: &Observed) -> Result<(), LabError> {
    for (name, observed) in [("client", client), ("server", server)] {
        if *observed != wanted {
            return Err(LabError::Connection(format!(
                "a connection was to be {wanted:?}, but the {name} saw {observed:?}"
            )));
        }
    }
    Ok(())
}

fn sample(Pair { client, server }: &Pair) -> Result<Sample, LabError> {
    let first_byte = server
        .first_byte
        .ok_or_else(|| LabError::Connection("a connection carried no request".to_owned()))?;
    let response = client
        .response
        .ok_or_else(|| LabError::Connection("a connection brought no response".to_owned()))?;
    let since = |moment: Duration| us(moment.saturating_sub(client.started));
    Ok(Sample {
        tcp_us: since(client.tcp),
        first_byte_us: since(first_byte),
        handshake_us: since(client.handshake),
        response_us: since(response),
        client_engine_us: us(client.cost.engine_cpu),
        server_engine_us: us(server.cost.engine_cpu),
        client_cpu_us: us(client.cost.process_cpu),
        server_cpu_us: us(server.cost.process_cpu),
    })
}

fn us(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}

/// The median of something at each side.
fn sides(pairs: &[Pair], value: impl Fn(&Cost) -> f64) -> Sides<u64> {
    let median = |side: fn(&Pair) -> &Cost| {
        let median = Median::of(pairs.iter().map(|pair| value(side(pair))));
        median.map_or(0, |median| median.value.round().max(0.0) as u64)
    };
    Sides { client: median(|pair| &pair.client.cost), server: median(|pair| &pair.server.cost) }
}
