//! The steps that follow from changes of bindings, at the two proxies of a move.
//!
//! | state | the owner | the next proxy |
//! |---|---|---|
//! | Preparing | exports the client's state | imports it, then takes `prepared` and `announce`, or `decline` if it can't |
//! | Announced | names the next proxy in each response, and moves the client's one-time keys there | waits for the client |
//! | Switched | asks the client's connections to end, and forwards | serves |
//!
//! Each is repeated when the store was read again, and then changes nothing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera_bindings::{
    Binding, BindingError, BindingState, ChangedBinding, ChangedBindings, ClientName, Fence,
    Generation, Import, ProxyName, StepRefused,
};
use tessera_kit::hex;
use tessera_proxy::http::deadline::Deadline;
use tessera_proxy::logging::tracing;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::Edge;
use crate::metrics::MoveStep;

/// What a binding has of a move to this proxy.
pub(crate) struct Preparation {
    pub(crate) owner: ProxyName,
    pub(crate) import: Option<Import>,
    /// Of the client's state, as far as it is known.
    pub(crate) version: u64,
}

/// How many clients may prepare here at a time; others wait.
const PREPARING: usize = 64;

/// How long the instances may take to import.
const IMPORT: Duration = Duration::from_secs(2);

/// The steps that are under way.
#[derive(Clone)]
struct UnderWay {
    preparing: Arc<Mutex<HashSet<(ClientName, Generation)>>>,
    places: Arc<Semaphore>,
    /// The clients whose one-time keys may be on their way here.
    expected: Arc<Mutex<HashSet<ClientName>>>,
}

impl Edge {
    /// Takes this proxy's steps, as long as the table lives.
    pub(crate) async fn take_steps(self: Arc<Self>, mut changed: ChangedBindings) {
        let under_way = UnderWay {
            preparing: Arc::default(),
            places: Arc::new(Semaphore::new(PREPARING)),
            expected: Arc::default(),
        };
        self.expect(&under_way.expected, |_| ());
        // The table may have been read before its changes were asked for.
        let mut next = Some(ChangedBinding::All);
        while let Some(change) = next {
            match change {
                ChangedBinding::Of(client) => self.look_at(&client, &under_way),
                ChangedBinding::All => {
                    // Moves of others may have ended unseen: their keys are still here.
                    let before = lock(&under_way.expected).clone();
                    let concerned = self.table.clients_of(&self.own);
                    for client in concerned.into_iter().collect::<HashSet<_>>().union(&before) {
                        self.look_at(client, &under_way);
                    }
                }
            }
            next = changed.next().await;
        }
    }

    fn look_at(self: &Arc<Self>, client: &ClientName, under_way: &UnderWay) {
        let binding = self.table.binding(client);
        let is_coming = binding.as_ref().is_some_and(|binding| self.may_get_keys(&binding.state));
        self.expect(&under_way.expected, |expected| match is_coming {
            true => drop(expected.insert(client.clone())),
            false => drop(expected.remove(client)),
        });
        let Some(binding) = binding else { return };
        if binding.owner() == &self.own {
            // So that it is released if it never comes.
            self.clients.know(client, Instant::now());
        }
        let Binding { generation, state, version, .. } = binding;
        match state {
            BindingState::Preparing { next, owner, import, .. } if next == self.own => {
                let from = Preparation { owner, import, version };
                self.prepare_once(client, generation, from, under_way);
            }
            BindingState::Announced { owner, next, .. } if owner == self.own => {
                self.move_keys(client, &next);
            }
            BindingState::Switched { earlier, owner, .. } if earlier == self.own => {
                if let Some(client) = self.clients.get(client) {
                    client.leave();
                }
                // Those of tickets that the client got since the announcement.
                self.move_keys(client, &owner);
            }
            // The move was given up, or another proxy took the client over: its keys go where it is.
            BindingState::Stable { owner } if owner != self.own => self.move_keys(client, &owner),
            _ => (),
        }
    }

    /// Whether a client's one-time keys may be on their way here.
    fn may_get_keys(&self, state: &BindingState) -> bool {
        match state {
            BindingState::Preparing { next, .. } | BindingState::Announced { next, .. } => {
                *next == self.own
            }
            BindingState::Switched { owner, .. } => *owner == self.own,
            BindingState::Stable { .. } => false,
        }
    }

