//! Changes of the ring: keys are generated, written and replaced.

use std::fmt;
use std::time::Duration;

use tessera_store::{Change, Condition, LeaseId, StoreError, Transaction};
use tessera_vault::TicketKey;

use crate::entry::{RingEntry, copy, wiped};
use crate::known::hex;
use crate::shared::{Shared, Turn};
use crate::stored::StoredRing;

/// Why a requested change didn't happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeError {
    /// These live members don't hold the next key yet.
    WaitingFor(Vec<String>),
    /// This member takes no part in the ring, or has no next key yet; the text has the reason.
    NotReady(String),
    /// Other members changed the ring at the same time.
    Contended,
    /// The store failed. The change may have happened.
    Store(StoreError),
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingFor(members) => {
                let members = members.join(", ");
                write!(
                    f,
                    "these members don't hold the next ticket key yet: {members}; repair or stop them"
                )
            }
            Self::NotReady(why) => f.write_str(why),
            Self::Contended => {
                f.write_str("other members changed the ring at the same time; try again")
            }
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ChangeError {}

impl From<StoreError> for ChangeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// How many entries a revocation deletes: with the two new ones a transaction of any store.
const MAX_DELETIONS: usize = 100;

/// How often a requested change is tried when others change the ring at the same time.
const TRIES: usize = 5;

impl Shared {
    pub(crate) async fn rotate(&self) -> Result<(), ChangeError> {
        let mut turn = self.turn.lock().await;
        for _ in 0..TRIES {
            let (stored, problem) = self.follow_store(&mut turn).await?;
            if let Some(why) = problem {
                return Err(ChangeError::NotReady(why));
            }
            let next = self.known().next.clone();
            let (Some(next), Some(revision)) = (next, stored.next_revision) else {
                return Err(ChangeError::NotReady(
                    "no next ticket key is distributed yet; try again".into(),
                ));
            };
            let lacking = self.lacking(&stored);
            if !lacking.is_empty() {
                return Err(ChangeError::WaitingFor(lacking));
            }
            let now = (self.clock)();
            if self.is_among(&stored) && self.activate(&next, revision, &stored, now).await? {
                tracing::info!("ticket key {} was activated by request", hex(&next.key.id));
                return Ok(self.follow_own_change(&mut turn).await?);
            }
        }
        Err(ChangeError::Contended)
    }

    pub(crate) async fn revoke(&self) -> Result<(), ChangeError> {
        let mut turn = self.turn.lock().await;
        for _ in 0..TRIES {
            let (stored, problem) = self.follow_store(&mut turn).await?;
            if let Some(why) = problem {
                return Err(ChangeError::NotReady(why));
            }
            if self.replace_all(&stored).await? {
                tracing::warn!("all earlier ticket keys were revoked by request");
                return Ok(self.follow_own_change(&mut turn).await?);
            }
        }
        Err(ChangeError::Contended)
    }

    /// Takes part in a change of this member's own at once, and reports it.
    async fn follow_own_change(&self, turn: &mut Turn) -> Result<(), StoreError> {
        let (stored, _) = self.follow_store(turn).await?;
        self.report(&stored);
        Ok(())
    }

    /// Replaces all keys with new ones, unless another member changes the ring at the same time.
    async fn replace_all(&self, stored: &StoredRing) -> Result<bool, ChangeError> {
        let now = (self.clock)();
        let epoch = stored.highest_epoch();
        let keys = self.generate(epoch, now).zip(self.generate(epoch.saturating_add(1), now));
        let Some((first, next)) = keys else {
            return Err(ChangeError::NotReady("the system has no random bytes".into()));
        };
        let name = self.names.next();
        let conditions = vec![
            match stored.next_revision {
                Some(revision) => Condition::Unchanged(name, revision),
                None => Condition::Absent(name),
            },
            Condition::NoneWrittenSince(self.names.keys(), stored.revision),
        ];
        // The floor alone revokes the keys: entries that don't fit into the transaction end with their leases.
        let earlier = stored.active_names.iter().take(MAX_DELETIONS);
        let deletions = earlier.map(|key| Change::Delete { key: key.clone() }).collect();
        let floor = first.epoch;
        let (first, next) = (RingEntry { floor, ..first }, RingEntry { floor, ..next });
        let active = self.activated(&first, now);
        Ok(self.write(conditions, deletions, Some(&active), &next, now).await?)
    }

