//! Members whose servers record what they hold.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, io};

use tessera_aws_lc::provider;
use tessera_ring::{
    FleetRing, InstallRefused, Installation, Installer, MemberOptions, MemberTraits, RingCache,
    RingKeys, RingOptions, RingParts,
};
use tessera_store::{
    ChangedEntry, FileStore, LeaseId, Pending, Revision, Snapshot, Store, StoreError, Transaction,
    Watch,
};
use tessera_vault::{EpochKey, Rotation, WrappingKeys, WrappingPurpose};
use tokio::time::sleep;

pub const HOUR: Duration = Duration::from_secs(3600);
pub const SECOND: Duration = Duration::from_secs(1);
const START: Duration = Duration::from_secs(1_800_000_000);

/// A store, and the true time.
pub struct World {
    pub store: Arc<FileStore>,
    /// Whether the store can't be reached by members that join from now on.
    pub members_are_cut: bool,
    directory: PathBuf,
    /// In milliseconds since the Unix epoch.
    time: Arc<AtomicU64>,
}

pub struct Member {
    pub ring: FleetRing,
    pub server: Arc<Server>,
    pub link: Arc<Link>,
}

/// A server that holds what it is given, unless it refuses.
#[derive(Default)]
pub struct Server {
    held: Mutex<Held>,
    pub refuses: AtomicBool,
    pub installs: AtomicU32,
}

/// Ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    pub issuing: Option<[u8; 16]>,
    pub next: Option<[u8; 16]>,
    pub earlier: Vec<[u8; 16]>,
}

/// The path of one member to the store, which can be cut.
pub struct Link {
    store: Arc<FileStore>,
    pub is_cut: Arc<AtomicBool>,
    /// Requests arrive, and their answers don't.
    pub loses_answers: AtomicBool,
}

#[derive(Default)]
pub struct MemoryCache(pub Mutex<Option<Vec<u8>>>);

