//! `tessera stek demo`: two hosts with the servers that are installed, through rotations, a crash and a revocation.

mod servers;
mod trace;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera_kit::{ProgramError, SettingFile, hex};
use tessera_proxy::admin::Metrics;
pub use tessera_proxy::demo::DemoOptions;
use tessera_proxy::demo::{self, Authority, Files, Trace, failed};
use tokio::time::sleep;
use zeroize::Zeroizing;

use self::servers::{HostServer, Kind};
use self::trace::{Actor, Outcome};
use crate::canary::{Canary, CanaryTicket};
use crate::config::LoadedStek;
use crate::load;
use crate::running::RunningRing;

/// Runs two sidecars with two servers of each kind that is installed: HAProxy, nginx, Envoy. Prints what happens to standard
/// output, and ends by itself.
///
/// # Errors
/// If a client's session was not resumed, or was after a revocation; if none of the servers is installed, or the
/// demonstration can't be set up.
pub fn demo(options: &DemoOptions) -> Result<(), ProgramError> {
    demo::run(options, story)
}

/// How often the ring rotates while all is well.
const ROTATIONS: usize = 3;

/// How long the servers may take to get in step.
const PATIENCE: Duration = Duration::from_secs(30);

/// The name of all servers.
const NAME: &str = "www.example";

async fn story(trace: &Arc<Trace>) -> Result<Outcome, ProgramError> {
    let mut stage = Stage::set(trace).await?;
    stage.cross_all().await?;

    for round in 0..ROTATIONS {
        trace.explain("");
        let tickets = stage.tickets().await?;
        stage.rotate(round % 2).await?;
        for (pool, ticket) in tickets {
            stage.come_back(pool, ticket, "a ticket from before the rotation").await?;
        }
        stage.cross_all().await?;
    }

    trace.explain("");
    let lost = &mut stage.pools[0].servers[1];
    let name = format!("{} of host {}", lost.kind.name(), lost.host);
    trace.step(Actor::Server, format!("{name} is killed"));
    lost.kill();
    trace.step(Actor::Ring, "rotates: every server held the next key before");
    stage.rotate_with(0).await?;
    wait("the other servers did not get in step", || {
        stage.sidecars[0].state().waiting_for.len() == 1
    })
    .await?;
    let refused = stage.sidecars[0].members()[0].ring.rotate().await;
    let why = refused.err().ok_or_else(|| failed("a rotation left a server behind"))?;
    trace.step(Actor::Ring, format!("refuses to rotate again: {why}"));
    stage.pools[0].servers[1].start().await?;
    stage.settle().await?;
    trace.step(Actor::Server, format!("{name} is started, and has its keys"));
    stage.cross_all().await?;

    trace.explain("");
    let tickets = stage.tickets().await?;
    stage.sidecars[1].members()[0].ring.revoke().await.map_err(failed)?;
    stage.settle().await?;
    trace.step(Actor::Ring, "all keys are revoked");
    for (pool, ticket) in tickets {
        stage.come_back_after_revocation(pool, ticket).await?;
    }
    stage.cross_all().await?;
    Ok(stage.end().await)
}

/// Two servers of one kind, on two hosts.
struct Pool {
    kind: Kind,
    servers: [HostServer; 2],
    canary: Canary,
}

/// Everything that runs, and the history so far.
struct Stage {
    trace: Arc<Trace>,
    sidecars: [Arc<RunningRing>; 2],
    pools: Vec<Pool>,
    outcome: Outcome,
    /// Dropped last.
    _files: [Files; 2],
}

