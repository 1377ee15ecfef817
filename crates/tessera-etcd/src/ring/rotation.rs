//! One read of etcd: install the keys, acknowledge them, and do what is due.

use std::time::Duration;

use tessera_store::{LeaseId, StoreError};
use tessera_vault::{Rotation, TicketKey};

use super::entry::{Entry, acknowledgement, acknowledges};
use super::{Membership, RingOptions, RingStatus, Shared};
use crate::api::{Compare, Delete, KeyValue, Op, Put, Range, RangeAnswer, Txn};

const SKEW: Duration = Rotation::SKEW;

/// The contents of etcd.
#[derive(Default)]
struct StoredRing {
    active: Vec<Entry>,
    /// The key that is being distributed, and the revision at which it was written.
    next: Option<(Option<Entry>, String)>,
    /// The acknowledgements of the live servers.
    servers: Vec<Vec<u8>>,
    unreadable: usize,
}

impl Shared {
    /// Reads once; `true` if it changed something, so that it must read again.
    pub(super) async fn look(&self) -> Result<bool, StoreError> {
        let answer = self.client.range(&Range::all(&self.key(""))).await?;
        let now = (self.clock)();
        let seen = self.sort(&answer, now);
        let known = self.install(&seen, now);
        let is_among = self.is_among(&answer);
        self.acknowledge(known, is_among).await?;

        let waiting_for = match &seen.next {
            Some((Some(next), _)) => {
                let lacks = |word: &&Vec<u8>| !acknowledges(word, &next.key.id);
                seen.servers.iter().filter(lacks).count()
            }
            _ => 0,
        };
        // Each server goes by its own clock, for distributing and for activating: a wrong clock doesn't rotate for the
        // others.
        let due = self.is_due(&seen.active, now);
        let done = match &seen.next {
            None if due => self.distribute(None, now).await?,
            Some((Some(next), revision)) if due && self.is_too_old(next, now) => {
                self.distribute(Some(revision), now).await?
            }
            // This server is among the live ones; otherwise the read is older than its acknowledgement.
            Some((Some(next), revision)) if due && waiting_for == 0 && is_among => {
                let Some(since) = answer.next_revision() else { return Ok(false) };
                // The acknowledgements must be those that were counted.
                let unchanged = [
                    Compare::is_unchanged(&self.key("next"), revision),
                    Compare::none_since(&self.key("a/"), since),
                ];
                self.activate(next, unchanged.into(), now).await?
            }
            _ => false,
        };
        self.report(&seen, waiting_for);
        Ok(done)
    }

    fn sort(&self, answer: &RangeAnswer, now: Duration) -> StoredRing {
        let mut seen = StoredRing::default();
        for kv in &answer.kvs {
            let (Some(key), Some(value)) = (kv.key(), kv.value()) else { continue };
            let entry = || Entry::decode(&key, &value, &self.wrapping, now);
            if key == self.key("next") {
                let entry = entry();
                seen.unreadable += usize::from(entry.is_none());
                seen.next = Some((entry, kv.mod_revision.clone()));
            } else if key.starts_with(&self.key("k/")) {
                match entry() {
                    Some(entry) => seen.active.push(entry),
                    None => seen.unreadable += 1,
                }
            } else if key.starts_with(&self.key("a/")) {
                seen.servers.push(value);
            }
        }
        seen.active.sort_by_key(|entry| std::cmp::Reverse(entry.key.issues_until));
        seen
    }

    /// Installs the keys that were read, and returns those that the ring has now.
    fn install(&self, seen: &StoredRing, now: Duration) -> Vec<[u8; 16]> {
        let mut keys: Vec<_> = seen.active.iter().map(|entry| copy(&entry.key)).collect();
        if let Some((Some(next), _)) = &seen.next
            // Activated, but not yet removed here.
            && !keys.iter().any(|key| key.id == next.key.id)
        {
            keys.push(self.only_opening(next));
        }
        let ids: Vec<_> = keys.iter().map(|key| key.id).collect();
        match self.ring.install(keys, now) {
            Ok(()) => ids,
            Err(error) => {
                tracing::error!("the ticket keys in etcd are unusable: {error}");
                Vec::new()
            }
        }
    }

    /// Returns a key in its first phase. If this server loses etcd, the key ends by itself.
    fn only_opening(&self, entry: &Entry) -> TicketKey {
        let TicketKey { id, secret, .. } = copy(&entry.key);
        let lifetime = self.options.rotation().lifetime();
        let end = entry.made_at.saturating_add(lifetime.saturating_mul(2));
        let known_from = entry.made_at.saturating_sub(SKEW);
        let last = end.saturating_sub(Duration::from_millis(1));
        TicketKey { id, secret, known_from, issues_from: last, issues_until: end, opens_until: end }
    }

    /// A key made this long ago waited while the fleet was down, or was restored from etcd's history. It isn't
    /// activated, since it may have leaked.
    fn is_too_old(&self, next: &Entry, now: Duration) -> bool {
        next.made_at.saturating_add(self.options.rotation().lifetime()) <= now
    }

