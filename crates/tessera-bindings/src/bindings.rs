//! The steps of moves, in a store.

use std::sync::Arc;
use std::time::Duration;

use tessera_store::{Change, Condition, Revision, Store, Transaction};

use crate::binding::{
    Binding, BindingState, Generation, Import, LaterChanges, MoveTimes, ProxyName, StepRefused,
};
use crate::entry::{decode, encode};
use crate::error::BindingError;
use crate::names::{ClientName, Names};
use crate::proxies::{ProxyEntry, ProxyLease};
use crate::table::BindingTable;

/// The bindings of a pool's clients in a store.
///
/// Each step is one transaction under the condition that the binding is as it was read, so of two processes that take
/// different steps one wins, and the other reads again. There is no leader: any process may take any step that is its own, and
/// an orchestrator that dies is replaced by any other.
///
/// A process that received [`BindingError::Store`] repeats the step: a step that was taken already changes nothing.
#[derive(Clone)]
pub struct Bindings {
    store: Arc<dyn Store>,
    names: Names,
    times: MoveTimes,
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
}

/// How often a step is tried when others change the binding at the same time.
const TRIES: usize = 8;

impl Bindings {
    /// Creates them. Their entries begin with `prefix`; `clock` returns the time since the Unix epoch.
    pub fn new(
        store: Arc<dyn Store>,
        prefix: &str,
        times: MoveTimes,
        clock: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { store, names: Names::new(prefix), times, clock: Arc::new(clock) }
    }

