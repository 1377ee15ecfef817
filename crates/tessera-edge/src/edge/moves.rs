//! The steps that follow from changes of bindings, at the two proxies of a move.
//!
//! | state | the owner | the next proxy |
//! |---|---|---|
//! | Preparing | exports the client's state | imports it, then takes `prepared` and `announce` |
//! | Announced | names the next proxy in each response, and moves the client's one-time keys there | waits for the client |
//! | Switched | asks the client's connections to end, and forwards | serves |
//!
//! Each is repeated when the store was read again, and then changes nothing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tessera_bindings::{
    Binding, BindingError, BindingState, ChangedBinding, ChangedBindings, ClientName, Generation,
    Import, ProxyName,
};
use tessera_kit::hex;
use tessera_proxy::logging::tracing;
use tokio::sync::Semaphore;

use super::Edge;
use crate::metrics::MoveStep;

/// How many clients may prepare here at a time; others wait.
const PREPARING: usize = 64;

/// The steps that are under way.
#[derive(Clone)]
struct UnderWay {
    preparing: Arc<Mutex<HashSet<(ClientName, Generation)>>>,
    places: Arc<Semaphore>,
}

impl Edge {
    /// Takes this proxy's steps, as long as the table lives.
    pub(crate) async fn take_steps(self: Arc<Self>, mut changed: ChangedBindings) {
        let under_way =
            UnderWay { preparing: Arc::default(), places: Arc::new(Semaphore::new(PREPARING)) };
        while let Some(change) = changed.next().await {
            match change {
                ChangedBinding::Of(client) => self.look_at(&client, &under_way),
                ChangedBinding::All => {
                    for client in self.table.clients_of(&self.own) {
                        self.look_at(&client, &under_way);
                    }
                }
            }
        }
    }

    fn look_at(self: &Arc<Self>, client: &ClientName, under_way: &UnderWay) {
        let Some(Binding { generation, state, .. }) = self.table.binding(client) else { return };
        match state {
            BindingState::Preparing { next, owner, import, .. } if next == self.own => {
                self.prepare_once(client, generation, owner, import, under_way);
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

    fn prepare_once(
        self: &Arc<Self>,
        client: &ClientName,
        generation: Generation,
        owner: ProxyName,
        import: Option<Import>,
        under_way: &UnderWay,
    ) {
        let key = (client.clone(), generation);
        let set = || under_way.preparing.lock().unwrap_or_else(PoisonError::into_inner);
        if !set().insert(key.clone()) {
            return;
        }
        let (edge, under_way) = (self.clone(), under_way.clone());
        tokio::spawn(async move {
            let place = under_way.places.acquire().await;
            let (client, generation) = &key;
            match edge.prepare(client, *generation, &owner, import).await {
                Ok(()) => edge.metrics.step(MoveStep::Announced),
                Err(why) => {
                    edge.metrics.step(MoveStep::Failed);
                    tracing::warn!(
                        client = %String::from_utf8_lossy(client.as_bytes()),
                        generation = generation.0,
                        "can't prepare for the client: {why}"
                    );
                }
            }
            drop(place);
            under_way.preparing.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
        });
    }

    /// Imports a client's state, and has its owner announce this proxy.
    async fn prepare(
        &self,
        client: &ClientName,
        generation: Generation,
        owner: &ProxyName,
        import: Option<Import>,
    ) -> Result<(), String> {
        let own = import.filter(|import| import.life == self.entry.life);
        if own.is_none() {
            let version = match self.has_state() {
                true => {
                    let Some(owner) = self.table.proxy(owner) else {
                        return Err(format!("its owner {owner} isn't live"));
                    };
                    let sealed = self.peers.state(&owner.forward, client, generation).await?;
                    self.import(client, generation, &sealed).await?
                }
                false => 0,
            };
            let import = Import {
                version,
                resumption: self.entry.resumption.clone(),
                life: self.entry.life.clone(),
            };
            let prepared = self.bindings.prepared(client, generation, &self.own, &import).await;
            prepared.map_err(|error| error.to_string())?;
        }
        match self.bindings.announce(client, generation).await {
            // The client moved on, or the move was given up.
            Ok(_) | Err(BindingError::Refused(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
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
