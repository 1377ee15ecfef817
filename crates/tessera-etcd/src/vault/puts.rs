//! Puts, in the background.

use std::sync::Arc;

use tessera::resume::{FlightHandle, PutRefused};
use tokio::sync::{Semaphore, mpsc};

use super::{Name, Shared};
use crate::api::{Compare, Delete, Op, Put, Range, RangeAnswer, Txn};
use crate::client::EtcdClient;

/// A task in the queue.
pub(super) enum Work {
    Put(WrappedSecret),
    Burn(FlightHandle),
}

/// A secret, wrapped.
pub(super) struct WrappedSecret {
    pub(super) name: Name,
    pub(super) value: Vec<u8>,
    /// The hash of the client's name.
    pub(super) client: Option<Vec<u8>>,
}

/// The most puts in progress at once.
const AT_ONCE: u32 = 16;

/// Works until the vault is dropped, and then finishes the queue.
pub(super) async fn run(shared: Arc<Shared>, mut queue: mpsc::Receiver<Work>) {
    let room = Arc::new(Semaphore::new(AT_ONCE as usize));
    while let Some(work) = queue.recv().await {
        let alone = match work {
            Work::Put(_) => 1,
            // Takes all permits, so that it follows the put of what it burns.
            Work::Burn(_) => AT_ONCE,
        };
        let Ok(permit) = room.clone().acquire_many_owned(alone).await else { return };
        let shared = shared.clone();
        tokio::spawn(async move {
            match work {
                Work::Put(prepared) => {
                    if shared.put(prepared).await.is_err() {
                        tracing::debug!("a one-time key was not stored");
                    }
                }
                Work::Burn(handle) => {
                    if let Err(error) = shared.burn(&handle).await {
                        tracing::warn!("a one-time key stays until it expires: {error}");
                    }
                }
            }
            drop(permit);
        });
    }
}

/// One part in this many of the room is for clients whose name is known.
const RESERVED: usize = 4;

/// Another server may use the same place for the same client at the same time.
const ATTEMPTS: usize = 4;

impl Shared {
    /// Puts a secret, unless its handle is or was there. A put whose answer is lost is not repeated: it could restore
    /// what was taken in between.
    pub(super) async fn put(&self, put: WrappedSecret) -> Result<(), PutRefused> {
        let room = self.options.secrets;
        let room = if put.client.is_some() { room } else { room - room.div_ceil(RESERVED) };
        if self.secrets.estimate() >= room {
            return Err(PutRefused);
        }
        let client = &self.client.for_one_operation();
        let lease = self.leases.current(client).await.ok_or(PutRefused)?;
        let (secret, tombstone) = (self.key("s/", &put.name), self.key("t/", &put.name));
        for _ in 0..ATTEMPTS {
            let mut txn = Txn {
                compare: vec![Compare::is_absent(&secret), Compare::is_absent(&tombstone)],
                success: vec![Op::Put(Put::new(&secret, &put.value, Some(&lease)))],
                failure: vec![Op::Range(Range::of(&secret)), Op::Range(Range::of(&tombstone))],
            };
            if let Some(name) = &put.client {
                let place = self.place_for(client, name).await.ok_or(PutRefused)?;
                txn.compare.push(place.unchanged);
                let held = Put::new(&place.key, &put.name, Some(&lease));
                txn.success.push(Op::Put(held));
                let given_up = place.given_up.map(|name| self.key("s/", &name));
                let given_up = given_up.map(|key| Op::Delete(Delete::of(&key)));
                txn.success.extend(given_up);
            }
            let answer = client.txn(&txn).await.map_err(|error| {
                tracing::debug!("storing a one-time key failed: {error}");
                self.leases.after(&error, &lease);
                PutRefused
            })?;
            if answer.succeeded {
                let mut deletes = answer.responses.iter();
                let replaced =
                    deletes.find_map(|it| it.response_delete_range.as_ref()?.deleted.as_ref());
                // A client that only replaces its own secrets doesn't fill the vault.
                if replaced.is_none() {
                    self.secrets.add();
                }
                return Ok(());
            }
            let mut ranges = answer.responses.iter().filter_map(|it| it.response_range.as_ref());
            if ranges.any(|range| !range.kvs.is_empty()) {
                return Err(PutRefused);
            }
        }
        Err(PutRefused)
    }

    /// Returns a client's free place, or that of its oldest secret.
    async fn place_for(&self, client: &EtcdClient, name: &[u8]) -> Option<Place> {
        let prefix = [self.prefix("c/").as_bytes(), name, b"/"].concat();
        let held = client.range(&Range::all(&prefix)).await.ok()?;
        // Never more than the room reserved for clients with a name.
        let reserved = self.options.secrets.div_ceil(RESERVED);
        let reserved = u16::try_from(reserved).unwrap_or(u16::MAX);
        let limit = self.options.per_client.min(MAX_PER_CLIENT).min(reserved);
        let keys: Vec<_> = held.kvs.iter().filter_map(|kv| kv.key()).collect();
        let key_of = |place: u16| [&prefix[..], &place.to_be_bytes()].concat();
        let free = (0..limit).map(key_of).find(|key| !keys.contains(key));
        match free {
            Some(key) => Some(Place { unchanged: Compare::is_absent(&key), key, given_up: None }),
            None => oldest(&held),
        }
    }
}

const MAX_PER_CLIENT: u16 = 1000;

/// Where a client's secret is listed.
struct Place {
    key: Vec<u8>,
    /// No other server has used the place.
    unchanged: Compare,
    /// The secret that had the place, if any. It may have been taken long ago.
    given_up: Option<Name>,
}

fn oldest(held: &RangeAnswer) -> Option<Place> {
    let oldest = held.kvs.iter().min_by_key(|kv| kv.mod_revision.parse().unwrap_or(u64::MAX))?;
    let key = oldest.key()?;
    let unchanged = Compare::is_unchanged(&key, &oldest.mod_revision);
    Some(Place { unchanged, key, given_up: oldest.value()?.try_into().ok() })
}
