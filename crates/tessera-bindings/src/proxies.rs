//! The live proxies.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera_store::{Change, Condition, LeaseId, Revision, Store, StoreError, Transaction};
use tokio::sync::{Mutex, Notify};
use tokio::time::{sleep, timeout};

use crate::binding::ProxyName;
use crate::clock::since_boot;
use crate::drain::DrainScope;
use crate::entry::{decode, encode};
use crate::error::BindingError;
use crate::held::HeldLease;
use crate::names::Names;
use crate::settings::PoolSettings;

/// What a live proxy has in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyEntry {
    /// Where clients reach it: the host and port of an Alt-Svc field (RFC 7838 §3).
    pub authority: String,
    /// Where the other proxies reach it, to forward requests.
    pub forward: String,
    /// A digest of what must be equal at two proxies, or neither resumes the other's sessions: the ring's domain, the names and
    /// the issuer of the certificate, the policy for client certificates.
    pub resumption: String,
    /// Where it stands: the proxies of a site can be drained together. Empty: nowhere in particular.
    #[serde(default)]
    pub site: String,
    /// Random, for each life of its process: what an earlier one imported is gone.
    pub life: String,
    /// The name of its vault, in hexadecimal, to which one-time keys move; none if they don't.
    #[serde(default)]
    pub vault: Option<String>,
    /// What must be equal in the whole pool.
    #[serde(default, skip_serializing_if = "PoolSettings::is_empty")]
    pub settings: PoolSettings,
}

/// Keeps a proxy among the live ones, until it is dropped, the store is lost for its lifetime, or another process joins under
/// its name.
pub struct ProxyLease {
    shared: Arc<SharedLease>,
}

struct SharedLease {
    store: Arc<dyn Store>,
    proxy: ProxyName,
    key: Vec<u8>,
    entry: ProxyEntry,
    lifetime: Duration,
    lease: Mutex<Option<LeaseId>>,
    held: HeldLease,
    /// Notified when it was given up, since the process stood still.
    lost: Arc<Notify>,
    /// The revision of its last entry; 0: it hasn't joined, so an entry of another life is that of an earlier process.
    begun: AtomicU64,
    /// Whether a later process has its name.
    is_replaced: AtomicBool,
    is_closed: AtomicBool,
}

/// How often the process notes that it runs.
const BEAT: Duration = Duration::from_millis(250);

impl ProxyEntry {
    fn check(&self, names: &Names) -> Result<(), BindingError> {
        names.text("address for clients", &self.authority)?;
        names.text("address for other proxies", &self.forward)?;
        names.text("digest of what resumption needs", &self.resumption)?;
        names.text("vault's name", self.vault.as_deref().unwrap_or_default())?;
        if !self.site.is_empty() {
            // It can be drained.
            names.drain(&DrainScope::Site(self.site.clone()))?;
        }
        names.text("life", &self.life)?;
        for (name, value) in self.settings.iter() {
            names.text(name, value)?;
        }
        Ok(())
    }
}

impl ProxyLease {
    /// A process that stood still for this long holds its lease no more: it begins a new one, and follows what others did
    /// meanwhile.
    pub const LONGEST_PAUSE: Duration = HeldLease::LONGEST_PAUSE;

    /// Joins as `proxy`, now or once the store can be reached. Another process of this name is replaced: it loses its lease, and
    /// joins again once this one has left.
    ///
    /// # Errors
    /// If the name is empty, or it or a text of the entry is too long.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(crate) fn join(
        store: Arc<dyn Store>,
        names: &Names,
        proxy: &ProxyName,
        entry: ProxyEntry,
        lifetime: Duration,
    ) -> Result<Self, BindingError> {
        entry.check(names)?;
        let shared = Arc::new(SharedLease {
            store,
            proxy: proxy.clone(),
            key: names.proxy(proxy)?,
            entry,
            lifetime,
            lease: Mutex::default(),
            held: HeldLease::new(since_boot),
            lost: Arc::default(),
            begun: AtomicU64::new(0),
            is_replaced: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        });
        tokio::spawn(SharedLease::run(Arc::downgrade(&shared)));
        tokio::spawn(SharedLease::beat(Arc::downgrade(&shared)));
        Ok(Self { shared })
    }

    /// Whether this proxy is surely live for the others. Without it another may own its clients already, so it must not change
    /// what can't be changed at two places. False before it has joined, and right after the process stood still, even if the
    /// machine was suspended. A table that has yet to follow may still show clients
    /// as this proxy's that another took over: see [`BindingTable::is_sure_for`](crate::BindingTable::is_sure_for).
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.shared.held.is_held()
    }

    /// Returns whose it is, in which life, and the revision with which it began, if it is held now.
    pub(crate) fn begun(&self) -> Option<(&ProxyName, &str, Revision)> {
        let Self { shared } = self;
        shared.held.begun().map(|begun| (&shared.proxy, &shared.entry.life[..], begun))
    }

    /// Leaves at once: the other proxies may take over its clients.
    ///
    /// # Errors
    /// If the store fails: the lease ends by itself.
    pub async fn leave(&self) -> Result<(), BindingError> {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        // Before the others may own its clients.
        self.shared.held.close();
        match self.shared.lease.lock().await.take() {
            Some(lease) => self.shared.store.revoke(&lease).await.map_err(Into::into),
            None => Ok(()),
        }
    }
}

