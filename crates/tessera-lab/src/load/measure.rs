//! Measuring one cell: tickets first, then the load.

use std::net::SocketAddr;
use std::time::Duration;

use tessera_link::{End, Link, LinkParameters};

use super::control::{
    ClientAnswer, ClientOrder, Counted, Preparation, Ran, ServerAnswer, ServerOrder, any_port,
};
use super::endpoint::ARGUMENTS;
use super::grid::Plan;
use super::host;
use super::kind::Kind;
use super::report::Cell;
use crate::bench::{SESSIONS_AT_ONCE, WARM_UP, set_link, us};
use crate::endpoint;
use crate::error::LabError;
use crate::pki::{Identity, Pki};
use crate::processes::Process;

/// How long an order may take: the longest are whole cells.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// How many tickets there may be more than are measured: they come in packs.
const SPARE: usize = 60;

/// Both processes, and the link between them.
pub(super) struct Stand {
    // Before the link: the processes end before it is taken away.
    client: Process,
    server: Process,
    pki: Pki,
    pub(super) link: Link,
    backlog: u32,
}

/// What came of a plan.
pub(super) enum Measured {
    Cell(Box<Cell>),
    /// Why it was not run.
    NotRun(String),
}

impl Stand {
    /// Starts both processes.
    pub(super) fn start(link: Link) -> Result<Self, LabError> {
        let pki = Pki::new()
            .map_err(|error| LabError::Connection(format!("making certificates: {error}")))?;
        let backlog = host::prepare(&link)?;
        let start = |end| Process::start_program(endpoint::name(end), ARGUMENTS, &link, end);
        let (client, server) = (start(End::Client)?, start(End::Server)?);
        Ok(Self { client, server, pki, link, backlog })
    }

    /// Measures a cell over a link of these parameters.
    pub(super) fn cell(
        &mut self,
        plan: &Plan,
        parameters: &LinkParameters,
    ) -> Result<Measured, LabError> {
        let parameters = &LinkParameters { rtt: plan.rtt, ..parameters.clone() };
        // What is not measured goes over a link that costs no time.
        set_link(&self.link, &LinkParameters::default())?;
        if let Some(obstacle) = self.prepare(plan)? {
            return Ok(Measured::NotRun(obstacle));
        }
        let before = self.holds()?;
        let mut tickets = 0;
        if plan.variant.mode.resumes() {
            let associated = if plan.kind == Kind::Storm { plan.users } else { 0 };
            let sessions = plan.connections() + WARM_UP - associated;
            tickets = sessions.next_multiple_of(SESSIONS_AT_ONCE.into()) + associated;
            self.client(&ClientOrder::Collect { sessions })?;
        }
        if plan.kind == Kind::Storm {
            self.client(&ClientOrder::Associate { connections: plan.users })?;
            self.server.tell(&ServerOrder::Replace)?;
            self.listening()?;
            self.client(&ClientOrder::Lose)?;
        }
        let vault_bytes = self.holds()? - before;
        // Caches are cold.
        self.run(1, WARM_UP, true)?;
        self.client(&ClientOrder::Close)?;

        set_link(&self.link, parameters)?;
        self.server.tell(&ServerOrder::Begin)?;
        match self.server()? {
            ServerAnswer::Ready => (),
            other => return Err(unexpected(&self.server, &other)),
        }
        let registration = plan.kind == Kind::Users;
        let ran = self.run(plan.users, plan.reconnections, registration)?;
        self.server.tell(&ServerOrder::Finish { handshakes: ran.connections - ran.failed })?;
        let counted = match self.server()? {
            ServerAnswer::Counted(counted) => counted,
            other => return Err(unexpected(&self.server, &other)),
        };
        self.client(&ClientOrder::Close)?;
        Ok(Measured::Cell(Box::new(cell(plan, ran, counted, vault_bytes, tickets))))
    }

