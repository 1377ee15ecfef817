//! The keys that a member knows, and which of them it accepts from the store.

use std::collections::VecDeque;
use std::time::Duration;

use tessera::crypto::Provider;
use tessera_vault::{Rotation, TicketKey};

use crate::entry::{RingEntry, copy};
use crate::install::RingKeys;

/// The keys as last read, and a memory of all earlier ones.
///
/// A store that was restored from a backup brings keys back that were destroyed or revoked. So a member accepts only keys
/// that it has, or whose epoch is greater than that of every key it has seen, and none whose secret it has seen under
/// another id.
#[derive(Default)]
pub(crate) struct KnownKeys {
    /// The keys that were activated, the last one first, whatever clocks set their ends.
    pub(crate) active: Vec<RingEntry>,
    pub(crate) next: Option<RingEntry>,
    /// The greatest epoch seen.
    pub(crate) highest_epoch: u64,
    /// The greatest floor seen: keys of smaller epochs are revoked.
    pub(crate) floor: u64,
    /// Fingerprints of the secrets seen, the newest last.
    pub(crate) seen: VecDeque<[u8; 16]>,
}

/// The most fingerprints: with a rotation an hour, those of three weeks.
pub(crate) const MOST_SEEN: usize = 512;

/// What a read of the store found.
pub(crate) struct StoredKeys {
    pub(crate) active: Vec<RingEntry>,
    pub(crate) next: Option<RingEntry>,
}

impl KnownKeys {
    /// Takes the keys of the store. Returns why some were refused, if any.
    pub(crate) fn update(
        &mut self,
        stored: StoredKeys,
        provider: &Provider,
        now: Duration,
    ) -> Option<String> {
        let mut refused = None;
        let mut accepted = Vec::new();
        let mut accept = |entry: &RingEntry| match self.refusal(entry, &accepted, provider) {
            None => {
                accepted.push((entry.key.id, secret_of(&entry.key, provider)));
                true
            }
            Some(why) => {
                refused = Some(why);
                false
            }
        };
        let StoredKeys { mut active, next } = stored;
        // The store keeps a key for longer than any clock lets it open.
        active.retain(|entry| now < entry.key.opens_until);
        // What a revocation left behind: the store itself has the floor.
        let floor = active.iter().chain(&next).map(|entry| entry.floor).max().unwrap_or(0);
        active.retain(|entry| entry.epoch >= floor);
        active.retain(&mut accept);
        let next = next.filter(&mut accept);
        let highest = active.iter().chain(&next).map(|entry| entry.epoch).max().unwrap_or(0);
        for (_, fingerprint) in accepted {
            if !self.seen.contains(&fingerprint) {
                self.seen.push_back(fingerprint);
            }
        }
        self.seen.drain(..self.seen.len().saturating_sub(MOST_SEEN));
        let floor = active.iter().chain(&next).map(|entry| entry.floor).max().unwrap_or(0);
        self.floor = self.floor.max(floor);
        // A store that lost a key doesn't end it: its times do, and a revocation.
        let has = |entry: &RingEntry| active.iter().any(|it| it.key.id == entry.key.id);
        let opens = |entry: &RingEntry| entry.key.known_from <= now && now < entry.key.opens_until;
        let kept = self.active.drain(..).filter(|entry| !has(entry) && opens(entry));
        let kept: Vec<_> = kept.collect();
        active.extend(kept);
        active.retain(|entry| entry.epoch >= self.floor);
        active.sort_by_key(|entry| std::cmp::Reverse((entry.key.issues_from, entry.key.id)));
        self.highest_epoch = self.highest_epoch.max(highest);
        self.active = active;
        // Activated, but not removed from the store yet.
        let next = next.filter(|next| next.epoch >= self.floor);
        self.next = next.filter(|next| !self.active.iter().any(|it| it.key.id == next.key.id));
        refused
    }

