//! A pool of proxies on a store in a file, with a clock of its own.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tessera_bindings::{
    Binding, BindingTable, Bindings, ClientName, Generation, Import, MoveTimes, PoolSettings,
    ProxyEntry, ProxyLease, ProxyName,
};
use tessera_store::{
    Change, ChangedEntry, FileStore, LeaseId, Pending, Revision, Snapshot, Store, StoreError,
    Transaction, Watch,
};
use tokio::time::sleep;

pub const TIMES: MoveTimes = MoveTimes {
    dwell: Duration::from_secs(30),
    prepare: Duration::from_secs(5),
    announce: Duration::from_secs(60),
    drain: Duration::from_secs(40),
};

/// Long enough for a test, whatever else the machine does.
const LIFETIME: Duration = Duration::from_secs(60);

/// When the world begins, in milliseconds since the Unix epoch.
const START: u64 = 1_800_000_000_000;

pub struct World {
    pub store: Arc<HookedStore>,
    pub bindings: Bindings,
    time: Arc<AtomicU64>,
    directory: PathBuf,
}

impl World {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-bindings-{}-{count}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        // Left by an earlier process with this id.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).unwrap();
        let store = FileStore::open(&directory.join("store")).unwrap();
        let store = Arc::new(HookedStore {
            store,
            before_commit: Mutex::default(),
            granted: Mutex::default(),
            gathers: AtomicUsize::new(0),
            commits: AtomicUsize::new(0),
            holds_renewals: AtomicBool::new(false),
            is_renewing: AtomicBool::new(false),
            is_lost: Arc::default(),
            reads: AtomicUsize::new(0),
            is_frozen: Arc::default(),
        });
        let time = Arc::new(AtomicU64::new(START));
        let clock = time.clone();
        let now = move || Duration::from_millis(clock.load(Ordering::Relaxed));
        let bindings = Bindings::new(store.clone(), "/pool/", TIMES, now);
        Self { store, bindings, time, directory }
    }

    /// Lets time pass for the bindings; leases go by the real time.
    pub fn pass(&self, time: Duration) {
        let millis = u64::try_from(time.as_millis()).unwrap();
        self.time.fetch_add(millis, Ordering::Relaxed);
    }

    /// Makes a proxy live, and waits until it is.
    pub async fn join(&self, name: &str) -> ProxyLease {
        self.join_as(name, "same").await
    }

    pub async fn join_as(&self, name: &str, resumption: &str) -> ProxyLease {
        self.join_with(name, entry(name, resumption)).await
    }

    /// Makes a proxy live with this entry, in place of an earlier process of its name.
    pub async fn join_with(&self, name: &str, entry: ProxyEntry) -> ProxyLease {
        let table = self.table().await;
        let lease = self.bindings.join(&proxy(name), entry.clone(), LIFETIME).unwrap();
        until("the proxy is live", || table.proxy(&proxy(name)).as_ref() == Some(&entry)).await;
        lease
    }

    pub async fn table(&self) -> BindingTable {
        let table = self.bindings.table();
        until("the table is current", || table.is_current()).await;
        table
    }

    /// Returns a table that stays as it is.
    pub async fn frozen_table(&self) -> BindingTable {
        self.store.is_frozen.store(true, Ordering::Relaxed);
        let table = self.table().await;
        self.store.is_frozen.store(false, Ordering::Relaxed);
        table
    }

    /// Moves a client up to the announcement.
    pub async fn announce(&self, client: &ClientName, next: &str) -> Binding {
        self.announce_with(client, next, 0).await
    }

    /// Moves a client whose state has this version up to the announcement.
    pub async fn announce_with(&self, client: &ClientName, next: &str, version: u64) -> Binding {
        let next = proxy(next);
        let generation = self.bindings.begin(client, &next).await.unwrap().generation;
        self.bindings.prepared(client, generation, &next, &import(version)).await.unwrap();
        self.bindings.announce(client, generation).await.unwrap()
    }
}

/// A store in which something else happens right before a commit.
pub struct HookedStore {
    store: FileStore,
    before_commit: Mutex<Option<Hook>>,
    granted: Mutex<Vec<LeaseId>>,
    /// How many commits began, and until how many have begun each waits.
    commits: AtomicUsize,
    gathers: AtomicUsize,
    /// Renewals wait before they reach the store.
    pub holds_renewals: AtomicBool,
    pub is_renewing: AtomicBool,
    /// The store is lost: reads, renewals and watches fail.
    pub is_lost: Arc<AtomicBool>,
    /// How often it was read.
    pub reads: AtomicUsize,
    /// Watches that begin now report nothing.
    is_frozen: Arc<AtomicBool>,
}

