//! Measuring one cell: tickets first, then the load.

use std::net::SocketAddr;
use std::time::Duration;

use tessera_link::{End, Link, LinkParameters};
use tessera_reports::load::Kind;

use super::control::{
    ClientAnswer, ClientOrder, ClientTotals, Preparation, ServerAnswer, ServerOrder, ServerTotals,
    any_port,
};
use super::endpoint::ARGUMENTS;
use super::grid::Plan;
use super::host;
use super::report::Cell;
use crate::bench::{SESSIONS_AT_ONCE, WARM_UP, set_link, us};
use crate::endpoint;
use crate::error::LabError;
use crate::heap::difference;
use crate::pki::{Identity, Pki};
use crate::processes::Process;

/// How long an order may take: the longest are whole cells.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// How many more tickets there may be than are measured: they come in packs.
const SPARE: usize = 60;

/// Both processes, and the link between them.
pub(super) struct TestBed {
    // Before the link: the processes end before it is taken away.
    client: Process,
    server: Process,
    pki: Pki,
    pub(super) link: Link,
    backlog: u32,
}

/// The result of a plan.
pub(super) enum PlanResult {
    Cell(Box<Cell>),
    /// Why it was not run.
    NotRun(String),
}

impl TestBed {
    /// Starts both processes.
    pub(super) fn start(link: Link) -> Result<Self, LabError> {
        let pki = Pki::new()
            .map_err(|error| LabError::Connection(format!("making certificates: {error}")))?;
        let backlog = host::prepare(&link)?;
        let [client, server] = processes(&link)?;
        Ok(Self { client, server, pki, link, backlog })
    }

    /// Restarts both processes: after one has ended, the state of the other is unknown.
    pub(super) fn restart(&mut self) -> Result<(), LabError> {
        [self.client, self.server] = processes(&self.link)?;
        Ok(())
    }

    /// Measures a cell over a link of these parameters.
    pub(super) fn cell(
        &mut self,
        plan: &Plan,
        parameters: &LinkParameters,
    ) -> Result<PlanResult, LabError> {
        let parameters = &LinkParameters { rtt: plan.rtt, ..parameters.clone() };
        // Steps that are not measured use a link without delay.
        set_link(&self.link, &LinkParameters::default())?;
        if let Some(obstacle) = self.prepare(plan)? {
            return Ok(PlanResult::NotRun(obstacle));
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
        let holds = self.holds()?;
        // Without a vault, tickets use no memory here. The difference isn't 0 all the same: a replacement server is
        // created by one thread and dropped by the next, and the counters are per thread.
        let vault_bytes = difference(holds, before);
        let vault_bytes =
            vault_bytes.map(|it| if plan.variant.mode.has_one_time_key() { it } else { 0 });
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
        if let Some(reason) = too_many_failed(&ran) {
            self.client(&ClientOrder::Close)?;
            return Ok(PlanResult::NotRun(reason));
        }
        self.server.tell(&ServerOrder::Finish { handshakes: ran.connections - ran.failed })?;
        let counted = match self.server()? {
            ServerAnswer::Counted(counted) => counted,
            other => return Err(unexpected(&self.server, &other)),
        };
        self.client(&ClientOrder::Close)?;
        // The memory that closing the connections frees is theirs. This excludes what changed since the beginning: used
        // keys left the vault, and records of used tickets stay.
        let open_bytes = difference(counted.memory, self.holds()?);
        let memory = Memory { open_bytes, vault_bytes, tickets };
        Ok(PlanResult::Cell(Box::new(cell(plan, ran, counted, &memory))))
    }

    /// Starts over at both ends; returns the reason if the system can't run the cell.
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
    ) -> Result<ClientTotals, LabError> {
        self.client.tell(&ClientOrder::Run { users, reconnections, registration })?;
        match self.client.hear_within(PATIENCE)? {
            ClientAnswer::Ran(ran) => Ok(ran),
            ClientAnswer::Failed(reason) => Err(self.failed("client", &reason)),
            other => Err(unexpected(&self.client, &other)),
        }
    }

    /// Returns the server's heap memory without connections.
    fn holds(&mut self) -> Result<Option<i64>, LabError> {
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

    /// Sends the client an order without results.
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

/// Returns the processes of both ends.
fn processes(link: &Link) -> Result<[Process; 2], LabError> {
    let start = |end| Process::start_program(endpoint::name(end), ARGUMENTS, link, end);
    Ok([start(End::Client)?, start(End::Server)?])
}

/// Returns why a cell has no numbers, if too many of its reconnections failed: the rest would not represent the load.
fn too_many_failed(ran: &ClientTotals) -> Option<String> {
    if may_fail(ran.connections, ran.failed) {
        return None;
    }
    let (failed, connections) = (ran.failed, ran.connections);
    let most = ran.why_failed.iter().max_by_key(|(_, count)| **count);
    let why = most.map_or_else(String::new, |(why, count)| format!("; {count} because: {why}"));
    Some(format!("{failed} of {connections} reconnections failed{why}"))
}

/// Whether a cell with this many reconnections has numbers despite the failures: up to half may fail.
pub(super) fn may_fail(connections: u64, failed: u64) -> bool {
    failed <= connections / 2
}

fn unexpected(process: &Process, answer: &impl std::fmt::Debug) -> LabError {
    process.failed(format!("it answers {answer:?}"))
}

/// The measurements of the server's heap, if the program measures it.
struct Memory {
    /// Of open connections.
    open_bytes: Option<i64>,
    /// That of the prepared tickets.
    vault_bytes: Option<i64>,
    tickets: usize,
}

fn cell(plan: &Plan, ran: ClientTotals, counted: ServerTotals, memory: &Memory) -> Cell {
    let each = |total: Duration| us(total) / plan.connections().max(1) as f64;
    let seconds = ran.elapsed.as_secs_f64();
    Cell {
        variant: plan.variant,
        kind: plan.kind,
        users: plan.users,
        round: plan.round,
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
        server_memory_bytes: memory.open_bytes,
        vault_bytes: memory.vault_bytes,
        tickets: memory.tickets as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_which_more_than_half_failed_has_a_reason_and_no_numbers() {
        let ran = |connections, few, many| ClientTotals {
            connections,
            failed: few + many,
            why_failed: [("a rare reason".to_owned(), few), ("silence".to_owned(), many)].into(),
            ..ClientTotals::default()
        };
        assert_eq!(too_many_failed(&ran(1_000, 0, 0)), None);
        assert_eq!(too_many_failed(&ran(1_000, 100, 400)), None);
        assert_eq!(
            too_many_failed(&ran(1_000, 100, 401)).unwrap(),
            "501 of 1000 reconnections failed; 401 because: silence"
        );
        assert!(too_many_failed(&ran(1, 0, 1)).is_some());
    }
}