    /// Returns why this member doesn't accept a key of the store.
    fn refusal(
        &self,
        entry: &RingEntry,
        accepted: &[([u8; 16], [u8; 16])],
        provider: &Provider,
    ) -> Option<String> {
        if let Err(error) = entry.key.check() {
            return Some(format!("{error}; the ring refuses this key"));
        }
        let id = entry.key.id;
        let fingerprint = secret_of(&entry.key, provider);
        let is_another = |other: &([u8; 16], [u8; 16])| other.1 == fingerprint && other.0 != id;
        let mut known = self.active.iter().chain(&self.next);
        let repeats = accepted.iter().any(is_another);
        if !repeats
            && known.any(|it| it.key.id == id && secret_of(&it.key, provider) == fingerprint)
        {
            return None;
        }
        let name = hex(&id);
        if repeats || self.seen.contains(&fingerprint) {
            return Some(format!(
                "ticket key {name} has the secret of an earlier key: the store was restored from a backup, or a member \
                 repeats keys; the ring refuses this key"
            ));
        }
        // The first version had no epochs.
        let is_old = entry.epoch <= self.highest_epoch && (entry.epoch != 0 || self.floor != 0);
        is_old.then(|| {
            format!(
                "ticket key {name} has epoch {}, and this member has seen epoch {}: the store was restored from a \
                 backup; the ring refuses this key",
                entry.epoch, self.highest_epoch
            )
        })
    }

    /// Returns the epoch of the next key to generate.
    pub(crate) fn next_epoch(&self, stored: u64) -> u64 {
        self.highest_epoch.max(stored).saturating_add(1)
    }

    /// Destroys the keys that no longer open tickets.
    pub(crate) fn purge(&mut self, now: Duration) {
        self.active.retain(|entry| entry.key.opens_until > now);
    }

    /// Returns the keys that a server should hold at `now`.
    pub(crate) fn at(&self, now: Duration, rotation: &Rotation) -> RingKeys {
        let seals = |key: &TicketKey| key.issues_from <= now && now < key.issues_until;
        let issuing = self.active.iter().filter(|entry| seals(&entry.key));
        // As the ring of Tessera's own servers chooses.
        let issuing = issuing.max_by_key(|entry| (entry.key.issues_from, entry.key.id));
        let opens = |key: &TicketKey| key.known_from <= now && now < key.opens_until;
        let earlier = self.active.iter().filter(|entry| opens(&entry.key));
        let earlier = earlier.filter(|entry| issuing.is_none_or(|it| it.key.id != entry.key.id));
        RingKeys {
            now,
            issuing: issuing.map(|entry| copy(&entry.key)),
            next: self.next.as_ref().map(|entry| only_opening(entry, rotation)),
            earlier: earlier.map(|entry| copy(&entry.key)).collect(),
        }
    }

    /// Returns when the keys' times next change what [`at`](Self::at) returns.
    pub(crate) fn next_change(&self, now: Duration) -> Option<Duration> {
        let times = self.active.iter().flat_map(|entry| {
            let TicketKey { known_from, issues_from, issues_until, opens_until, .. } = *entry.key;
            [known_from, issues_from, issues_until, opens_until]
        });
        times.filter(|time| *time > now).min()
    }
}

/// Returns a key that is being distributed. If its member loses the store, the key ends by itself.
fn only_opening(entry: &RingEntry, rotation: &Rotation) -> Box<TicketKey> {
    let end = entry.generated_at.saturating_add(rotation.lifetime().saturating_mul(2));
    let mut key = copy(&entry.key);
    key.known_from = entry.generated_at.saturating_sub(rotation.skew);
    key.issues_from = end.saturating_sub(Duration::from_millis(1));
    (key.issues_until, key.opens_until) = (end, end);
    key
}

fn secret_of(key: &TicketKey, provider: &Provider) -> [u8; 16] {
    key.fingerprint(provider, b"seen")
}