    /// Starts over at both ends; gives the reason where the system forbids the cell.
    fn prepare(&mut self, plan: &Plan) -> Result<Option<String>, LabError> {
        let server = any_port(self.link.addresses().server);
        let (variant, backlog) = (plan.variant, self.backlog);
        let tickets = plan.connections() + SPARE;
        let of = |identity: &Identity, server: SocketAddr| {
            let identity = identity.clone();
            Preparation { variant, identity, server, tickets, backlog }
        };
        let at_server = ServerOrder::Prepare(Box::new(of(&self.pki.server, server)));
        self.server.tell(&at_server)?;
        let (address, open_files) = self.listening()?;
        let obstacle = host::obstacle(plan.users, open_files, self.backlog);
        if obstacle.is_none() {
            let preparation = of(&self.pki.client, address);
            self.client(&ClientOrder::Prepare(Box::new(preparation)))?;
        }
        Ok(obstacle)
    }

    fn run(
        &mut self,
        users: usize,
        reconnections: usize,
        registration: bool,
    ) -> Result<Ran, LabError> {
        self.client.tell(&ClientOrder::Run { users, reconnections, registration })?;
        match self.client.hear_within(PATIENCE)? {
            ClientAnswer::Ran(ran) => Ok(ran),
            ClientAnswer::Failed(reason) => Err(self.failed("client", &reason)),
            other => Err(unexpected(&self.client, &other)),
        }
    }

    /// What is on the server's heap without connections.
    fn holds(&mut self) -> Result<i64, LabError> {
        self.server.tell(&ServerOrder::Weigh)?;
        match self.server()? {
            ServerAnswer::Holds(bytes) => Ok(bytes),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    fn listening(&mut self) -> Result<(SocketAddr, u64), LabError> {
        match self.server()? {
            ServerAnswer::Listening { address, open_files } => Ok((address, open_files)),
            other => Err(unexpected(&self.server, &other)),
        }
    }

    fn server(&mut self) -> Result<ServerAnswer, LabError> {
        match self.server.hear_within(PATIENCE)? {
            ServerAnswer::Failed(reason) => Err(self.failed("server", &reason)),
            answer => Ok(answer),
        }
    }

    /// Gives the client an order that has no results.
    fn client(&mut self, order: &ClientOrder) -> Result<(), LabError> {
        self.client.tell(order)?;
        match self.client.hear_within(PATIENCE)? {
            ClientAnswer::Ready => Ok(()),
            ClientAnswer::Failed(reason) => Err(self.failed("client", &reason)),
            other => Err(unexpected(&self.client, &other)),
        }
    }

    fn failed(&self, who: &str, reason: &str) -> LabError {
        match self.link.failure() {
            Some(reason) => LabError::Connection(format!("the link failed: {reason}")),
            None => LabError::Connection(format!("the {who} can't go on: {reason}")),
        }
    }
}

fn unexpected(process: &Process, answer: &impl std::fmt::Debug) -> LabError {
    process.failed(format!("it answers {answer:?}"))
}

fn cell(plan: &Plan, ran: Ran, counted: Counted, vault_bytes: i64, tickets: usize) -> Cell {
    let each = |total: Duration| us(total) / plan.connections().max(1) as f64;
    let seconds = ran.elapsed.as_secs_f64();
    Cell {
        variant: plan.variant,
        kind: plan.kind,
        users: plan.users,
        rtt_ms: plan.rtt_ms(),
        reconnections: plan.reconnections,
        failed: ran.failed,
        why_failed: ran.why_failed,
        requests: ran.requests,
        seconds,
        requests_per_second: ran.requests as f64 / seconds.max(f64::MIN_POSITIVE),
        first_accepted_us: counted.first_accepted,
        response_us: ran.response,
        registration_us: ran.registration,
        server_cpu_us_per_connection: each(counted.process_cpu),
        server_tls_us_per_connection: each(counted.tls_cpu),
        client_cpu_us_per_connection: each(ran.process_cpu),
        server_memory_bytes: counted.memory,
        vault_bytes,
        tickets: tickets as u64,
    }
}