    /// Flights of other proxies' tickets wait for their keys only while some may be on their way.
    fn expect(
        &self,
        expected: &Mutex<HashSet<ClientName>>,
        change: impl FnOnce(&mut HashSet<ClientName>),
    ) {
        let Some(vault) = &self.vault else { return };
        let mut expected = lock(expected);
        change(&mut expected);
        vault.expect_arrivals(!expected.is_empty());
    }

    fn prepare_once(
        self: &Arc<Self>,
        client: &ClientName,
        generation: Generation,
        from: Preparation,
        under_way: &UnderWay,
    ) {
        let key = (client.clone(), generation);
        if !lock(&under_way.preparing).insert(key.clone()) {
            return;
        }
        let (edge, under_way) = (self.clone(), under_way.clone());
        tokio::spawn(async move {
            let place = under_way.places.acquire().await;
            let (client, generation) = &key;
            match edge.prepare(client, *generation, from).await {
                Ok(true) => edge.metrics.step(MoveStep::Announced),
                Ok(false) => (),
                Err(why) => {
                    edge.metrics.step(MoveStep::Failed);
                    tracing::warn!(
                        client = %String::from_utf8_lossy(client.as_bytes()),
                        generation = generation.0,
                        "can't prepare for the client: {why}"
                    );
                    // Otherwise the move goes on until its deadline.
                    let declined = edge.bindings.decline(client, *generation, &edge.own, &why);
                    if let Err(error) = declined.await {
                        tracing::debug!(
                            generation = generation.0,
                            "the move isn't declined: {error}"
                        );
                    }
                }
            }
            drop(place);
            lock(&under_way.preparing).remove(&key);
        });
    }

    /// Imports a client's state, and has its owner announce this proxy. False if the move is over meanwhile.
    pub(crate) async fn prepare(
        &self,
        client: &ClientName,
        generation: Generation,
        from: Preparation,
    ) -> Result<bool, String> {
        // It has waited for its place, and others wait for this one.
        if !self.table.binding(client).is_some_and(|it| {
            it.generation == generation && matches!(it.state, BindingState::Preparing { .. })
        }) {
            return Ok(false);
        }
        let Preparation { owner, import, version } = from;
        let own = import.filter(|import| import.life == self.entry.life);
        let import = match own {
            // It was interrupted before the announcement.
            Some(own) => own,
            None => Import {
                // A service may have dropped a state, or begun again: the version doesn't shrink.
                version: self.import_from(client, generation, &owner).await?.max(version),
                keeps_state: self.has_state(),
                resumption: self.entry.resumption.clone(),
                life: self.entry.life.clone(),
            },
        };
        let announced = self.bindings.prepared_and_announce(client, generation, &self.own, &import);
        match announced.await {
            Ok(_) => Ok(true),
            Err(BindingError::Refused(
                why @ (StepRefused::OtherGeneration(_) | StepRefused::OutOfOrder(_)),
            )) => {
                tracing::debug!(generation = generation.0, "the move is over meanwhile: {why}");
                Ok(false)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Imports a client's state from its owner. Returns its version; 0 if no service has state.
    async fn import_from(
        &self,
        client: &ClientName,
        generation: Generation,
        owner: &ProxyName,
    ) -> Result<u64, String> {
        if !self.has_state() {
            return Ok(0);
        }
        let Some(owner) = self.table.proxy(owner) else {
            return Err(format!("its owner {owner} isn't live"));
        };
        let sealed = self.peers.state(&owner.forward, client, generation).await?;
        let (fence, deadline) = (Fence::of_first_import(generation), Deadline::after(IMPORT));
        self.import(client, generation, fence, &sealed, deadline).await
    }

    /// Moves the one-time keys of a client to the vault of another proxy.
    pub(super) fn move_keys(self: &Arc<Self>, client: &ClientName, to: &ProxyName) {
        let Some(vault) = self.vault.clone() else { return };
        let Some(identity) = self.identity_of(client) else { return };
        let vault_name = self.table.proxy(to).and_then(|proxy| proxy.vault);
        let Some(to_vault) =
            vault_name.and_then(|name| <[u8; 16]>::try_from(&hex::decode(&name)?[..]).ok())
        else {
            return;
        };
        let (edge, to) = (self.clone(), to.clone());
        tokio::spawn(async move {
            match vault.move_secrets(&identity, &to_vault).await {
                Ok(0) => (),
                Ok(count) => edge.metrics.moved_keys(count),
                // Their flights are rejected with a verdict, and resent.
                Err(error) => tracing::debug!(%to, "a client's one-time keys don't move: {error}"),
            }
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
