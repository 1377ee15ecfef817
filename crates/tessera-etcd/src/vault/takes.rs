//! Takes and burns, and which of them cost etcd a write.
//!
//! A write waits for the disks of a majority; a read doesn't. So takes of keys that don't exist must not cause writes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tessera::resume::{Absence, FlightHandle, TakeAnswer, TakePurpose, TakeSecret};
use tessera_store::StoreError;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{sleep, timeout_at};

use super::{Name, Shared, millis};
use crate::api::{Compare, Delete, Op, Put, Range, RangeAnswer, Txn};
use crate::client::EtcdClient;

/// Limits the takes and burns in progress; the others wait. Takes that accept a flight don't wait behind those that
/// answer questions.
pub(super) struct Room {
    accept: Semaphore,
    burn: Semaphore,
    /// How many takes in a row found nothing.
    misses: AtomicU32,
    /// How many takes in a row found not even a tombstone.
    unknown: AtomicU32,
}

/// More at once would only wait in etcd.
const ACCEPTS_AT_ONCE: usize = 64;

/// The most connections to etcd that a flood of questions keeps busy.
const BURNS_AT_ONCE: usize = 16;

/// After this many takes in a row that found nothing, the next one reads first.
const TRUSTING: u32 = 4;

impl Room {
    pub(super) fn new() -> Self {
        let (accept, burn) = (Semaphore::new(ACCEPTS_AT_ONCE), Semaphore::new(BURNS_AT_ONCE));
        Self { accept, burn, misses: AtomicU32::new(0), unknown: AtomicU32::new(0) }
    }

    /// Waits for a permit, until the deadline.
    async fn enter(
        &self,
        purpose: TakePurpose,
        client: &EtcdClient,
    ) -> Option<SemaphorePermit<'_>> {
        let room = match purpose {
            TakePurpose::Accept => &self.accept,
            TakePurpose::Burn => &self.burn,
        };
        timeout_at(client.deadline(), room.acquire()).await.ok()?.ok()
    }

    /// Whether to read before the take. An honest flight finds its key, and the read costs it a round trip to etcd;
    /// replayed flights don't.
    fn looks_first(&self, purpose: TakePurpose) -> bool {
        purpose == TakePurpose::Burn || self.misses.load(Ordering::Relaxed) >= TRUSTING
    }

    /// Whether to try again for a secret that etcd doesn't know. Not during a flood of takes that find nothing.
    fn waits_for_puts(&self, purpose: TakePurpose) -> bool {
        purpose == TakePurpose::Accept && self.unknown.load(Ordering::Relaxed) < TRUSTING
    }

    fn note(&self, taken: &TakeAnswer) {
        let count = |counter: &AtomicU32| {
            let more = |before: u32| Some(before.saturating_add(1));
            let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        };
        match taken {
            TakeAnswer::Taken(_) => {
                self.misses.store(0, Ordering::Relaxed);
                self.unknown.store(0, Ordering::Relaxed);
            }
            TakeAnswer::Absent(absent) => {
                count(&self.misses);
                if *absent == Absence::Unknown {
                    count(&self.unknown);
                }
            }
            _ => (),
        }
    }
}

/// The keys in etcd for a secret and for its fate.
struct Keys {
    secret: Vec<u8>,
    tombstone: Vec<u8>,
}

impl Shared {
    pub(super) async fn take(&self, question: &TakeSecret) -> TakeAnswer {
        let mut waits = PUT_UNDER_WAY.into_iter();
        loop {
            let taken = match self.take_in_time(question).await {
                Ok(Some(taken)) => taken,
                // A client that returns at once is faster than the put of its ticket's secret.
                Ok(None) if self.room.waits_for_puts(question.purpose) => match waits.next() {
                    Some(wait) => {
                        sleep(wait).await;
                        continue;
                    }
                    None => TakeAnswer::Absent(Absence::Unknown),
                },
                Ok(None) => TakeAnswer::Absent(Absence::Unknown),
                Err(error) => {
                    tracing::warn!("taking a one-time key failed: {error}");
                    TakeAnswer::Unavailable
                }
            };
            self.room.note(&taken);
            return taken;
        }
    }