impl Stage {
    async fn set(trace: &Arc<Trace>) -> Result<Self, ProgramError> {
        let installed: Vec<(Kind, PathBuf)> =
            Kind::ALL.into_iter().filter_map(|kind| Some((kind, kind.find()?))).collect();
        let names: Vec<_> = installed.iter().map(|(kind, _)| kind.name()).collect();
        if names.is_empty() {
            return Err(failed("haproxy, nginx and envoy are not installed: apt install haproxy"));
        }
        trace.explain(&format!(
            "Two hosts, each with a sidecar and {}. Clients come back to the host that did not issue their ticket.\n\n\
             \x20 servers a ── sidecar a, with the ring in a file ══ mutual TLS ══ sidecar b ── servers b\n",
            names.join(", ")
        ));
        let files = Files::make()?;
        let authority = Authority::make(&files, "ca.pem", "Demo CA")?;
        authority.certify(&files, "server.pem", NAME)?;
        authority.certify(&files, "sidecar.pem", SIDECAR)?;
        // A key next to the ring would be copied with it.
        let key = Files::make()?;
        key.write("ring.key", &random()?)?;
        let mut pools = Vec::new();
        for (kind, program) in installed {
            let prepare = |host| HostServer::prepare(kind, program.clone(), host, &files);
            let servers = [prepare("a")?, prepare("b")?];
            let ca = files.path("ca.pem");
            let ca = SettingFile { setting: "the demonstration", path: &ca };
            let canary = load::canary(NAME, ca)?;
            let canary = if kind == Kind::Envoy { canary.with_http_request() } else { canary };
            pools.push(Pool { kind, servers, canary });
        }
        let sidecars =
            [sidecar(&files, &key, &pools, 0).await?, sidecar(&files, &key, &pools, 1).await?];
        let (trace, outcome) = (trace.clone(), Outcome::default());
        let mut stage = Self { trace, sidecars, pools, outcome, _files: [files, key] };
        wait("the sidecars did not write the first keys", || {
            stage.pools.iter().flat_map(|pool| &pool.servers).all(HostServer::can_start)
        })
        .await?;
        stage.trace.step(Actor::Ring, "the sidecars have written the first keys");
        for server in stage.pools.iter_mut().flat_map(|pool| &mut pool.servers) {
            server.start().await?;
        }
        stage.settle().await?;
        stage.trace.step(Actor::Server, "all are started, and hold the ring's keys");
        Ok(stage)
    }

    /// Waits until every server seals with the newest key, and holds the next one.
    async fn settle(&self) -> Result<(), ProgramError> {
        let count = 2 * self.pools.len();
        wait("the servers did not get in step", || {
            self.sidecars.iter().all(|sidecar| {
                let state = sidecar.state();
                let newest = state.keys.first().map(|key| &key.id);
                state.is_well()
                    && state.members.len() == count
                    && state.members.iter().all(|it| it.holds_next && it.keys.first() == newest)
            })
        })
        .await
        .map_err(|error| {
            let problems = self.sidecars.iter().flat_map(|sidecar| sidecar.state().servers);
            problems.filter_map(|server| server.problem).next().map_or(error, failed)
        })
    }

    async fn rotate(&mut self, sidecar: usize) -> Result<(), ProgramError> {
        let began = Instant::now();
        self.rotate_with(sidecar).await?;
        self.settle().await?;
        let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let slowest = &mut self.outcome.slowest_rotation_millis;
        *slowest = millis.max(*slowest);
        let what = format!("rotates: in {millis} ms every server seals with the new key");
        self.trace.step(Actor::Ring, what);
        Ok(())
    }

    async fn rotate_with(&mut self, sidecar: usize) -> Result<(), ProgramError> {
        let ring = &self.sidecars[sidecar].members()[0].ring;
        ring.rotate().await.map_err(failed)?;
        self.outcome.rotations += 1;
        Ok(())
    }

    /// Has a client of each kind get a ticket at host a.
    async fn tickets(&self) -> Result<Vec<(usize, CanaryTicket)>, ProgramError> {
        let mut tickets = Vec::new();
        for (number, pool) in self.pools.iter().enumerate() {
            let ticket = pool.canary.ticket(pool.servers[0].address).await.map_err(failed)?;
            tickets.push((number, ticket));
        }
        Ok(tickets)
    }