/// Writes an id in hexadecimal.
pub(crate) fn hex(id: &[u8; 16]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that opens from the first second, and seals from the second one.
    fn entry(id: u8, secret: u8, epoch: u64, floor: u64) -> RingEntry {
        let at = Duration::from_secs;
        let (known_from, issues_from) = (at(1), at(2));
        let forever = TicketKey::forever([id; 16], [secret; 32].into());
        let key = TicketKey { known_from, issues_from, issues_until: at(50), ..forever };
        let key = Box::new(TicketKey { opens_until: at(100), ..key });
        RingEntry { generated_at: at(0), key, epoch, floor }
    }

    #[test]
    fn two_keys_of_one_read_with_the_same_secret_are_refused() {
        let provider = tessera_aws_lc::provider();
        let mut known = KnownKeys::default();
        let (active, next) = (vec![entry(1, 7, 1, 0)], Some(entry(2, 7, 2, 0)));
        let refused = known.update(StoredKeys { active, next }, &provider, Duration::from_secs(3));
        assert!(refused.unwrap().contains("has the secret of an earlier key"));
        assert!(known.active.len() == 1 && known.next.is_none());
    }

    #[test]
    fn keys_below_the_floor_are_revoked_the_next_one_too() {
        let provider = tessera_aws_lc::provider();
        let now = Duration::from_secs(3);
        let mut known = KnownKeys::default();
        let stored = StoredKeys { active: vec![entry(1, 1, 1, 0)], next: Some(entry(2, 2, 2, 0)) };
        assert_eq!(known.update(stored, &provider, now), None);
        let active = vec![entry(1, 1, 1, 0), entry(3, 3, 3, 3)];
        let stored = StoredKeys { active, next: Some(entry(2, 2, 2, 0)) };
        known.update(stored, &provider, now);
        let ids: Vec<_> = known.active.iter().map(|it| it.key.id[0]).collect();
        assert_eq!((ids, known.next.is_none(), known.floor), (vec![3], true, 3));
    }

    #[test]
    fn a_key_that_is_active_already_is_not_the_next_one() {
        let provider = tessera_aws_lc::provider();
        let mut known = KnownKeys::default();
        let stored = StoredKeys { active: vec![entry(1, 1, 1, 0)], next: Some(entry(1, 1, 1, 0)) };
        assert_eq!(known.update(stored, &provider, Duration::from_secs(3)), None);
        assert!(known.active.len() == 1 && known.next.is_none());
    }

    #[test]
    fn only_the_newest_fingerprints_are_remembered() {
        let provider = tessera_aws_lc::provider();
        let mut known = KnownKeys::default();
        known.seen.extend((0..MOST_SEEN).map(|number| (number as u128).to_be_bytes()));
        let stored = StoredKeys { active: vec![entry(1, 1, 1, 0)], next: None };
        known.update(stored, &provider, Duration::from_secs(3));
        assert_eq!(known.seen.len(), MOST_SEEN);
        assert_ne!(known.seen.front(), Some(&[0; 16]));
    }

    #[test]
    fn a_server_holds_a_key_from_its_time_on() {
        let provider = tessera_aws_lc::provider();
        let at = Duration::from_secs;
        let rotation = Rotation { issue_for: at(48), open_for: at(50), skew: at(1) };
        let mut known = KnownKeys::default();
        let stored = StoredKeys { active: vec![entry(1, 1, 1, 0)], next: None };
        known.update(stored, &provider, at(3));
        let held = |now| {
            let keys = known.at(at(now), &rotation);
            (keys.issuing.is_some(), keys.earlier.len())
        };
        let expected = [(0, (false, 0)), (1, (false, 1)), (2, (true, 0)), (50, (false, 1))];
        for (now, expected) in expected {
            assert_eq!(held(now), expected, "at {now}");
        }
        assert_eq!(held(100), (false, 0));
    }

    /// Of two hosts with different clocks, the one that is ahead rotated first: its key's end is later.
    #[test]
    fn keys_are_in_the_order_of_their_activations_whatever_clocks_set_their_ends() {
        let provider = tessera_aws_lc::provider();
        let at = Duration::from_secs;
        let rotation = Rotation { issue_for: at(48), open_for: at(50), skew: at(1) };
        let key = |id: u8, from: u64, until: u64| {
            let mut entry = entry(id, id, id.into(), 0);
            (entry.key.issues_from, entry.key.issues_until) = (at(from), at(until));
            entry
        };
        let active = vec![key(1, 2, 50), key(2, 4, 90), key(3, 6, 60)];
        let mut known = KnownKeys::default();
        known.update(StoredKeys { active, next: None }, &provider, at(7));
        let keys = known.at(at(7), &rotation);
        assert_eq!(keys.in_order().map(|key| key.id[0]).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(known.active[0].key.id, [3; 16], "the status begins with it");
    }

    /// The store keeps keys past their ends, since clocks differ.
    #[test]
    fn a_key_whose_time_is_over_is_no_sign_of_a_restored_store() {
        let provider = tessera_aws_lc::provider();
        let at = Duration::from_secs;
        let key = TicketKey {
            opens_until: at(10),
            issues_until: at(5),
            ..TicketKey::forever([1; 16], [7; 32].into())
        };
        let entry = RingEntry { generated_at: at(0), key: Box::new(key), epoch: 1, floor: 0 };
        let stored = || StoredKeys { active: vec![entry.clone()], next: None };
        let mut known = KnownKeys::default();
        assert_eq!(known.update(stored(), &provider, at(1)), None);
        known.purge(at(10));
        assert!(known.active.is_empty());
        assert_eq!(known.update(stored(), &provider, at(10)), None);
        assert!(known.active.is_empty());
        // Before its end it would be one.
        assert!(known.update(stored(), &provider, at(9)).is_some());
    }
}