    /// Generates a key whose epoch is greater than all, and than `stored`; `None` without randomness.
    pub(crate) fn generate(&self, stored: u64, now: Duration) -> Option<RingEntry> {
        let rotation = &self.options.rotation;
        let key = wiped(&self.provider, || {
            let key =
                TicketKey::generate(&self.provider, now, rotation.issue_for, rotation.open_for);
            key.ok().map(Box::new)
        });
        let (epoch, floor) = {
            let known = self.known();
            (known.next_epoch(stored), known.floor)
        };
        Some(RingEntry { generated_at: now, key: key?, epoch, floor })
    }

    /// Returns the entry of a key that seals from now on, instead of all others: of two keys that seal, servers use that
    /// with the later beginning, whatever clocks set it.
    pub(crate) fn activated(&self, entry: &RingEntry, now: Duration) -> RingEntry {
        let rotation = &self.options.rotation;
        let issues_until = now.saturating_add(rotation.issue_for);
        let known = self.known();
        let begun = known.active.iter().map(|it| it.key.issues_from).filter(|from| *from <= now);
        let after = begun.max().map_or(Duration::ZERO, |from| from + Duration::from_millis(1));
        let mut key = copy(&entry.key);
        key.known_from = entry.generated_at.min(now).saturating_sub(rotation.skew);
        key.issues_from = now.saturating_sub(rotation.skew).max(after);
        key.issues_until = issues_until;
        key.opens_until =
            issues_until.saturating_add(rotation.open_for).saturating_add(rotation.skew);
        RingEntry { key, ..*entry }
    }

    /// Writes a key as active, if there is one, and another as the next, together with other changes; `false` if a
    /// condition didn't hold.
    ///
    /// The next key's lease ends while the active one still seals, so that another can replace it: it may be one that no
    /// member can read any more.
    pub(crate) async fn write(
        &self,
        conditions: Vec<Condition>,
        mut changes: Vec<Change>,
        active: Option<&RingEntry>,
        next: &RingEntry,
        now: Duration,
    ) -> Result<bool, StoreError> {
        let rotation = &self.options.rotation;
        // Longer than the key lives by any clock: no clock deletes it early.
        let life = rotation.lifetime().saturating_add(rotation.skew.saturating_mul(2));
        let encode = |key: &[u8], entry: &RingEntry| {
            wiped(&self.provider, || entry.encode(key, &self.wrapping, now))
        };
        let active = active.map(|entry| (self.names.key(&entry.key.id), entry));
        let value_of_active = active.as_ref().map(|(key, entry)| encode(key, entry));
        let name_of_next = self.names.next();
        let (Some(value_of_next), false) =
            (encode(&name_of_next, next), value_of_active == Some(None))
        else {
            tracing::error!("no wrapping key for ticket keys: they are not rotated");
            return Ok(false);
        };
        let lease = async |lifetime| Ok(Some(self.store.grant(lifetime).await?));
        let for_active = async { if active.is_some() { lease(life).await } else { Ok(None) } };
        let (active_lease, next_lease) =
            tokio::try_join!(for_active, lease(rotation.issue_for / 4 * 3))?;
        let mut put = |key, value, lease: &Option<LeaseId>| {
            changes.push(Change::Put { key, value, lease: lease.clone() });
        };
        if let (Some((key, _)), Some(Some(value))) = (active, value_of_active) {
            put(key, value, &active_lease);
        }
        put(name_of_next, value_of_next, &next_lease);
        let committed = self.store.commit(Transaction { conditions, changes }).await;
        // What was not written needs no lease; what may have been written needs its own.
        if !matches!(committed, Ok(Some(_)) | Err(StoreError::Unknown(_))) {
            for lease in active_lease.iter().chain(&next_lease) {
                self.store.revoke(lease).await?;
            }
        }
        Ok(committed?.is_some())
    }
}