    /// Makes `proxy` live for as long as the lease is held, and for `lifetime` after the store or the process was lost.
    ///
    /// # Errors
    /// If the name is empty, or it or a text of the entry is too long.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn join(
        &self,
        proxy: &ProxyName,
        entry: ProxyEntry,
        lifetime: Duration,
    ) -> Result<ProxyLease, BindingError> {
        ProxyLease::join(self.store.clone(), &self.names, proxy, entry, lifetime)
    }

    /// Begins to follow all bindings and live proxies.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn table(&self) -> BindingTable {
        BindingTable::follow(self.store.clone(), self.names.clone())
    }

    /// Returns a client's binding, as of after this call.
    ///
    /// # Errors
    /// [`BindingError::Unbound`] if it has none; if it can't be read, or the store fails.
    pub async fn read(&self, client: &ClientName) -> Result<Binding, BindingError> {
        self.read_binding(client).await.map(|(binding, _)| binding)
    }

    /// Binds a client to the proxy that it came to, unless it is bound already. Returns its binding.
    ///
    /// # Errors
    /// If its binding can't be read, the proxy's name is empty or too long, or the store fails.
    pub async fn bind(
        &self,
        client: &ClientName,
        owner: &ProxyName,
    ) -> Result<Binding, BindingError> {
        self.names.proxy(owner)?;
        let key = self.names.binding(client);
        for _ in 0..TRIES {
            if let Some((binding, _)) = self.read_entry::<Binding>(&key).await? {
                return Ok(binding);
            }
            let binding = Binding::new(owner.clone(), self.now());
            if self.commit(vec![Condition::Absent(key.clone())], &key, &binding).await? {
                return Ok(binding);
            }
        }
        Err(BindingError::Contended)
    }

    /// The orchestrator begins a move to a live proxy.
    ///
    /// # Errors
    /// If that proxy isn't live or wouldn't resume the owner's sessions, another move is in progress, or the client has just
    /// moved.
    pub async fn begin(
        &self,
        client: &ClientName,
        next: &ProxyName,
    ) -> Result<Binding, BindingError> {
        for _ in 0..TRIES {
            let (entry, is_live) = self.live(next).await?;
            let read = self.read_binding(client).await?;
            let owner = read.0.owner();
            // A dead owner has no entry: its sessions are what the pool's others have.
            if owner != next
                && let Ok((own, _)) = self.live(owner).await
                && own.resumption != entry.resumption
            {
                return Err(BindingError::NoResumption(owner.clone(), next.clone()));
            }
            let begun = read.0.begin(next, &self.times, self.now())?;
            if self.replace(client, read, &begun, vec![is_live]).await? {
                return Ok(begun);
            }
        }
        Err(BindingError::Contended)
    }

    /// The owner has written a new version of the client's state.
    ///
    /// # Errors
    /// If it doesn't own the client any more, or the version is old.
    pub async fn written(
        &self,
        client: &ClientName,
        by: &ProxyName,
        version: u64,
    ) -> Result<Binding, BindingError> {
        self.step(client, |it, _| it.written(by, version)).await
    }

    /// The next proxy has imported the client's state.
    ///
    /// # Errors
    /// If the state is old, the digest is too long, or the client isn't moving there in this generation.
    pub async fn prepared(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
        import: &Import,
    ) -> Result<Binding, BindingError> {
        self.names.text("digest of what resumption needs", &import.resumption)?;
        self.names.text("life", &import.life)?;
        self.step(client, |it, _| it.prepared(generation, by, import.clone())).await
    }

    /// The orchestrator lets the owner announce the next proxy, if that is still live with what it had when it prepared.
    ///
    /// # Errors
    /// If the next proxy hasn't prepared or isn't live.
    pub async fn announce(
        &self,
        client: &ClientName,
        generation: Generation,
    ) -> Result<Binding, BindingError> {
        for _ in 0..TRIES {
            let read = self.read_binding(client).await?;
            let announced = read.0.announce(generation, &self.times, self.now())?;
            let BindingState::Announced { next, import, .. } = &announced.state else {
                return Ok(announced);
            };
            let (entry, is_live) = self.live(next).await?;
            if entry.life != import.life {
                return Err(BindingError::ImportLost(next.clone()));
            }
            if entry.resumption != import.resumption {
                return Err(BindingError::NoResumption(announced.owner().clone(), next.clone()));
            }
            if self.replace(client, read, &announced, vec![is_live]).await? {
                return Ok(announced);
            }
        }
        Err(BindingError::Contended)
    }

    /// The client's first request has arrived at the announced proxy, which owns the client once this returns.
    ///
    /// # Errors
    /// If the proxy isn't announced in this generation, or isn't live.
    pub async fn switch(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
    ) -> Result<Binding, BindingError> {
        for _ in 0..TRIES {
            let read = self.read_binding(client).await?;
            let next = read.0.switch(generation, by, &self.times, self.now())?;
            let is_live = self.live_unless_owner(by, &read.0, true).await?;
            if self.replace(client, read, &next, is_live).await? {
                return Ok(next);
            }
        }
        Err(BindingError::Contended)
    }

    /// The next proxy takes the client over, since the owner's lease has ended.
    ///
    /// # Errors
    /// If the owner is live, or this proxy isn't, or hasn't prepared.
    pub async fn promote(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
    ) -> Result<Binding, BindingError> {
        let promote = |it: &Binding, now| it.promote(generation, by, &self.times, now);
        self.take_over(client, (by, true), promote).await
    }

    /// A proxy takes over a client whose owner's lease has ended, and for which none has prepared.
    ///
    /// # Errors
    /// If the owner is live, or this proxy isn't.
    pub async fn adopt(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
    ) -> Result<Binding, BindingError> {
        self.take_over(client, (by, false), |it, now| it.adopt(generation, by, now)).await
    }

    /// The new owner has the changes of the client's state that it waited for, or has given up on them.
    ///
    /// # Errors
    /// If the client hasn't switched to it in this generation.
    pub async fn changes(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
        result: LaterChanges,
    ) -> Result<Binding, BindingError> {
        self.step(client, |it, _| it.changes(generation, by, result)).await
    }

    /// Unbinds a client that has been away for long. Bound again, it begins a later generation.
    ///
    /// # Errors
    /// If `by` doesn't own it in this generation, or it is moving.
    pub async fn release(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
    ) -> Result<(), BindingError> {
        for _ in 0..TRIES {
            let (binding, revision) = match self.read_binding(client).await {
                Err(BindingError::Unbound) => return Ok(()),
                read => read?,
            };
            binding.may_release(generation, by)?;
            let key = self.names.binding(client);
            let conditions = vec![Condition::Unchanged(key.clone(), revision)];
            let changes = vec![Change::Delete { key }];
            if self.store.commit(Transaction { conditions, changes }).await?.is_some() {
                return Ok(());
            }
        }
        Err(BindingError::Contended)
    }

    /// Gives a move up.
    ///
    /// # Errors
    /// If the client has switched.
    pub async fn abort(
        &self,
        client: &ClientName,
        generation: Generation,
    ) -> Result<Binding, BindingError> {
        self.step(client, |it, _| it.abort(generation)).await
    }

    /// Gives a move up that has taken too long: what a table has of it may be old.
    pub(crate) async fn expire(
        &self,
        client: &ClientName,
        generation: Generation,
    ) -> Result<Binding, BindingError> {
        self.step(client, |it, now| it.expire(generation, now)).await
    }

    /// Ends a move, once no announcement leads to the earlier proxy.
    ///
    /// # Errors
    /// If that time hasn't come.
    pub async fn settle(
        &self,
        client: &ClientName,
        generation: Generation,
    ) -> Result<Binding, BindingError> {
        self.step(client, |it, now| it.settle(generation, now)).await
    }

    pub(crate) fn now(&self) -> Duration {
        (self.clock)()
    }

    /// Takes a step that depends on the binding alone.
    async fn step(
        &self,
        client: &ClientName,
        step: impl Fn(&Binding, Duration) -> Result<Binding, StepRefused>,
    ) -> Result<Binding, BindingError> {
        for _ in 0..TRIES {
            let read = self.read_binding(client).await?;
            let next = step(&read.0, self.now())?;
            if self.replace(client, read, &next, Vec::new()).await? {
                return Ok(next);
            }
        }
        Err(BindingError::Contended)
    }

    /// Takes a step if the owner's lease has ended. The proxy needs what it imported, or begins without.
    async fn take_over(
        &self,
        client: &ClientName,
        (by, needs_import): (&ProxyName, bool),
        step: impl Fn(&Binding, Duration) -> Result<Binding, StepRefused>,
    ) -> Result<Binding, BindingError> {
        for _ in 0..TRIES {
            let read = self.read_binding(client).await?;
            let owner = read.0.owner();
            let mut conditions = self.live_unless_owner(by, &read.0, needs_import).await?;
            match self.live(owner).await {
                // The step was taken before.
                _ if owner == by => (),
                Ok(_) | Err(BindingError::Unreadable) => {
                    return Err(BindingError::ProxyLive(owner.clone()));
                }
                Err(BindingError::ProxyGone(_)) => {
                    conditions.push(Condition::Absent(self.names.proxy(owner)?));
                }
                Err(error) => return Err(error),
            }
            let next = step(&read.0, self.now())?;
            if self.replace(client, read, &next, conditions).await? {
                return Ok(next);
            }
        }
        Err(BindingError::Contended)
    }

    /// Replaces a binding that was read, if it is unchanged and the conditions hold.
    async fn replace(
        &self,
        client: &ClientName,
        (read, revision): (Binding, Revision),
        next: &Binding,
        mut conditions: Vec<Condition>,
    ) -> Result<bool, BindingError> {
        if *next == read {
            return Ok(true);
        }
        let key = self.names.binding(client);
        conditions.push(Condition::Unchanged(key.clone(), revision));
        self.commit(conditions, &key, next).await
    }

    async fn read_binding(&self, client: &ClientName) -> Result<(Binding, Revision), BindingError> {
        let read = self.read_entry(&self.names.binding(client)).await?;
        read.ok_or(BindingError::Unbound)
    }

    async fn commit(
        &self,
        conditions: Vec<Condition>,
        key: &[u8],
        binding: &Binding,
    ) -> Result<bool, BindingError> {
        let put = Change::Put { key: key.to_vec(), value: encode(binding), lease: None };
        let transaction = Transaction { conditions, changes: vec![put] };
        Ok(self.store.commit(transaction).await?.is_some())
    }

    /// Returns the condition that a proxy that becomes a client's owner is live: a step of one that has left may come late. An
    /// owner only repeats the step.
    async fn live_unless_owner(
        &self,
        by: &ProxyName,
        binding: &Binding,
        needs_import: bool,
    ) -> Result<Vec<Condition>, BindingError> {
        if binding.owner() == by {
            return Ok(Vec::new());
        }
        let (entry, is_live) = self.live(by).await?;
        let import = binding.import_of(by).filter(|_| needs_import);
        match import.is_some_and(|import| import.life != entry.life) {
            true => Err(BindingError::ImportLost(by.clone())),
            false => Ok(vec![is_live]),
        }
    }

    /// Returns the entry of a live proxy, and the condition that it still is.
    async fn live(&self, proxy: &ProxyName) -> Result<(ProxyEntry, Condition), BindingError> {
        let key = self.names.proxy(proxy)?;
        match self.read_entry(&key).await? {
            Some((entry, revision)) => Ok((entry, Condition::Unchanged(key, revision))),
            None => Err(BindingError::ProxyGone(proxy.clone())),
        }
    }

    async fn read_entry<T: serde::de::DeserializeOwned>(
        &self,
        key: &[u8],
    ) -> Result<Option<(T, Revision)>, BindingError> {
        let entries = self.store.read(key).await?.entries;
        let Some(entry) = entries.into_iter().find(|entry| entry.key == key) else {
            return Ok(None);
        };
        let value = decode(&entry.value).ok_or(BindingError::Unreadable)?;
        Ok(Some((value, entry.revision)))
    }
}
