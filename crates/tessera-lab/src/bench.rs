//! Both endpoints with the link between them, and the steps of an experiment.

use std::net::SocketAddr;
use std::time::Duration;
use std::{fs, io, thread};

use tessera_link::{End, Link, LinkParameters};
use tessera_reports::{Mode, Sample};

use crate::control::{
    ClientAnswer, ClientOrder, Connected, ObservedFacts, Preparation, Psk, ServedConnection,
    Server, ServerAnswer, ServerOrder, Site, StolenClientState, StolenServerState,
};
use crate::error::LabError;
use crate::pki::Pki;
use crate::processes::Process;
use crate::verdicts::Attack;
use crate::ways::Way;
use tessera_adversary::DecryptedParts;

/// Connections before the first that counts, for cold caches, and because TCP knows nothing of the link.
pub(crate) const WARM_UP: usize = 2;

/// How often the adversary replays a recorded flight to each server.
const REPLAYS: usize = 20;

/// How many sessions one connection brings. The engine refuses more than 32 tickets in a row.
pub(crate) const SESSIONS_AT_ONCE: u8 = 30;

/// Both endpoints, and the link between them.
pub(crate) struct Bench {
    // Dropped before the link: the processes end first.
    pub(crate) client: Process,
    pub(crate) server: Process,
    pub(crate) address: SocketAddr,
    pub(crate) pki: Pki,
    pub(crate) link: Link,
}

/// A connection, as both ends saw it.
pub(crate) struct Pair {
    pub(crate) client: Connected,
    pub(crate) server: ServedConnection,
}

impl Pair {
    /// Returns its times.
    pub(crate) fn sample(&self) -> Result<Sample, LabError> {
        let missing = |what: &str| LabError::Connection(format!("a connection {what}"));
        let Self { client, server } = self;
        let (Some(first_byte), Some(arrived)) = (server.first_byte, server.arrived) else {
            return Err(missing("carried no request"));
        };
        let response = client.response.ok_or_else(|| missing("brought no response"))?;
        let between = |from: Duration, to: Duration| Some(us(to.saturating_sub(from)));
        let since = |moment| between(client.started, moment);
        Ok(Sample {
            // TLS begins once there is a TCP connection. Requests and responses are one record each: the first byte arrives
            // with the rest.
            send_us: between(client.tcp, first_byte),
            receive_us: between(arrived, response),
            tcp_us: since(client.tcp),
            first_byte_us: since(first_byte),
            handshake_us: since(client.handshake),
            response_us: since(response),
            client_engine_us: Some(us(client.cost.engine_cpu)),
            server_engine_us: Some(us(server.cost.engine_cpu)),
            client_cpu_us: Some(us(client.cost.process_cpu)),
            server_cpu_us: Some(us(server.cost.process_cpu)),
        })
    }
}

impl Bench {
    /// Starts both endpoints.
    pub(crate) fn start(link: Link) -> Result<Self, LabError> {
        let pki = Pki::new()
            .map_err(|error| LabError::Connection(format!("making certificates: {error}")))?;
        let mut server = Process::start(&link, End::Server)?;
        let client = Process::start(&link, End::Client)?;
        let address = listen(&mut server, &link)?;
        Ok(Self { client, server, address, pki, link })
    }

    /// Restarts both endpoints: after a failure their state is unknown.
    pub(crate) fn restart(&mut self) -> Result<(), LabError> {
        self.server = Process::start(&self.link, End::Server)?;
        self.client = Process::start(&self.link, End::Client)?;
        self.address = listen(&mut self.server, &self.link)?;
        Ok(())
    }

    /// Allows both ends to begin connections in the SYN. The setting is that of their namespaces, which end with the
    /// link.
    pub(crate) fn allow_fast_open(&self) -> Result<(), LabError> {
        const SYSCTL: &str = "/proc/sys/net/ipv4/tcp_fastopen";
        const BOTH: &str = "3";
        for end in [End::Client, End::Server] {
            let failed = || LabError::system(format!("setting {SYSCTL} at one end"));
            let set = self.link.spawn_thread(end, || fs::write(SYSCTL, BOTH)).map_err(failed())?;
            let set = set.join().unwrap_or_else(|_| Err(io::Error::other("the thread failed")));
            set.map_err(failed())?;
        }
        Ok(())
    }

