//! The steps of moves, in a store.

mod attempt;
mod drains;
mod release;
mod take_over;

use std::sync::Arc;
use std::time::Duration;

use tessera_store::{Condition, Store};

use self::attempt::View;
use crate::binding::{
    Binding, BindingState, Generation, Import, LaterChanges, MoveTimes, ProxyName, StepRefused,
};
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
    /// Where steps begin.
    table: Option<BindingTable>,
}

impl Bindings {
    /// Creates them. Their entries begin with `prefix`; `clock` returns the time since the Unix epoch.
    pub fn new(
        store: Arc<dyn Store>,
        prefix: &str,
        times: MoveTimes,
        clock: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { store, names: Names::new(prefix), times, clock: Arc::new(clock), table: None }
    }

    /// Begins steps with what this table has, while it is current, which saves the reads: a transaction happens only if the
    /// store has the same. Otherwise the step begins again, with reads.
    #[must_use]
    pub fn with_table(self, table: &BindingTable) -> Self {
        Self { table: Some(table.clone()), ..self }
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
        self.read_binding(View::Store, client).await.map(|(binding, _)| binding)
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
        for view in self.views() {
            let attempt = async {
                match self.read_binding(view, client).await {
                    Ok((binding, _)) => return Ok((view == View::Store).then_some(binding)),
                    Err(BindingError::Unbound) => (),
                    Err(error) => return Err(error),
                }
                let binding = Binding::new(owner.clone(), self.now());
                let is_new =
                    self.commit(vec![Condition::Absent(key.clone())], &key, &binding).await?;
                Ok(is_new.then_some(binding))
            };
            if let Some(binding) = view.settle(attempt.await)? {
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
        for view in self.views() {
            let attempt = async {
                let (entry, is_live) = self.live(view, next).await?;
                let mut conditions = vec![is_live];
                let read = self.read_binding(view, client).await?;
                let owner = read.0.owner();
                // A dead owner has no entry: its sessions are what the pool's others have.
                if owner != next
                    && let Ok((own, is_as_read)) = self.live(view, owner).await
                {
                    if own.resumption != entry.resumption {
                        return Err(BindingError::NoResumption(owner.clone(), next.clone()));
                    }
                    conditions.push(is_as_read);
                }
                let begun = read.0.begin(next, &self.times, self.now())?;
                self.replace(view, client, read, begun, conditions).await
            };
            if let Some(binding) = view.settle(attempt.await)? {
                return Ok(binding);
            }
        }
        Err(BindingError::Contended)
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
        self.check_texts(import)?;
        self.step(client, |it, _| it.prepared(generation, by, import.clone())).await
    }

    /// The next proxy is announced, if it is still live with what it had when it prepared.
    ///
    /// # Errors
    /// If the next proxy hasn't prepared or isn't live.
    pub async fn announce(
        &self,
        client: &ClientName,
        generation: Generation,
    ) -> Result<Binding, BindingError> {
        self.announce_after(client, |it, now| it.announce(generation, &self.times, now)).await
    }

    /// The next proxy has imported the client's state, and is announced at once: [`prepared`](Self::prepared) and
    /// [`announce`](Self::announce) in one transaction.
    ///
    /// # Errors
    /// Those of both.
    pub async fn prepared_and_announce(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
        import: &Import,
    ) -> Result<Binding, BindingError> {
        self.check_texts(import)?;
        let step = |it: &Binding, now| {
            let prepared = it.prepared(generation, by, import.clone())?;
            prepared.announce(generation, &self.times, now)
        };
        self.announce_after(client, step).await
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
        for view in self.views() {
            let attempt = async {
                let read = self.read_binding(view, client).await?;
                let next = read.0.switch(generation, by, &self.times, self.now())?;
                let is_live = self.live_unless_owner(view, by, &read.0, true).await?;
                self.replace(view, client, read, next, is_live).await
            };
            if let Some(binding) = view.settle(attempt.await)? {
                return Ok(binding);
            }
        }
        Err(BindingError::Contended)
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

    /// The next proxy can't prepare, and gives the move up.
    ///
    /// # Errors
    /// If it isn't preparing in this generation.
    pub async fn decline(
        &self,
        client: &ClientName,
        generation: Generation,
        by: &ProxyName,
        why: &str,
    ) -> Result<Binding, BindingError> {
        self.step(client, |it, _| it.decline(generation, by, why)).await
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

    /// Checks whether a proxy may have this name, without the store.
    ///
    /// # Errors
    /// If it is empty or too long.
    pub fn check_proxy_name(&self, proxy: &ProxyName) -> Result<(), BindingError> {
        self.names.proxy(proxy).map(drop)
    }

    pub(crate) fn now(&self) -> Duration {
        (self.clock)()
    }

    fn check_texts(&self, import: &Import) -> Result<(), BindingError> {
        self.names.text("digest of what resumption needs", &import.resumption)?;
        self.names.text("life", &import.life)
    }

    /// Takes a step that announces the next proxy.
    async fn announce_after(
        &self,
        client: &ClientName,
        step: impl Fn(&Binding, Duration) -> Result<Binding, StepRefused>,
    ) -> Result<Binding, BindingError> {
        for view in self.views() {
            let attempt = async {
                let read = self.read_binding(view, client).await?;
                let announced = step(&read.0, self.now())?;
                let BindingState::Announced { next, import, .. } = &announced.state else {
                    return Ok(Some(announced));
                };
                let (entry, is_live) = self.live(view, next).await?;
                if entry.life != import.life {
                    return Err(BindingError::ImportLost(next.clone()));
                }
                if entry.resumption != import.resumption {
                    let owner = announced.owner().clone();
                    return Err(BindingError::NoResumption(owner, next.clone()));
                }
                self.replace(view, client, read, announced, vec![is_live]).await
            };
            if let Some(binding) = view.settle(attempt.await)? {
                return Ok(binding);
            }
        }
        Err(BindingError::Contended)
    }

    /// Takes a step that depends on the binding alone.
    async fn step(
        &self,
        client: &ClientName,
        step: impl Fn(&Binding, Duration) -> Result<Binding, StepRefused>,
    ) -> Result<Binding, BindingError> {
        for view in self.views() {
            let attempt = async {
                let read = self.read_binding(view, client).await?;
                let next = step(&read.0, self.now())?;
                self.replace(view, client, read, next, Vec::new()).await
            };
            if let Some(binding) = view.settle(attempt.await)? {
                return Ok(binding);
            }
        }
        Err(BindingError::Contended)
    }
}
