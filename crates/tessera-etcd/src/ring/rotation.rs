//! One look at etcd: install what is there, acknowledge it, and do what is due.

use std::time::Duration;

use tessera_vault::TicketKey;

use super::entry::{Entry, acknowledgement, acknowledges};
use super::{Alive, RingOptions, RingStatus, Shared};
use crate::api::{Compare, Delete, KeyValue, LeaseId, Op, Put, Range, RangeAnswer, Txn};
use crate::client::EtcdError;

/// How much the clocks of two servers may differ, with some to spare: five minutes each from the true
/// time, in different directions.
const SKEW: Duration = Duration::from_secs(900);

/// What is in etcd.
#[derive(Default)]
struct Seen {
    active: Vec<Entry>,
    /// The key that is being distributed, and the revision at which it was written.
    next: Option<(Option<Entry>, String)>,
    /// What the live servers say.
    servers: Vec<Vec<u8>>,
    unreadable: usize,
}

impl Shared {
    /// Looks once; `true` if it did something, so that there is more to see.
    pub(super) async fn look(&self) -> Result<bool, EtcdError> {
        let answer = self.client.range(&Range::all(&self.key(""))).await?;
        let now = (self.clock)();
        let seen = self.sort(&answer, now);
        let known = self.install(&seen, now);
        self.acknowledge(known).await?;

        let waiting_for = match &seen.next {
            Some((Some(next), _)) => {
                let lacks = |word: &&Vec<u8>| !acknowledges(word, &next.key.id);
                seen.servers.iter().filter(lacks).count()
            }
            _ => 0,
        };
        // Whoever's clock says that a key is due makes it, and activates it: a wrong clock doesn't rotate
        // for the others.
        let due = self.is_due(&seen.active, now);
        let done = match &seen.next {
            None if due => self.distribute(now).await?,
            // This server is among those that live: otherwise the answer is from before it said so.
            Some((Some(next), revision)) if due && waiting_for == 0 && self.is_among(&answer) => {
                self.activate(next, revision, now).await?
            }
            _ => false,
        };
        self.report(&seen, waiting_for);
        Ok(done)
    }