impl Drop for ProxyLease {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
    }
}

impl SharedLease {
    async fn run(shared: Weak<Self>) {
        while let Some(this) = shared.upgrade().filter(|it| !it.is_closed.load(Ordering::Relaxed)) {
            if let Err(error) = this.renew().await {
                tracing::warn!("this proxy can't renew its lease in the store: {error}");
            }
            let (pause, lost) = (this.lifetime / 3, this.lost.clone());
            drop(this);
            if timeout(pause, lost.notified()).await.is_ok()
                && let Some(this) = shared.upgrade()
            {
                *this.lease.lock().await = None;
            }
        }
    }

    /// Notes that the process runs, or that it stood still.
    async fn beat(shared: Weak<Self>) {
        while let Some(this) = shared.upgrade().filter(|it| !it.is_closed.load(Ordering::Relaxed)) {
            if !this.held.beat() {
                tracing::warn!(
                    "this process stood still for at least {:?}: it joins the pool again",
                    HeldLease::LONGEST_PAUSE
                );
                this.lost.notify_one();
            }
            drop(this);
            sleep(BEAT).await;
        }
    }

    /// Renews the lease, or begins a new one with the entry.
    async fn renew(&self) -> Result<(), StoreError> {
        let lease = self.lease.lock().await.clone();
        let asked = self.held.ask();
        if let Some(lease) = lease {
            let renewed = self.store.keep_alive(&lease).await;
            // A lease lives on if another process has replaced its entry. Without an answer here the table shows it.
            let is_replaced =
                renewed == Ok(true) && matches!(self.stored().await, Ok(Some((false, _))));
            match renewed {
                Ok(true) if !is_replaced => {
                    self.held.renew(asked, self.lifetime);
                    return Ok(());
                }
                // Others may take over already.
                Ok(_) => self.held.lose(),
                Err(_) => (),
            }
            // Without an answer too: late requests would keep a proxy live that can't follow the bindings.
            *self.lease.lock().await = None;
            renewed?;
        }
        self.write().await
    }

    /// Begins a new lease with the entry, unless a later process has this name.
    async fn write(&self) -> Result<(), StoreError> {
        let mut current = self.lease.lock().await;
        // It left meanwhile: its entry must not come back.
        if self.is_closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        if self.is_replaced.load(Ordering::Relaxed)
            && matches!(self.stored().await?, Some((false, _)))
        {
            return Ok(());
        }
        let asked = self.held.ask();
        let lease = self.store.grant(self.lifetime).await?;
        let first = match Revision(self.begun.load(Ordering::Relaxed)) {
            Revision(0) => Vec::new(),
            begun => vec![Condition::Unchanged(self.key.clone(), begun)],
        };
        let mut begun = self.put(&lease, first).await?;
        if begun.is_none() {
            let condition = match self.stored().await? {
                None => Condition::Absent(self.key.clone()),
                Some((true, revision)) => Condition::Unchanged(self.key.clone(), revision),
                Some((false, _)) => {
                    self.is_replaced.store(true, Ordering::Relaxed);
                    tracing::warn!(
                        "another process has joined the pool as {}, and this one serves no state until that has left: \
                         give each its own name",
                        self.proxy
                    );
                    return Ok(());
                }
            };
            begun = self.put(&lease, vec![condition]).await?;
        }
        // Otherwise another process was faster.
        if let Some(begun) = begun {
            *current = Some(lease);
            self.begun.store(begun.0, Ordering::Relaxed);
            self.is_replaced.store(false, Ordering::Relaxed);
            self.held.begin(asked, begun, self.lifetime);
        }
        Ok(())
    }

    /// Writes the entry under a lease, if the conditions hold.
    async fn put(
        &self,
        lease: &LeaseId,
        conditions: Vec<Condition>,
    ) -> Result<Option<Revision>, StoreError> {
        let value = encode(&self.entry);
        let put = Change::Put { key: self.key.clone(), value, lease: Some(lease.clone()) };
        self.store.commit(Transaction { conditions, changes: vec![put] }).await
    }

    /// Returns whether the entry in the store is this process's, and its revision.
    async fn stored(&self) -> Result<Option<(bool, Revision)>, StoreError> {
        let entries = self.store.read(&self.key).await?.entries;
        let entry = entries.into_iter().find(|entry| entry.key == self.key);
        Ok(entry.map(|entry| {
            let is_own =
                decode::<ProxyEntry>(&entry.value).is_some_and(|it| it.life == self.entry.life);
            (is_own, entry.revision)
        }))
    }
}
