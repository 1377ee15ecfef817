//! Three operators with a SEPP each, and an adversary on the path between two of them.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use tessera_kit::ProgramError;
use tessera_proxy::address::DialAddress;
use tessera_proxy::demo::{
    Adversary, Files, HOME, OperatorIdentity, THIRD, Trace, VISITED, failed as stage_failed,
};
use tessera_proxy::http::body::Body;
use tessera_proxy::http::client::{Call, Plaintext, Pool, PoolOptions, Protocol};
use tessera_proxy::http::deadline::Deadline;

use super::functions::Functions;
use super::operator::{Counts, Operator};
use super::registration::{Function, Transaction};
use super::trace::{self, Actor, Attempt, Connection, Outcome};
use crate::n32c::State;
use crate::names::Fqdn;

/// The scene: everything that runs, and what has happened.
pub(super) struct Stage {
    pub(super) trace: Arc<Trace>,
    pub(super) functions: Functions,
    pub(super) home: Operator,
    visited: Operator,
    pub(super) third: Operator,
    adversary: Adversary,
    /// The connections of the visited network's functions to their SEPP.
    sbi: Pool,
    /// The function in the NRF's last answer.
    discovered: Option<String>,
    /// The home network's counters when the last connection was reported.
    counted: Counts,
    /// The duration of the first request on the connection that isn't reported yet.
    first: Option<Duration>,
    /// The number of requests that the visited network's SEPP had then sent in first flights.
    early: u64,
    asked: usize,
    transactions: usize,
    replays: usize,
    executed_again: usize,
    /// Dropped last.
    _files: Files,
}

impl Stage {
    pub(super) async fn set(trace: &Arc<Trace>) -> Result<Self, ProgramError> {
        let files = Files::make()?;
        for who in [HOME, VISITED, THIRD] {
            who.certify(&files)?;
        }
        let functions = Functions::start().await.map_err(stage_failed)?;
        let [at_home, at_visited, at_third] = free_ports()?;
        let hosts = format!(
            "[sbi.hosts]\n\
             \"nrf.5gc.mnc070.mcc999.3gppnetwork.org\" = \"{}\"\n\
             \"ausf.5gc.mnc070.mcc999.3gppnetwork.org\" = \"{}\"\n\
             \"udm.5gc.mnc070.mcc999.3gppnetwork.org\" = \"{}\"\n",
            functions.nrf, functions.ausf, functions.udm
        );
        let nrf = "[nrf]\nuri = \"http://nrf.5gc.mnc070.mcc999.3gppnetwork.org\"\n";
        let of_visited = peer(VISITED, at_visited, true, "");
        let of_third = peer(THIRD, at_third, false, "");
        let tables = format!("{hosts}{nrf}{of_visited}{of_third}");
        let home = Operator::start(&files, HOME, at_home, &tables).await?;

        let n32f = home.address("n32f")?;
        let adversary = Adversary::stand_before(n32f, DELAY).await.map_err(stage_failed)?;
        let on_path = format!("n32f-address = [\"{}\"]\n", adversary.address);
        let of_home = peer(HOME, at_home, true, &on_path);
        let visited = Operator::start(&files, VISITED, at_visited, &of_home).await?;
        let of_home = peer(HOME, at_home, false, "");
        let third = Operator::start(&files, THIRD, at_third, &of_home).await?;

        let address = DialAddress::Tcp(visited.address("sbi")?);
        let plaintext = Arc::new(Plaintext(Protocol::Http2));
        let sbi = Pool::new(plaintext, address, PoolOptions::default());
        Ok(Self {
            trace: trace.clone(),
            functions,
            counted: home.counts(),
            home,
            visited,
            third,
            adversary,
            sbi,
            discovered: None,
            first: None,
            early: 0,
            asked: 0,
            transactions: 0,
            replays: 0,
            executed_again: 0,
            _files: files,
        })
    }

    /// N32-c: both sides exchange capabilities.
    pub(super) async fn agree(&mut self) -> Result<(), ProgramError> {
        let exchanged = |role| {
            move |counts: &Counts| {
                let labels = [("peer", VISITED.fqdn), ("role", role), ("result", "ok")];
                counts.of("sepp_n32c_handshakes_total", &labels) > 0
            }
        };
        let is_registered = |counts: &Counts| counts.of("sepp_nrf_registered", &[]) == 1;
        if !is_registered(&self.home.until(is_registered).await) {
            return Err(stage_failed("the SEPP of 999-70 could not register at its NRF"));
        }
        self.trace.step(Actor::HomeSepp, "Nnrf_NFManagement_NFRegister: registered at its NRF");
        self.visited_begins().await?;
        let answered = exchanged("responder");
        if !answered(&self.home.until(&answered).await) {
            return Err(stage_failed("the SEPP of 001-01 could not agree on N32"));
        }
        self.trace.step(Actor::VisitedSepp, "N32-c: exchange-capability with 999-70: TLS chosen");
        let began = exchanged("initiator");
        if !began(&self.home.counts()) {
            let visited: Fqdn = VISITED.fqdn.parse().map_err(stage_failed)?;
            self.home.sepp.sepp().associations().reestablish(&visited);
        }
        if !began(&self.home.until(&began).await) {
            return Err(stage_failed("the SEPP of 999-70 could not agree on N32"));
        }
        self.trace.step(Actor::HomeSepp, "N32-c: exchange-capability with 001-01: TLS chosen");
        let (Some(one), Some(other)) =
            (self.home.association(VISITED), self.visited.association(HOME))
        else {
            return Err(stage_failed("there is no association"));
        };
        if one.id != other.id {
            return Err(stage_failed("the two SEPPs agreed on different terms"));
        }
        self.trace.step(
            Actor::HomeSepp,
            format!("N32-c is done, and its connection closes; association {} stands", one.id),
        );
        self.counted = self.home.counts();
        Ok(())
    }