    fn sort(&self, answer: &RangeAnswer, now: Duration) -> Seen {
        let mut seen = Seen::default();
        for kv in &answer.kvs {
            let (Some(key), Some(value)) = (kv.key(), kv.value()) else { continue };
            let entry = || Entry::decode(&value, &self.wrapping, now);
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

    /// Gives the ring what was seen, and says which keys it has now.
    fn install(&self, seen: &Seen, now: Duration) -> Vec<[u8; 16]> {
        let mut keys: Vec<_> = seen.active.iter().map(|entry| copy(&entry.key)).collect();
        if let Some((Some(next), _)) = &seen.next
            // Activated and still to be removed from here.
            && !keys.iter().any(|key| key.id == next.key.id)
        {
            keys.push(self.only_opening(next));
        }
        let ids: Vec<_> = keys.iter().map(|key| key.id).collect();
        match self.ring.install(keys, now) {
            Ok(()) => ids,
            Err(error) => {
                log::error!("the ticket keys in etcd are unusable: {error}");
                Vec::new()
            }
        }
    }

    /// A key in its first phase. Should this server lose sight of etcd, it ends by itself.
    fn only_opening(&self, entry: &Entry) -> TicketKey {
        let TicketKey { id, secret, .. } = copy(&entry.key);
        let lifetime = self.options.issue_for.saturating_add(self.options.open_for);
        let end = entry.made_at.saturating_add(lifetime.saturating_mul(2));
        let known_from = entry.made_at.saturating_sub(SKEW);
        let last = end.saturating_sub(Duration::from_millis(1));
        TicketKey { id, secret, known_from, issues_from: last, issues_until: end, opens_until: end }
    }

    /// Says that this server lives, and which keys it has, if that is news.
    async fn acknowledge(&self, keys: Vec<[u8; 16]>) -> Result<(), EtcdError> {
        let mut alive = self.lease.lock().await;
        if self.is_closed() {
            return Ok(());
        }
        if alive.is_none() {
            let lease = self.client.grant(self.options.counts_as_live_for).await?;
            *alive = Some(Alive { lease, acknowledged: None });
        }
        let Some(said) = alive.as_mut().filter(|it| it.acknowledged.as_ref() != Some(&keys)) else {
            return Ok(());
        };
        let put = Put::new(&self.own_name(), &acknowledgement(&keys), Some(&said.lease));
        let txn = Txn { success: vec![Op::Put(put)], ..Txn::default() };
        if let Err(error) = self.client.txn(&txn).await {
            // Perhaps the lease has ended.
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

    /// Whether a new key is needed: what seals now has less than half its time left. A key whose time
    /// lies far ahead was made by a wrong clock, and counts for nothing.
    fn is_due(&self, active: &[Entry], now: Duration) -> bool {
        let seals = active.iter().filter(|entry| entry.key.issues_from <= now + SKEW);
        let until = seals.map(|entry| entry.key.issues_until).max();
        until.is_none_or(|until| until < now + self.options.issue_for / 2)
    }

    /// The first phase.
    async fn distribute(&self, now: Duration) -> Result<bool, EtcdError> {
        let RingOptions { issue_for, open_for, .. } = &self.options;
        let Ok(key) = TicketKey::generate(&self.provider, now, *issue_for, *open_for) else {
            return Ok(false);
        };
        let entry = Entry { active: false, made_at: now, key };
        let Some(encoded) = entry.encode(&self.wrapping, now) else {
            log::error!("no key wraps ticket keys: they are not rotated");
            return Ok(false);
        };
        let name = self.key("next");
        let txn = Txn {
            compare: vec![Compare::is_absent(&name)],
            success: vec![Op::Put(Put::new(&name, &encoded, None))],
            failure: Vec::new(),
        };
        self.client.txn(&txn).await.map(|answer| answer.succeeded)
    }

    /// The second phase. The key seals from now on whatever the other servers' clocks say, since they all
    /// have it; when it ends goes by this server's clock.
    async fn activate(
        &self,
        next: &Entry,
        revision: &str,
        now: Duration,
    ) -> Result<bool, EtcdError> {
        let RingOptions { issue_for, open_for, .. } = &self.options;
        let issues_until = now.saturating_add(*issue_for);
        let key = TicketKey {
            known_from: next.made_at.min(now).saturating_sub(SKEW),
            issues_from: now.saturating_sub(SKEW),
            issues_until,
            opens_until: issues_until.saturating_add(*open_for).saturating_add(SKEW),
            ..copy(&next.key)
        };
        let entry = Entry { active: true, made_at: next.made_at, key };
        let Some(encoded) = entry.encode(&self.wrapping, now) else { return Ok(false) };
        let lifetime = issue_for.saturating_add(*open_for);
        // Longer than any clock thinks that the key lives: nobody's clock deletes it.
        let lease: LeaseId = self.client.grant(lifetime.saturating_add(SKEW * 2)).await?;
        let (name, active) = (self.key("next"), self.key_of(&entry.key.id));
        let txn = Txn {
            compare: vec![Compare::is_unchanged(&name, revision)],
            success: vec![
                Op::Put(Put::new(&active, &encoded, Some(&lease))),
                Op::Delete(Delete::of(&name)),
            ],
            failure: Vec::new(),
        };
        let activated = self.client.txn(&txn).await?.succeeded;
        if !activated {
            self.client.revoke(&lease).await?;
        }
        Ok(activated)
    }

    fn key_of(&self, id: &[u8; 16]) -> Vec<u8> {
        [&self.key("k/")[..], id].concat()
    }

    fn report(&self, seen: &Seen, waiting_for: usize) {
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