    /// Changes the link once the last packets have left it.
    pub(crate) fn set_link(&self, parameters: &LinkParameters) -> Result<(), LabError> {
        set_link(&self.link, parameters)
    }

    /// Starts over at both ends, and gets the client the sessions that it needs.
    pub(crate) fn prepare(
        &mut self,
        way: Way,
        sessions: usize,
        attacked: bool,
    ) -> Result<(), LabError> {
        let identity = self.pki.server.clone();
        let preparation = Preparation { attacked, ..Preparation::new(way, identity) };
        self.server.tell(&ServerOrder::Prepare(Box::new(preparation)))?;
        self.server_is_ready()?;
        self.prepare_client(way, sessions, attacked, None)
    }

    /// Starts over at the client, and gets it its sessions.
    pub(crate) fn prepare_client(
        &mut self,
        way: Way,
        sessions: usize,
        attacked: bool,
        site: Option<Site>,
    ) -> Result<(), LabError> {
        let identity = self.pki.client.clone();
        let preparation = Preparation { attacked, site, ..Preparation::new(way, identity) };
        self.client.tell(&ClientOrder::Prepare(Box::new(preparation)))?;
        self.client_is_ready()?;
        if way.mode.resumes() {
            for _ in 0..sessions.div_ceil(SESSIONS_AT_ONCE.into()) {
                let (server, sessions) = (self.address, SESSIONS_AT_ONCE);
                self.connect(&ClientOrder::Collect { server, sessions })?;
            }
        }
        Ok(())
    }

    /// Makes a connection, has the adversary replay its first flight repeatedly, to every server of a fleet, and counts
    /// how often the application executed the request. The adversary tries to decrypt the recording: before the replays
    /// with the memory of the server's process, after them with all that can be stolen.
    pub(crate) fn attack(&mut self) -> Result<Attack, LabError> {
        let pair = self.connect(&ClientOrder::Connect(self.address))?;
        let memory = self.open_with_memory()?;
        for server in Server::ALL {
            self.become_server(server)?;
            self.replay()?;
        }
        let executions = self.count(&pair)?;
        let (client, server) = self.steal()?;
        Attack::of(executions, &client, &server, memory)
            .ok_or_else(|| LabError::Connection("a recording was no TLS connection".to_owned()))
    }

    /// Has the adversary send a first flight before its client does, so that the client's own is the second, and counts
    /// how often the application executed the request, including what the client sends again.
    pub(crate) fn race(&mut self) -> Result<u32, LabError> {
        self.expect_connection()?;
        let (copy_to, server) = (self.address, self.address);
        self.client.tell(&ClientOrder::ConnectRaced { copy_to, server })?;
        self.served()?;
        self.expect_connection()?;
        let pair = self.connected()?;
        self.count(&pair)
    }

    pub(crate) fn become_server(&mut self, server: Server) -> Result<(), LabError> {
        self.server.tell(&ServerOrder::Become(server))?;
        self.server_is_ready()
    }

    /// Replays the first flight of the last connection repeatedly.
    pub(crate) fn replay(&mut self) -> Result<(), LabError> {
        for _ in 0..REPLAYS {
            self.expect_connection()?;
            self.client.tell(&ClientOrder::Replay(self.address))?;
            self.client_is_ready()?;
            // It doesn't matter how the server ended the connection, only what it counted.
            self.served()?;
        }
        Ok(())
    }