    async fn visited_begins(&self) -> Result<(), ProgramError> {
        let home: Fqdn = HOME.fqdn.parse().map_err(stage_failed)?;
        let associations = self.visited.sepp.sepp().associations();
        let agreed = associations.ensure(&home, Deadline::after(PATIENCE)).await;
        agreed.map(|_| ()).map_err(stage_failed)
    }

    /// Sends a request from a function of the visited network to one of the home network.
    pub(super) async fn ask(
        &mut self,
        transaction: &Transaction,
        number: usize,
    ) -> Result<(), ProgramError> {
        self.asked += 1;
        let target = match (transaction.function, &self.discovered) {
            (Function::Discovered, Some(name)) => name.as_str(),
            _ => "nrf.5gc.mnc070.mcc999.3gppnetwork.org",
        };
        let query = if transaction.query.is_empty() { "" } else { "?" };
        let uri =
            format!("http://{}{}{query}{}", VISITED.fqdn, transaction.path, transaction.query);
        let mut request = Request::builder()
            .method(transaction.method)
            .uri(uri)
            .header("3gpp-sbi-target-apiroot", format!("http://{target}"));
        if !transaction.body.is_empty() {
            let kind = match transaction.method {
                "PATCH" => "application/merge-patch+json",
                _ => "application/json",
            };
            request = request.header(CONTENT_TYPE, kind);
        }
        let body = Body::full(Bytes::from_static(transaction.body.as_bytes()));
        let request = request.body(body).map_err(stage_failed)?;
        let began = Instant::now();
        let call = Call::until(Deadline::after(PATIENCE));
        let answer = self.sbi.call(request, call).await.map_err(stage_failed)?.response;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect_up_to(1 << 20).await.map_err(stage_failed)?.data;
        let took = began.elapsed();
        self.first.get_or_insert(took);
        self.trace.print(&trace::Transaction {
            at: self.trace.now(),
            number,
            operation: transaction.operation,
            method: transaction.method,
            path: transaction.path.to_owned(),
            sent: transaction.body.len(),
            received: body.len(),
            status,
            micros: micros(took),
        });
        if status != transaction.status {
            return Err(ProgramError::Failed(format!(
                "{} {}: {status} instead of {}: {}",
                transaction.method,
                transaction.path,
                transaction.status,
                String::from_utf8_lossy(&body)
            )));
        }
        if transaction.function == Function::Nrf {
            let found: Value = serde_json::from_slice(&body).map_err(stage_failed)?;
            let name = found["nfInstances"][0]["fqdn"].as_str();
            self.discovered = Some(name.ok_or_else(|| stage_failed("nothing discovered"))?.into());
        }
        if number > 0 {
            self.transactions += 1;
        }
        Ok(())
    }

    /// Returns the N32-f connection that was opened since the last call.
    pub(super) async fn connection(&mut self) -> Result<Connection, ProgramError> {
        let peer = [("peer", VISITED.fqdn)];
        let of = |counts: &Counts| counts.of(HANDSHAKES, &peer);
        let before = of(&self.counted);
        let counts = self.home.until(|counts| of(counts) > before).await;
        let mode = counts.moved(&self.counted, HANDSHAKES, "mode");
        let mode = mode.ok_or_else(|| stage_failed("not one N32-f connection was made"))?;
        self.counted = counts;
        let took = self.first.take().unwrap_or_default();
        let early = self.visited.counts().of("sepp_early_requests_total", &[]);
        let round_trips = if early > self.early { 0 } else { 1 };
        self.early = early;
        let at = self.trace.now();
        let connection = Connection { at, mode, round_trips, micros: micros(took) };
        self.trace.print(&connection);
        Ok(connection)
    }

    /// Both operators allow early data from each other: by a reload, as SIGHUP does.
    pub(super) fn opt_in(&mut self) -> Result<(), ProgramError> {
        for (operator, actor) in
            [(&self.home, Actor::HomeSepp), (&self.visited, Actor::VisitedSepp)]
        {
            operator.reload(FORWARD_SECRET, NEVER)?;
            self.trace.step(actor, format!("reloads: {FORWARD_SECRET}; earlier tickets are void"));
        }
        self.first = None;
        Ok(())
    }