    /// Takes the secret; `None` if etcd doesn't know it. No other take can get a secret that this one found.
    async fn take_in_time(&self, question: &TakeSecret) -> Result<Option<TakeAnswer>, StoreError> {
        let TakeSecret { handle, purpose, unix, .. } = *question;
        let unix = unix.ok_or_else(|| StoreError::NotSent("there is no clock".into()))?;
        let client = self.client.for_one_operation();
        let _place = self.room.enter(purpose, &client).await.ok_or_else(too_much)?;
        let keys = self.keys(&self.name(&handle));
        let not_after = not_after(unix);
        if self.room.looks_first(purpose)
            && let Presence::Absent(fate) = self.look(&client, &keys).await?
        {
            return Ok(fate.map(TakeAnswer::Absent));
        }
        let fate: &[u8] = match purpose {
            TakePurpose::Accept => USED,
            TakePurpose::Burn => BURNED,
        };
        let lease = self.leases.current(&client).await.ok_or_else(no_lease)?;
        let tombstone = Put::new(&keys.tombstone, fate, Some(&lease));
        let (remembers, success) = self.bury(Delete::taking(&keys.secret), tombstone);
        let txn = Txn {
            compare: vec![Compare::is_greater(&keys.secret, &not_after)],
            success,
            // An expired secret is removed without a tombstone: it was never used.
            failure: vec![
                Op::Range(Range::of(&keys.tombstone)),
                Op::Delete(Delete::of(&keys.secret)),
            ],
        };
        let answer = client.txn(&txn).await.inspect_err(|it| self.leases.after(it, &lease))?;
        let mut responses = answer.responses.into_iter();
        if !answer.succeeded {
            let range = responses.find_map(|response| response.response_range);
            return Ok(fate_in(range.as_ref()).map(TakeAnswer::Absent));
        }
        if remembers {
            self.tombstones.add();
        }
        let deleted = responses.find_map(|response| response.response_delete_range);
        let value = deleted.and_then(|deleted| deleted.prev_kvs.first()?.value());
        // A value that doesn't open was not put by a server with our keys, or its epoch is over.
        let opened = value.and_then(|value| self.unwrap(&handle, &value, unix));
        Ok(Some(opened.map_or(TakeAnswer::Absent(Absence::Unknown), TakeAnswer::Taken)))
    }

    pub(super) async fn burn(&self, handle: &FlightHandle) -> Result<(), StoreError> {
        let client = self.client.for_one_operation();
        let _place = self.room.enter(TakePurpose::Burn, &client).await.ok_or_else(too_much)?;
        let keys = self.keys(&self.name(handle));
        if let Presence::Absent(_) = self.look(&client, &keys).await? {
            return Ok(());
        }
        let lease = self.leases.current(&client).await.ok_or_else(no_lease)?;
        let tombstone = Put::new(&keys.tombstone, BURNED, Some(&lease));
        let (remembers, success) = self.bury(Delete::of(&keys.secret), tombstone);
        let compare = vec![Compare::is_there(&keys.secret)];
        let txn = Txn { compare, success, failure: Vec::new() };
        let answer = client.txn(&txn).await.inspect_err(|it| self.leases.after(it, &lease))?;
        if remembers && answer.succeeded {
            self.tombstones.add();
        }
        Ok(())
    }

    /// Reads the fate of a secret that is not there. The read is linearizable: a majority of the members agrees, as for
    /// a take that found nothing.
    async fn look(&self, client: &EtcdClient, keys: &Keys) -> Result<Presence, StoreError> {
        let ranges = [&keys.secret, &keys.tombstone].map(|key| Op::Range(Range::of(key)));
        let txn = Txn { success: ranges.into(), ..Txn::default() };
        let answer = client.txn(&txn).await?;
        let mut ranges = answer.responses.iter().map(|response| response.response_range.as_ref());
        let is_there = ranges.next().flatten().is_some_and(|range| !range.kvs.is_empty());
        Ok(match is_there {
            true => Presence::There,
            false => Presence::Absent(fate_in(ranges.next().flatten())),
        })
    }

    fn keys(&self, name: &Name) -> Keys {
        Keys { secret: self.key("s/", name), tombstone: self.key("t/", name) }
    }

    /// Removes a secret, and leaves a tombstone with its fate. The returned flag is whether it does: with too many
    /// tombstones it doesn't, since a full etcd accepts no writes, and the fate becomes unknown.
    fn bury(&self, secret: Delete, tombstone: Put) -> (bool, Vec<Op>) {
        let remembers =
            self.tombstones.estimate() < self.options.secrets.saturating_mul(TOMBSTONES);
        let mut ops = vec![Op::Delete(secret)];
        ops.extend(remembers.then_some(Op::Put(tombstone)));
        (remembers, ops)
    }
}

/// The result of a read.
enum Presence {
    There,
    /// With its fate, if there is a tombstone.
    Absent(Option<Absence>),
}

/// Reads a tombstone.
fn fate_in(range: Option<&RangeAnswer>) -> Option<Absence> {
    match range?.kvs.first()?.value().as_deref() {
        Some(USED) => Some(Absence::Used),
        Some(BURNED) => Some(Absence::Burned),
        _ => Some(Absence::Unknown),
    }
}

/// How long to wait for a put in progress when its ticket comes back: it waits for the disks of a majority.
const PUT_UNDER_WAY: [Duration; 5] = [
    Duration::from_millis(10),
    Duration::from_millis(20),
    Duration::from_millis(40),
    Duration::from_millis(80),
    Duration::from_millis(160),
];

/// The most tombstones per possible secret.
const TOMBSTONES: usize = 10;

const USED: &[u8] = b"u";
const BURNED: &[u8] = b"b";

/// Returns a byte string that only values of secrets not yet expired at `unix` exceed.
fn not_after(unix: Duration) -> [u8; 8] {
    millis(unix).saturating_add(1).to_be_bytes()
}

fn too_much() -> StoreError {
    StoreError::NotSent("too much work is in progress".into())
}

fn no_lease() -> StoreError {
    StoreError::NotSent("there is no lease".into())
}