    pub(crate) fn count(&mut self, pair: &Pair) -> Result<u32, LabError> {
        self.server.tell(&ServerOrder::CountExecutions(pair.client.request))?;
        match self.server.hear()? {
            ServerAnswer::Executions(count) => Ok(count),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    /// Has the adversary read the memory of the server's process, before anything else happens there.
    fn open_with_memory(&mut self) -> Result<DecryptedParts, LabError> {
        self.client.tell(&ClientOrder::GiveRecording)?;
        let recording = match self.client.hear()? {
            ClientAnswer::Recorded(recording) => recording,
            other => return Err(unexpected(&self.client, &other)),
        };
        self.server.tell(&ServerOrder::OpenWithMemory(recording))?;
        match self.server.hear()? {
            ServerAnswer::OpenedWithMemory(opened) => Ok(opened),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    pub(crate) fn steal(&mut self) -> Result<(StolenClientState, StolenServerState), LabError> {
        self.client.tell(&ClientOrder::GiveAll)?;
        let client = match self.client.hear()? {
            ClientAnswer::Stolen(stolen) => stolen,
            other => return Err(unexpected(&self.client, &other)),
        };
        self.server.tell(&ServerOrder::GiveAll)?;
        match self.server.hear()? {
            ServerAnswer::Stolen(stolen) => Ok((client, stolen)),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    /// Makes one connection, and waits for its end at both sides.
    pub(crate) fn connect(&mut self, order: &ClientOrder) -> Result<Pair, LabError> {
        self.expect_connection()?;
        self.client.tell(order)?;
        self.connected()
    }

    /// Waits for the end of a connection at both sides.
    pub(crate) fn connected(&mut self) -> Result<Pair, LabError> {
        let client = match self.client.hear()? {
            ClientAnswer::Connected(client) => client,
            ClientAnswer::Failed(reason) => return Err(self.connection_failed(&reason)),
            other => return Err(unexpected(&self.client, &other)),
        };
        let server = self.served()?;
        match server.error {
            None => Ok(Pair { client, server }),
            Some(reason) => {
                let what = format!("a connection failed at the server: {reason}");
                Err(LabError::Connection(what))
            }
        }
    }

    /// Returns the error of the client together with that of the server, which often is more informative.
    pub(crate) fn connection_failed(&mut self, client: &str) -> LabError {
        if let Some(reason) = self.link.failure() {
            return LabError::Connection(format!("the link failed: {reason}"));
        }
        // A server that saw nothing of the connection is still waiting for it.
        let server = match self.server.hear_within(Duration::from_secs(2)) {
            Ok(ServerAnswer::Served(ServedConnection { error: Some(reason), .. })) => reason,
            Ok(_) => "nothing went wrong".to_owned(),
            Err(error) => error.to_string(),
        };
        LabError::Connection(format!(
            "a connection failed; the client reports: {client}; the server reports: {server}"
        ))
    }

    pub(crate) fn expect_connection(&mut self) -> Result<(), LabError> {
        self.server.tell(&ServerOrder::Accept)?;
        self.server_is_ready()
    }

    pub(crate) fn server_is_ready(&mut self) -> Result<(), LabError> {
        match self.server.hear()? {
            ServerAnswer::Ready => Ok(()),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    pub(crate) fn client_is_ready(&mut self) -> Result<(), LabError> {
        match self.client.hear()? {
            ClientAnswer::Ready => Ok(()),
            other => Err(unexpected(&self.client, &other)),
        }
    }

    pub(crate) fn served(&mut self) -> Result<ServedConnection, LabError> {
        match self.server.hear()? {
            ServerAnswer::Served(served) => Ok(served),
            other => Err(unexpected(&self.server, &other)),
        }
    }
}

/// Changes a link once the last packets have left it.
pub(crate) fn set_link(link: &Link, parameters: &LinkParameters) -> Result<(), LabError> {
    let present = link.parameters();
    if *parameters != present {
        const SCHEDULING: Duration = Duration::from_millis(2);
        if link.emulates() {
            thread::sleep(present.settling_time() + SCHEDULING);
        }
        link.set(parameters)?;
    }
    Ok(())
}

/// Has a server listen at its end of a link.
pub(crate) fn listen(server: &mut Process, link: &Link) -> Result<SocketAddr, LabError> {
    server.tell(&ServerOrder::Listen(link.addresses().server))?;
    is_listening(server)
}

pub(crate) fn is_listening(server: &mut Process) -> Result<SocketAddr, LabError> {
    match server.hear()? {
        ServerAnswer::Listening(address) => Ok(address),
        other => Err(unexpected(server, &other)),
    }
}

fn unexpected(process: &Process, answer: &impl std::fmt::Debug) -> LabError {
    process.failed(format!("it answers {answer:?}"))
}

/// A row is valid only if its connections were of the way that it names.
pub(crate) fn check(
    way: Way,
    client: &ObservedFacts,
    server: &ObservedFacts,
) -> Result<(), LabError> {
    let wanted = ObservedFacts {
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

pub(crate) fn both_saw(
    wanted: ObservedFacts,
    client: &ObservedFacts,
    server: &ObservedFacts,
) -> Result<(), LabError> {
    for (name, observed) in [("client", client), ("server", server)] {
        if *observed != wanted {
            return Err(LabError::Connection(format!(
                "a connection was to be {wanted:?}, but the {name} saw {observed:?}"
            )));
        }
    }
    Ok(())
}

pub(crate) fn us(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e3
}