/// The changes, until the store is lost.
struct HookedWatch(Box<dyn Watch>, Arc<AtomicBool>);

/// No changes.
struct FrozenWatch;

impl Watch for FrozenWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(std::future::pending())
    }
}

impl Watch for HookedWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(async move {
            let lost = async {
                while !self.1.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(2)).await;
                }
            };
            tokio::select! {
                changes = self.0.next() => changes,
                () = lost => Err(away()),
            }
        })
    }
}

fn away() -> StoreError {
    StoreError::Unknown("the store is lost".into())
}

type Hook = Pin<Box<dyn Future<Output = ()> + Send>>;

impl HookedStore {
    /// Lets `happening` take place before the next commit.
    pub fn before_next_commit(&self, happening: impl Future<Output = ()> + Send + 'static) {
        *self.before_commit.lock().unwrap() = Some(Box::pin(happening));
    }

    /// Lets the next commits wait until so many have begun.
    pub fn gathers_more(&self, count: usize) {
        self.gathers.store(self.commits.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// Returns how many leases were granted.
    pub fn granted(&self) -> usize {
        self.granted.lock().unwrap().len()
    }

    /// Ends all leases.
    pub async fn revoke_granted(&self) {
        let granted = self.granted.lock().unwrap().clone();
        for lease in granted {
            self.store.revoke(&lease).await.unwrap();
        }
    }
}

impl Store for HookedStore {
    fn read<'a>(&'a self, prefix: &'a [u8]) -> Pending<'a, Snapshot> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match self.is_lost.load(Ordering::Relaxed) {
            true => Box::pin(async { Err(away()) }),
            false => self.store.read(prefix),
        }
    }

    fn commit(&self, transaction: Transaction) -> Pending<'_, Option<Revision>> {
        Box::pin(async move {
            // A table may write its mark at any time.
            let is_mark =
                |change: &Change| matches!(change, Change::Put { key, .. } if key == b"/pool/m/0:");
            let hook = match transaction.changes.iter().any(is_mark) {
                true => None,
                false => self.before_commit.lock().unwrap().take(),
            };
            if let Some(hook) = hook {
                hook.await;
            }
            self.commits.fetch_add(1, Ordering::Relaxed);
            while self.commits.load(Ordering::Relaxed) < self.gathers.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(2)).await;
            }
            self.store.commit(transaction).await
        })
    }

    fn grant(&self, lifetime: Duration) -> Pending<'_, LeaseId> {
        Box::pin(async move {
            let lease = self.store.grant(lifetime).await?;
            self.granted.lock().unwrap().push(lease.clone());
            Ok(lease)
        })
    }

    fn keep_alive<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, bool> {
        Box::pin(async move {
            while self.holds_renewals.load(Ordering::Relaxed) {
                self.is_renewing.store(true, Ordering::Relaxed);
                sleep(Duration::from_millis(2)).await;
            }
            match self.is_lost.load(Ordering::Relaxed) {
                true => Err(away()),
                false => self.store.keep_alive(lease).await,
            }
        })
    }

    fn revoke<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, ()> {
        self.store.revoke(lease)
    }

    fn watch<'a>(&'a self, prefix: &'a [u8], after: Revision) -> Pending<'a, Box<dyn Watch>> {
        Box::pin(async move {
            if self.is_frozen.load(Ordering::Relaxed) {
                return Ok(Box::new(FrozenWatch) as Box<dyn Watch>);
            }
            let watch = self.store.watch(prefix, after).await?;
            Ok(Box::new(HookedWatch(watch, self.is_lost.clone())) as Box<dyn Watch>)
        })
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

pub fn proxy(name: &str) -> ProxyName {
    ProxyName(name.into())
}

pub fn client(name: &str) -> ClientName {
    ClientName::new(name).unwrap()
}

pub fn generation(number: u64) -> Generation {
    // The first is from the clock: milliseconds.
    Generation(START + number - 1)
}

pub fn import(version: u64) -> Import {
    Import { version, keeps_state: false, resumption: "same".into(), life: "first".into() }
}

pub fn entry(name: &str, resumption: &str) -> ProxyEntry {
    ProxyEntry {
        authority: format!("{name}.example:443"),
        forward: format!("{name}.inner:8443"),
        resumption: resumption.into(),
        site: "here".into(),
        life: "first".into(),
        vault: None,
        settings: PoolSettings::default(),
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
