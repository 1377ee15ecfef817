//! The live proxies.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera_store::{Change, LeaseId, Revision, Store, StoreError, Transaction};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::binding::ProxyName;
use crate::drain::DrainScope;
use crate::entry::encode;
use crate::error::BindingError;
use crate::names::Names;

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
}

/// Keeps a proxy among the live ones, until it is dropped or the store is lost for its lifetime.
pub struct ProxyLease {
    shared: Arc<SharedLease>,
}

struct SharedLease {
    names: Names,
    store: Arc<dyn Store>,
    proxy: ProxyName,
    key: Vec<u8>,
    entry: Mutex<ProxyEntry>,
    lifetime: Duration,
    lease: Mutex<Option<LeaseId>>,
    held: std::sync::Mutex<Option<Held>>,
    is_closed: AtomicBool,
}

/// What is sure of a lease.
#[derive(Clone, Copy)]
struct Held {
    /// With the commit of this revision it began. Before, others may have taken over this proxy's clients.
    begun: Revision,
    /// Until then no other proxy takes over this one's clients.
    until: Instant,
}

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
        names.text("life", &self.life)
    }
}

impl ProxyLease {
    /// Joins as `proxy`, now or once the store can be reached. Another process of this name is replaced.
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
            names: names.clone(),
            store,
            proxy: proxy.clone(),
            key: names.proxy(proxy)?,
            entry: Mutex::new(entry),
            lifetime,
            lease: Mutex::default(),
            held: std::sync::Mutex::default(),
            is_closed: AtomicBool::new(false),
        });
        tokio::spawn(SharedLease::run(Arc::downgrade(&shared)));
        Ok(Self { shared })
    }

    /// Whether this proxy is surely live for the others. Without it another may own its clients already, so it must not change
    /// what can't be changed at two places. False before it has joined. A table that has yet to follow may still show clients
    /// as this proxy's that another took over: see [`BindingTable::is_sure_for`](crate::BindingTable::is_sure_for).
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.shared.held().is_some_and(|held| Instant::now() < held.until)
    }

    /// Returns whose it is, and the revision with which it began.
    pub(crate) fn begun(&self) -> Option<(&ProxyName, Revision)> {
        self.shared.held().map(|held| (&self.shared.proxy, held.begun))
    }

    /// Changes the entry, for example when the certificate was replaced.
    ///
    /// # Errors
    /// If a text of the entry is too long; if the store fails: the entry is written once it can be reached.
    pub async fn update(&self, entry: ProxyEntry) -> Result<(), BindingError> {
        entry.check(&self.shared.names)?;
        *self.shared.entry.lock().await = entry;
        self.shared.write().await.map_err(Into::into)
    }

    /// Leaves at once: the other proxies may take over its clients.
    ///
    /// # Errors
    /// If the store fails: the lease ends by itself.
    pub async fn leave(&self) -> Result<(), BindingError> {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        // Before the others may own its clients.
        *self.shared.lock_held() = None;
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
    async fn run(shared: std::sync::Weak<Self>) {
        while let Some(this) = shared.upgrade().filter(|it| !it.is_closed.load(Ordering::Relaxed)) {
            if let Err(error) = this.renew().await {
                tracing::warn!("this proxy can't renew its lease in the store: {error}");
            }
            let pause = this.lifetime / 3;
            drop(this);
            sleep(pause).await;
        }
    }

    /// Renews the lease, or begins a new one with the entry.
    async fn renew(&self) -> Result<(), StoreError> {
        let lease = self.lease.lock().await.clone();
        let asked = Instant::now();
        if let Some(lease) = lease {
            let renewed = self.store.keep_alive(&lease).await;
            match renewed {
                Ok(true) => {
                    if let Some(Held { begun, .. }) = self.held() {
                        self.hold(begun, asked);
                    }
                    return Ok(());
                }
                // Others may take over already.
                Ok(false) => *self.lock_held() = None,
                Err(_) => (),
            }
            // Without an answer too: late requests would keep a proxy live that can't follow the bindings.
            *self.lease.lock().await = None;
            renewed?;
        }
        self.write().await
    }

    async fn write(&self) -> Result<(), StoreError> {
        let mut current = self.lease.lock().await;
        // It left meanwhile: its entry must not come back.
        if self.is_closed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let asked = Instant::now();
        let (lease, is_new) = match &*current {
            Some(lease) => (lease.clone(), false),
            None => (self.store.grant(self.lifetime).await?, true),
        };
        let value = encode(&*self.entry.lock().await);
        let put = Change::Put { key: self.key.clone(), value, lease: Some(lease.clone()) };
        let transaction = Transaction { conditions: Vec::new(), changes: vec![put] };
        let committed = self.store.commit(transaction).await?;
        *current = Some(lease);
        // Without conditions it was committed.
        if let (true, Some(begun)) = (is_new, committed) {
            self.hold(begun, asked);
        }
        Ok(())
    }

    fn held(&self) -> Option<Held> {
        *self.lock_held()
    }

    /// The store counts from when it was asked, or later.
    fn hold(&self, begun: Revision, asked: Instant) {
        let mut held = self.lock_held();
        // An answer of the store may come after it left.
        if !self.is_closed.load(Ordering::Relaxed) {
            *held = Some(Held { begun, until: asked + self.lifetime });
        }
    }

    fn lock_held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
