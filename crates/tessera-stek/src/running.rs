//! The servers of a process, each a member of the ring.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_kit::clock::unix;
use tessera_proxy::admin::{Answer, Metrics, Routes};
use tessera_ring::{
    FleetRing, MemberOptions, RingCache, RingKeys, RingOptions, RingParts, RingStatus, system_clock,
};
use tokio::time::sleep;

use crate::cache::CacheFile;
use crate::canaries::{CanaryResults, ServerCanary};
use crate::config::Stek;
use crate::load;
use crate::metrics::RingMetrics;
use crate::serve;
use crate::state::{ChangeKind, RequestedChange, StekState, canary_states};

/// All servers of a configuration, while they are members.
pub(crate) struct RunningRing {
    members: Vec<RunningMember>,
    /// The last change that was requested here.
    change: Mutex<Option<RequestedChange>>,
    canaries: CanaryResults,
}

/// A server that is a member.
pub(crate) struct RunningMember {
    /// Its name in the ring: `HOST/KIND.NAME`.
    pub(crate) name: String,
    pub(crate) ring: FleetRing,
}

/// How often canaries look: a tenth of `rotate-every`, within these bounds.
const FASTEST_CANARY: Duration = Duration::from_secs(2);
const SLOWEST_CANARY: Duration = Duration::from_secs(10);

/// How often the metrics follow the ring.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

impl RunningRing {
    /// Joins the ring with each server, whether or not the store and the servers can be reached.
    ///
    /// The files that servers read when they start exist when this returns, with random keys if need be: a server that
    /// waits for the sidecar can then start whatever became of the store.
    pub(crate) async fn start(stek: &Stek, metrics: &Metrics) -> Result<Arc<Self>, ProgramError> {
        let store = load::store(&stek.ring)?;
        if let Some(section) = &stek.ring.serve {
            serve::start(section, store.clone())?;
        }
        let wrapping = Arc::new(load::wrapping(&stek.ring)?);
        let host = load::member(&stek.ring)?;
        let metrics = RingMetrics::register(metrics);
        let canaries = CanaryResults::default();
        let mut members = Vec::new();
        for server in load::servers(stek)? {
            let name = format!("{host}/{}", server.name);
            let cache = stek.ring.cache.as_ref().map(|path| CacheFile::of(path, &server.name));
            let installer = (server.open)()?;
            if server.key_files.iter().any(|path| is_missing(path)) {
                // It fails after it has written the files, since the server isn't running.
                let _ = installer.install(&RingKeys::default()).await;
            }
            let parts = RingParts {
                store: store.clone(),
                provider: tessera_aws_lc::provider(),
                wrapping: wrapping.clone(),
                installer,
                cache: cache.map(|cache| Arc::new(cache) as Arc<dyn RingCache>),
                clock: system_clock(),
            };
            let member = MemberOptions { name: Some(name.clone()), traits: server.traits };
            let ring =
                FleetRing::open(parts, RingOptions { member, ..load::ring(&stek.ring).options() });
            let ring = ring.map_err(|_| {
                ProgramError::failed("the ring of ticket keys", "the system has no random bytes")
            })?;
            if let Some((canary, address)) = server.canary {
                let canary = ServerCanary {
                    canary,
                    address,
                    member: name.clone(),
                    store: store.clone(),
                    wrapping: wrapping.clone(),
                    prefix: format!("{}{}/", load::canary_prefix(&stek.ring), server.pool),
                    issuing: ring.issuing(),
                    every: (stek.ring.rotate_every / 10).clamp(FASTEST_CANARY, SLOWEST_CANARY),
                    metrics: metrics.clone(),
                    results: canaries.clone(),
                };
                tokio::spawn(canary.run());
            }
            members.push(RunningMember { name, ring });
        }
        let running = Arc::new(Self { members, change: Mutex::default(), canaries });
        tokio::spawn(follow(Arc::downgrade(&running), metrics));
        Ok(running)
    }

    pub(crate) fn members(&self) -> &[RunningMember] {
        &self.members
    }

    /// Returns the paths of the admin port: the ring's state, and requests to change it.
    pub(crate) fn routes(self: &Arc<Self>) -> Routes {
        let (state, rotate, revoke) = (self.clone(), self.clone(), self.clone());
        Routes::new()
            .get("/ring", move |_| match serde_json::to_string(&state.state()) {
                Ok(json) => Answer::json(json),
                Err(error) => Answer::conflict(error),
            })
            .post("/ring/rotate", move |_| rotate.begin(ChangeKind::Rotate))
            .post("/ring/revoke", move |_| revoke.begin(ChangeKind::Revoke))
    }

    pub(crate) fn state(&self) -> StekState {
        let canaries = self.canaries.lock().unwrap_or_else(PoisonError::into_inner).clone();
        StekState {
            canaries: canary_states(&canaries),
            ..StekState::of(self.statuses(), self.change().clone(), unix())
        }
    }

    fn statuses(&self) -> impl Iterator<Item = (&str, RingStatus)> {
        self.members.iter().map(|it| (it.name.as_str(), it.ring.status()))
    }

    /// Begins a change, unless one is in progress.
    fn begin(self: &Arc<Self>, kind: ChangeKind) -> Answer {
        let mut change = self.change();
        if change.as_ref().is_some_and(|change| change.result.is_none()) {
            return Answer::conflict("another change of the ring is in progress; try again");
        }
        let number = change.as_ref().map_or(0, |change| change.number) + 1;
        *change = Some(RequestedChange { number, kind, result: None });
        let running = self.clone();
        tokio::spawn(async move {
            let result = match running.members.first() {
                Some(member) if kind == ChangeKind::Rotate => member.ring.rotate().await,
                Some(member) => member.ring.revoke().await,
                None => Ok(()),
            };
            let result = result.map_or_else(|error| error.to_string(), |()| "done".to_owned());
            *running.change() = Some(RequestedChange { number, kind, result: Some(result) });
        });
        Answer::accepted(number)
    }

    /// Leaves the ring. The servers keep their keys.
    pub(crate) async fn close(&self) {
        for member in &self.members {
            member.ring.close().await;
        }
    }

    fn change(&self) -> MutexGuard<'_, Option<RequestedChange>> {
        self.change.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server can't start with this file.
fn is_missing(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |metadata| metadata.len() == 0)
}

/// Sets the metrics, while the ring runs.
async fn follow(running: std::sync::Weak<RunningRing>, metrics: RingMetrics) {
    while let Some(ring) = running.upgrade() {
        metrics.follow(ring.statuses(), unix());
        drop(ring);
        sleep(FOLLOW_EVERY).await;
    }
}