    /// Breaks all connections of N32-f.
    pub(super) fn lose(&mut self, actor: Actor, then: &str) {
        self.adversary.cut();
        if let Ok(home) = HOME.fqdn.parse() {
            // Close the remaining ends too: otherwise the next request would discover the loss.
            self.visited.sepp.sepp().close(&home);
        }
        self.first = None;
        self.trace.step(actor, format!("its N32-f connection is lost, {then}"));
    }

    /// The adversary replays the last first flight, and observes the result.
    pub(super) async fn replay(&mut self, transaction: &Transaction) -> Result<(), ProgramError> {
        let mut last = None;
        // The last connection had the request in its first flight.
        for _ in 0..CONNECTIONS {
            last = self.adversary.recording().await;
        }
        let flight = last.ok_or_else(|| stage_failed("the adversary recorded nothing"))?;
        let executed = || self.functions.executed(transaction.method, transaction.path);
        let before = executed();
        for _ in 0..REPLAYS {
            self.replays += 1;
            let what = format!("sends the recorded first flight again, {} bytes", flight.len());
            self.trace.step(Actor::Adversary, what);
            self.adversary.replay(&flight, SILENCE).await.map_err(stage_failed)?;
        }
        let again = executed() - before;
        self.executed_again += again;
        let what = match again {
            0 => "its one-time key is gone: the UDM has executed nothing more".to_owned(),
            _ => "ACCEPTS IT: the UDM has executed it again".to_owned(),
        };
        self.trace.step(Actor::HomeSepp, what);
        self.counted = self.home.counts();
        Ok(())
    }

    pub(super) async fn end(
        self,
        connections: [Connection; CONNECTIONS],
        attempts: Vec<(Attempt, bool)>,
    ) -> Result<Outcome, ProgramError> {
        let executed = self.functions.all_executed();
        self.trace.step(Actor::VisitedSepp, "ends: sends NONE to 999-70 over N32-c");
        self.visited.end().await?;
        let peers = self.home.sepp.sepp().associations().peers();
        let is_visited = |fqdn: &Fqdn| fqdn.as_str() == VISITED.fqdn;
        let state = peers.into_iter().find(|peer| is_visited(&peer.fqdn)).map(|peer| peer.state);
        let ended_by_none = matches!(state, Some(State::Terminated(_)));
        let state = state.as_ref().map_or("unknown", State::as_str);
        self.trace.step(Actor::HomeSepp, format!("the association with 001-01 is {state}"));
        self.home.end().await?;
        let left_nrf = self.functions.registrations("DELETE") == 1;
        let what = if left_nrf { "deregistered at its NRF" } else { "NOT DEREGISTERED AT ITS NRF" };
        self.trace.step(Actor::HomeSepp, format!("Nnrf_NFManagement_NFDeregister: {what}"));
        self.third.end().await?;
        let [full, .., early] = &connections;
        Ok(Outcome {
            transactions: self.transactions,
            asked: self.asked,
            executed,
            replays: self.replays,
            executed_again: self.executed_again,
            attempts: attempts.len(),
            refused: attempts.iter().filter(|(_, refused)| *refused).count(),
            ended_by_none,
            left_nrf,
            was_early: early.round_trips == 0,
            full_micros: full.micros,
            early_micros: early.micros,
            modes: connections.into_iter().map(|connection| connection.mode).collect(),
        })
    }
}

/// Returns the tables of a peer, with its trust anchor.
fn peer(who: OperatorIdentity, n32c: SocketAddr, initiate: bool, more: &str) -> String {
    let name = who.name;
    format!(
        "{}{}address = [\"{n32c}\"]\ninitiate = {initiate}\n{more}\
         [peer.{name}.reconnection]\n{NEVER}\n",
        who.trust(format_args!("{name}-ca.pem")),
        who.peer()
    )
}

/// Returns unused ports: each SEPP needs the others' addresses before they run.
fn free_ports() -> Result<[SocketAddr; 3], ProgramError> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(stage_failed);
    let listeners = [bind()?, bind()?, bind()?];
    let of = |listener: &TcpListener| listener.local_addr().map_err(stage_failed);
    let [one, two, three] = &listeners;
    Ok([of(one)?, of(two)?, of(three)?])
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Requests in first flights: the initial setting, and the one after both operators opt in.
const NEVER: &str = "early-data = \"never\"";
const FORWARD_SECRET: &str = "early-data = \"fs\"";

const HANDSHAKES: &str = "sepp_tls_handshakes_total";

/// The one-way delay between two SEPPs: about that between neighbouring countries.
pub(super) const DELAY: Duration = Duration::from_millis(20);

/// The number of N32-f connections in the story.
pub(super) const CONNECTIONS: usize = 4;

/// How long the adversary waits for an answer to a replay.
const SILENCE: Duration = Duration::from_millis(250);

/// The number of replays.
const REPLAYS: usize = 2;

/// The timeout of anything that should happen immediately.
const PATIENCE: Duration = Duration::from_secs(5);