    /// Registers this server as live with these keys, if that is news or etcd lacks it.
    async fn acknowledge(&self, keys: Vec<[u8; 16]>, is_among: bool) -> Result<(), StoreError> {
        let mut alive = self.lease.lock().await;
        if self.is_closed() {
            return Ok(());
        }
        if alive.is_none() {
            let lease = self.client.grant(self.options.counts_as_live_for).await?;
            *alive = Some(Membership { lease, acknowledged: None });
        }
        let news = |it: &&mut Membership| !is_among || it.acknowledged.as_ref() != Some(&keys);
        let Some(said) = alive.as_mut().filter(news) else { return Ok(()) };
        let put = Put::new(&self.own_name(), &acknowledgement(&keys), Some(&said.lease));
        let txn = Txn { success: vec![Op::Put(put)], ..Txn::default() };
        if let Err(error) = self.client.txn(&txn).await {
            // The lease may have ended.
            *alive = None;
            return Err(error);
        }
        said.acknowledged = Some(keys);
        Ok(())
    }

    fn own_name(&self) -> Vec<u8> {
        [&self.key("a/")[..], &self.server].concat()
    }

    fn is_among(&self, answer: &RangeAnswer) -> bool {
        let name = self.own_name();
        answer.kvs.iter().filter_map(KeyValue::key).any(|key| key == name)
    }

    fn is_due(&self, active: &[Entry], now: Duration) -> bool {
        let times = active.iter().map(|entry| (entry.key.issues_from, entry.key.issues_until));
        self.options.rotation().is_due(times, now)
    }

    /// The first phase; `replacing` is the revision of a key that can't be activated. A key that isn't activated
    /// expires soon enough for another before the one in use ends: it may be one that no server can read any more.
    async fn distribute(&self, replacing: Option<&str>, now: Duration) -> Result<bool, StoreError> {
        let RingOptions { issue_for, open_for, .. } = &self.options;
        let Ok(key) = TicketKey::generate(&self.provider, now, *issue_for, *open_for) else {
            return Ok(false);
        };
        let name = self.key("next");
        let compare = match replacing {
            Some(revision) => Compare::is_unchanged(&name, revision),
            None => Compare::is_absent(&name),
        };
        let entry = Entry { made_at: now, key };
        self.write(&name, &entry, *issue_for / 4, Txn { compare: vec![compare], ..Txn::default() })
            .await
    }

    /// The second phase. The key seals from now on, whatever the other servers' clocks, since they all have it; its end
    /// is by this server's clock.
    async fn activate(
        &self,
        next: &Entry,
        compare: Vec<Compare>,
        now: Duration,
    ) -> Result<bool, StoreError> {
        let RingOptions { issue_for, open_for, .. } = &self.options;
        let issues_until = now.saturating_add(*issue_for);
        let key = TicketKey {
            known_from: next.made_at.min(now).saturating_sub(SKEW),
            issues_from: now.saturating_sub(SKEW),
            issues_until,
            opens_until: issues_until.saturating_add(*open_for).saturating_add(SKEW),
            ..copy(&next.key)
        };
        let entry = Entry { made_at: next.made_at, key };
        let success = vec![Op::Delete(Delete::of(&self.key("next")))];
        // Longer than the key lives by any clock: no clock deletes it early.
        let lifetime = self.options.rotation().lifetime().saturating_add(SKEW * 2);
        let txn = Txn { compare, success, failure: Vec::new() };
        self.write(&self.key_of(&entry.key.id), &entry, lifetime, txn).await
    }

    /// Writes an entry that lives for `lifetime`, unless another server was first.
    async fn write(
        &self,
        name: &[u8],
        entry: &Entry,
        lifetime: Duration,
        mut txn: Txn,
    ) -> Result<bool, StoreError> {
        let Some(encoded) = entry.encode(name, &self.wrapping, (self.clock)()) else {
            tracing::error!("no wrapping key for ticket keys: they are not rotated");
            return Ok(false);
        };
        let lease: LeaseId = self.client.grant(lifetime).await?;
        txn.success.push(Op::Put(Put::new(name, &encoded, Some(&lease))));
        let succeeded = self.client.txn(&txn).await?.succeeded;
        if !succeeded {
            self.client.revoke(&lease).await?;
        }
        Ok(succeeded)
    }

    fn key_of(&self, id: &[u8; 16]) -> Vec<u8> {
        [&self.key("k/")[..], id].concat()
    }

    fn report(&self, seen: &StoredRing, waiting_for: usize) {
        let mut status = self.status();
        let looks = status.looks + 1;
        *status = RingStatus {
            looks,
            active: seen.active.iter().map(|entry| entry.key.id).collect(),
            distributing: match &seen.next {
                Some((Some(next), _)) => Some(next.key.id),
                _ => None,
            },
            waiting_for,
            unreadable: seen.unreadable,
        };
    }
}

fn copy(key: &TicketKey) -> TicketKey {
    let TicketKey { id, known_from, issues_from, issues_until, opens_until, .. } = *key;
    let secret = key.secret.clone();
    TicketKey { id, secret, known_from, issues_from, issues_until, opens_until }
}