impl World {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-ring-{}-{count}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        // Left by an earlier process with this id.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        let store = Arc::new(FileStore::open(&directory.join("store")).unwrap());
        let time = Arc::new(AtomicU64::new(START.as_millis() as u64));
        Self { store, members_are_cut: false, directory, time }
    }

    pub fn options(name: &str) -> RingOptions {
        RingOptions {
            counts_as_live_for: Duration::from_secs(2),
            look_every: Duration::from_millis(50),
            rotation: Rotation {
                issue_for: HOUR * 2,
                open_for: HOUR,
                skew: Duration::from_secs(60),
            },
            member: MemberOptions { name: Some(name.into()), ..MemberOptions::default() },
            ..RingOptions::new("/ring/")
        }
    }

    pub fn join(&self, name: &str) -> Member {
        self.join_with(Self::options(name), None)
    }

    pub fn join_with(&self, options: RingOptions, cache: Option<Arc<MemoryCache>>) -> Member {
        let wrapping = WrappingKeys::new(&provider(), WrappingPurpose::TicketKeys);
        wrapping.add(EpochKey::forever([1; 16], [7; 32].into()), START).unwrap();
        let time = self.time.clone();
        let is_cut = Arc::new(AtomicBool::new(self.members_are_cut));
        let loses_answers = AtomicBool::default();
        let link = Arc::new(Link { store: self.store.clone(), is_cut, loses_answers });
        let server = Arc::new(Server::default());
        let parts = RingParts {
            store: link.clone(),
            provider: provider(),
            wrapping: Arc::new(wrapping),
            installer: server.clone(),
            cache: cache.map(|cache| cache as Arc<dyn RingCache>),
            clock: Box::new(move || Duration::from_millis(time.load(Ordering::Relaxed))),
        };
        Member { ring: FleetRing::open(parts, options).unwrap(), server, link }
    }

    pub fn pass(&self, time: Duration) {
        self.time.fetch_add(time.as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns all entries of the store.
    pub async fn entries(&self) -> Snapshot {
        self.store.read(b"").await.unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

pub fn traits(kind: &str, issuer: &str) -> MemberTraits {
    let values = BTreeMap::from([("issuer".to_owned(), issuer.to_owned())]);
    MemberTraits { kind: kind.to_owned(), values }
}

impl Member {
    pub fn held(&self) -> Held {
        self.server.held.lock().unwrap().clone()
    }

    pub fn problem(&self) -> Option<String> {
        self.ring.status().problem
    }
}

impl Installer for Server {
    fn install<'a>(&'a self, keys: &'a RingKeys) -> Installation<'a> {
        Box::pin(async move {
            if self.refuses.load(Ordering::Relaxed) {
                return Err(InstallRefused("the server is down".into()));
            }
            self.installs.fetch_add(1, Ordering::Relaxed);
            *self.held.lock().unwrap() = Held {
                issuing: keys.issuing.as_ref().map(|key| key.id),
                next: keys.next.as_ref().map(|key| key.id),
                earlier: keys.earlier.iter().map(|key| key.id).collect(),
            };
            Ok(())
        })
    }
}

impl RingCache for MemoryCache {
    fn load(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn save(&self, sealed: &[u8]) -> io::Result<()> {
        *self.0.lock().unwrap() = Some(sealed.to_vec());
        Ok(())
    }
}

impl Link {
    fn check(&self) -> Result<(), StoreError> {
        match self.is_cut.load(Ordering::Relaxed) {
            true => Err(StoreError::NotSent("cut".into())),
            false => Ok(()),
        }
    }

    /// Passes a request on, and its answer back.
    fn pass<'a, T: Send>(
        &'a self,
        request: impl Future<Output = Result<T, StoreError>> + Send + 'a,
    ) -> Pending<'a, T> {
        Box::pin(async move {
            self.check()?;
            let answer = request.await;
            match self.loses_answers.load(Ordering::Relaxed) {
                true => Err(StoreError::Unknown("no answer".into())),
                false => answer,
            }
        })
    }
}

impl Store for Link {
    fn read<'a>(&'a self, prefix: &'a [u8]) -> Pending<'a, Snapshot> {
        self.pass(self.store.read(prefix))
    }

    fn commit(&self, transaction: Transaction) -> Pending<'_, Option<Revision>> {
        self.pass(self.store.commit(transaction))
    }

    fn grant(&self, lifetime: Duration) -> Pending<'_, LeaseId> {
        self.pass(self.store.grant(lifetime))
    }

    fn keep_alive<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, bool> {
        self.pass(self.store.keep_alive(lease))
    }

    fn revoke<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, ()> {
        self.pass(self.store.revoke(lease))
    }

    fn watch<'a>(&'a self, prefix: &'a [u8], after: Revision) -> Pending<'a, Box<dyn Watch>> {
        Box::pin(async move {
            self.check()?;
            let watch = self.store.watch(prefix, after).await?;
            let is_cut = self.is_cut.clone();
            Ok(Box::new(LinkWatch { watch, is_cut }) as Box<dyn Watch>)
        })
    }
}

/// A watch through a link: it ends once the link is cut.
struct LinkWatch {
    watch: Box<dyn Watch>,
    is_cut: Arc<AtomicBool>,
}

impl Watch for LinkWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(async move {
            let changes = self.watch.next().await;
            match self.is_cut.load(Ordering::Relaxed) {
                true => Err(StoreError::NotSent("cut".into())),
                false => changes,
            }
        })
    }
}

/// Waits until a condition holds.
pub async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until all members hold the same keys, one of which seals, and no member is waited for.
pub async fn settled(members: &[&Member]) {
    until("the ring settles", || {
        members.iter().all(|member| {
            let (status, held) = (member.ring.status(), member.held());
            held == members[0].held()
                && held.issuing.is_some()
                && held.next.is_some()
                && status.members.len() == members.len()
                && status.waiting_for.is_empty()
                && status.members.iter().all(|it| it.keys.first() == held.issuing.as_ref())
        })
    })
    .await;
}