    /// Has clients of each kind come back to the other host at once.
    async fn cross_all(&mut self) -> Result<(), ProgramError> {
        for (pool, ticket) in self.tickets().await? {
            self.come_back(pool, ticket, "a new ticket").await?;
        }
        Ok(())
    }

    async fn come_back(
        &mut self,
        pool: usize,
        ticket: CanaryTicket,
        which: &str,
    ) -> Result<(), ProgramError> {
        let is_resumed = self.offer(pool, ticket, which).await?;
        self.outcome.returned += 1;
        self.outcome.resumed += usize::from(is_resumed);
        Ok(())
    }

    async fn come_back_after_revocation(
        &mut self,
        pool: usize,
        ticket: CanaryTicket,
    ) -> Result<(), ProgramError> {
        let is_resumed = self.offer(pool, ticket, "a revoked ticket").await?;
        self.outcome.returned_after_revocation += 1;
        self.outcome.resumed_after_revocation += usize::from(is_resumed);
        Ok(())
    }

    /// Offers a ticket of host a at host b.
    async fn offer(
        &self,
        pool: usize,
        ticket: CanaryTicket,
        which: &str,
    ) -> Result<bool, ProgramError> {
        let Pool { kind, servers, canary } = &self.pools[pool];
        let is_resumed = canary.resumes(servers[1].address, ticket).await.map_err(failed)?;
        let result = if is_resumed { "resumed" } else { "a full handshake" };
        let what = format!("{which} of {} a at {} b: {result}", kind.name(), kind.name());
        self.trace.step(Actor::Client, what);
        Ok(is_resumed)
    }

    async fn end(self) -> Outcome {
        for sidecar in &self.sidecars {
            sidecar.close().await;
        }
        self.outcome
    }
}

/// The name in the certificate of both sidecars.
const SIDECAR: &str = "sidecar.example";

/// Starts the sidecar of one host. That of the first has the ring, in a file.
async fn sidecar(
    files: &Files,
    key: &Files,
    pools: &[Pool],
    host: usize,
) -> Result<Arc<RunningRing>, ProgramError> {
    let path = |name: &str| files.path(name).display().to_string();
    let (key, ca) = (key.path("ring.key").display().to_string(), path("ca.pem"));
    let certificate = path("sidecar.pem");
    let address = &pools[0].servers[0].address;
    // No server listens on this address of loopback.
    let address = format!("127.0.0.2:{}", address.port());
    let (member, store) = match host {
        0 => (
            "a",
            format!(
                "file = \"{}\"\nserve = {{ listen = \"{address}\", certificate = \"{certificate}\", ca = \"{ca}\" }}",
                path("ring")
            ),
        ),
        _ => (
            "b",
            format!(
                "etcd = {{ endpoints = [\"{address}\"], ca = \"{ca}\", server-name = \"{SIDECAR}\", certificate = \
                 \"{certificate}\" }}"
            ),
        ),
    };
    let sections: String = pools.iter().map(|pool| pool.servers[host].section()).collect();
    let name = format!("{member}-stek.toml");
    let text = format!("[ring]\nkey = \"{key}\"\nmember = \"{member}\"\n{store}\n{sections}");
    files.write(&name, &text)?;
    let loaded = LoadedStek::read(&files.path(&name))?;
    let running = RunningRing::start(&loaded.stek, &Metrics::new()).await;
    running.map_err(|error| loaded.locate(error))
}

/// Returns a key, in hexadecimal.
fn random() -> Result<String, ProgramError> {
    let mut key = Zeroizing::new([0; 32]);
    let filled = tessera_aws_lc::provider().random.fill(&mut *key);
    filled.map_err(|_| failed("the system has no random bytes"))?;
    Ok(hex::encode(&*key))
}

/// Waits until a condition holds.
async fn wait(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), ProgramError> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return Err(failed(format_args!("{what} within {} s", PATIENCE.as_secs())));
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
