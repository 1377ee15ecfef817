//! One look at the store: take its keys, give them to the server, acknowledge them, and do what is due.

use std::time::Duration;

use tessera_store::{Change, Condition, Revision, Snapshot, StoreError, Transaction};
use tokio::time::{Instant, timeout};

use crate::acknowledgement::{Acknowledgement, fingerprint};
use crate::entry::{RingEntry, wiped};
use crate::install::{InstallRefused, RingKeys};
use crate::known::StoredKeys;
use crate::shared::{InstalledKeys, Shared, Turn};
use crate::status::{ActiveKey, MemberStatus, RingStatus};
use crate::stored::{StoredMember, StoredRing};

impl Shared {
    /// Looks once; `true` if it changed something, so that it must look again.
    pub(crate) async fn look(&self, turn: &mut Turn) -> Result<bool, StoreError> {
        let watched = self.watched().as_ref().and_then(|it| it.at_least(turn.needs));
        let snapshot = match watched {
            Some(snapshot) => snapshot,
            None => self.store.read(&self.names.all()).await?,
        };
        let (stored, exclusion) = self.follow(turn, snapshot).await?;
        if exclusion.is_some() {
            self.report(&stored);
            return Ok(false);
        }
        let now = (self.clock)();
        let is_among = self.is_among(&stored);
        let lacking = self.lacking(&stored);
        // Each member goes by its own clock: a wrong one doesn't rotate for the others.
        let (due, next) = {
            let known = self.known();
            let times = known.active.iter().map(|it| (it.key.issues_from, it.key.issues_until));
            (self.options.rotation.is_due(times, now), known.next.clone())
        };
        let done = match (stored.next_revision, next) {
            (None, _) => self.distribute(None, &stored, now).await?,
            // Unreadable here: another member may be able to read it, else it expires.
            (Some(_), None) if stored.next.is_none() => false,
            // Refused, or already active.
            (Some(revision), None) => self.distribute(Some(revision), &stored, now).await?,
            (Some(revision), Some(next)) if due && self.is_too_old(&next, now) => {
                self.distribute(Some(revision), &stored, now).await?
            }
            // This member is among the live ones; otherwise the read is older than its acknowledgement.
            (Some(revision), Some(next)) if due && is_among && lacking.is_empty() => {
                self.activate(&next, revision, &stored, now).await?
            }
            _ => false,
        };
        self.report(&stored);
        Ok(done)
    }

    /// Reads the store, and follows it.
    pub(crate) async fn follow_store(
        &self,
        turn: &mut Turn,
    ) -> Result<(StoredRing, Option<String>), StoreError> {
        let snapshot = self.store.read(&self.names.all()).await?;
        self.follow(turn, snapshot).await
    }

    /// Follows the store with this member's server, and acknowledges that. Returns what the store has, and why this member
    /// takes no part.
    async fn follow(
        &self,
        turn: &mut Turn,
        snapshot: Snapshot,
    ) -> Result<(StoredRing, Option<String>), StoreError> {
        turn.needs = snapshot.revision.next();
        let now = (self.clock)();
        let stored =
            wiped(&self.provider, || StoredRing::read(&snapshot, &self.names, &self.wrapping, now));
        if let Some(why) = self.exclusion(turn, &stored) {
            // The times of the keys from its cache are enforced all the same.
            self.enforce(turn).await;
            self.set_problem(Some(why.clone()));
            return Ok((stored, Some(why)));
        }
        let keys = StoredKeys { active: stored.active.clone(), next: stored.next.clone() };
        let refused = wiped(&self.provider, || self.known().update(keys, &self.provider, now));
        self.save(turn, now);
        self.enforce(turn).await;
        let refusal = turn.refusal.as_ref().map(|(_, why)| why.clone());
        self.set_problem(refused.or(refusal));
        if self.is_out_of_patience(turn, now) {
            turn.acknowledged = None;
            self.withdraw().await;
        } else {
            self.acknowledge(turn, &stored).await?;
        }
        Ok((stored, None))
    }

    /// Returns why this member may not be in the ring.
    fn exclusion(&self, turn: &mut Turn, stored: &StoredRing) -> Option<String> {
        let others = || stored.members.iter().filter(|member| member.name != self.member);
        let own = stored.members.iter().find(|member| member.name == self.member);
        let instance = own.and_then(|own| Some(own.acknowledgement.as_ref()?.instance));
        let name = String::from_utf8_lossy(&self.member);
        if turn.acknowledged.is_some() && instance.is_some_and(|it| it != self.instance) {
            turn.is_superseded = true;
            // The lease is this member's own; the entry is the other's.
            *self.lease() = None;
        }
        if turn.is_superseded {
            return Some(format!(
                "another process joined the ring as {name}: this one has left it; stop one of them, or give each a name"
            ));
        }
        // Only at admission: a certificate that is renewed later must not take a member out of the ring.
        if turn.joined_at.is_some() {
            return None;
        }
        let traits = &self.options.member.traits;
        others().find_map(|other| {
            let difference = traits.difference(&other.acknowledgement.as_ref()?.traits)?;
            let there = String::from_utf8_lossy(&other.name);
            Some(format!(
                "{name} differs from member {there} in {difference}: neither would resume the other's tickets, so {name} \
                 is not admitted to the ring; make them equal"
            ))
        })
    }

    /// Gives the server the keys that it should hold now, if it doesn't yet.
    pub(crate) async fn enforce(&self, turn: &mut Turn) {
        if turn.is_superseded {
            return;
        }
        let now = (self.clock)();
        let keys = {
            let mut known = self.known();
            known.purge(now);
            wiped(&self.provider, || known.at(now, &self.options.rotation))
        };
        let wanted = self.installed(&keys);
        let is_recent = self
            .installer
            .check_every()
            .is_none_or(|every| turn.installed_at.is_some_and(|at| at.elapsed() < every));
        if (turn.installed.as_ref() == Some(&wanted) && is_recent)
            || (keys.in_order().next().is_none() && turn.installed.is_none())
        {
            return;
        }
        let patience = self.options.rotation.issue_for / 4;
        let installed = timeout(patience, self.installer.install(&keys)).await;
        let installed = installed.unwrap_or_else(|_| {
            Err(InstallRefused("the server didn't take its ticket keys in time".into()))
        });
        match installed {
            Ok(()) => {
                turn.installed = Some(wanted);
                turn.installed_at = Some(Instant::now());
                turn.refusal = None;
            }
            Err(InstallRefused(why)) => {
                let since = turn.refusal.as_ref().map_or(now, |(since, _)| *since);
                turn.refusal = Some((since, why));
                // What it holds now is unknown.
                turn.installed_at = None;
            }
        }
    }

    fn installed(&self, keys: &RingKeys) -> InstalledKeys {
        let fingerprint = |key| fingerprint(key, &self.member, &self.provider);
        InstalledKeys {
            issuing: keys.issuing.as_ref().map(|key| key.id),
            next: keys.next.as_ref().map(|key| key.id),
            keys: keys.in_order().map(|key| (key.id, fingerprint(key))).collect(),
        }
    }

    /// Whether the server has refused keys for so long that the others should rotate without this member: it goes on
    /// opening tickets with what it has.
    fn is_out_of_patience(&self, turn: &Turn, now: Duration) -> bool {
        let patience = self.options.rotation.issue_for / 4;
        turn.refusal.as_ref().is_some_and(|(since, _)| since.saturating_add(patience) <= now)
    }

    /// Registers this member as live with the keys of its server, if that is news or the store lacks it.
    async fn acknowledge(&self, turn: &mut Turn, stored: &StoredRing) -> Result<(), StoreError> {
        if self.is_closed() {
            return Ok(());
        }
        let now = (self.clock)();
        let keys =
            turn.installed.as_ref().map_or_else(Vec::new, |installed| installed.keys.clone());
        let known = turn.acknowledged.as_ref().filter(|it| it.keys == keys);
        let mut lease = self.lease().clone();
        if known.is_some() && lease.is_some() && self.is_among(stored) {
            return Ok(());
        }
        if lease.is_none() {
            lease = Some(self.store.grant(self.options.counts_as_live_for).await?);
            self.lease().clone_from(&lease);
        }
        let acknowledgement = Acknowledgement {
            keys,
            instance: self.instance,
            joined_at: *turn.joined_at.get_or_insert(now),
            since: known.map_or(now, |known| known.since),
            traits: self.options.member.traits.clone(),
        };
        let key = self.names.member(&self.member);
        let put = Change::Put { key, value: acknowledgement.encode(), lease };
        let transaction = Transaction { conditions: Vec::new(), changes: vec![put] };
        match self.store.commit(transaction).await {
            // What a watch has seen before lacks the acknowledgement.
            Ok(revision) => turn.needs = turn.needs.max(revision.unwrap_or_default()),
            Err(error) => {
                // The lease may have ended.
                *self.lease() = None;
                return Err(error);
            }
        }
        turn.acknowledged = Some(acknowledgement);
        Ok(())
    }

    pub(crate) fn is_among(&self, stored: &StoredRing) -> bool {
        let is_own = |member: &StoredMember| {
            let instance = member.acknowledgement.as_ref().map(|it| it.instance);
            member.name == self.member && instance == Some(self.instance)
        };
        stored.members.iter().any(is_own)
    }

    /// Returns the live members that haven't acknowledged the next key.
    pub(crate) fn lacking(&self, stored: &StoredRing) -> Vec<String> {
        let known = self.known();
        let Some(next) = &known.next else { return Vec::new() };
        let members = stored.members.iter().filter(|member| !self.holds(member, next));
        members.map(|member| String::from_utf8_lossy(&member.name).into_owned()).collect()
    }

    fn holds(&self, member: &StoredMember, entry: &RingEntry) -> bool {
        let acknowledgement = member.acknowledgement.as_ref();
        acknowledgement.is_some_and(|it| it.covers(&entry.key, &member.name, &self.provider))
    }

    /// A key generated this long ago waited while the fleet was down. It isn't activated, since it may have leaked.
    fn is_too_old(&self, next: &RingEntry, now: Duration) -> bool {
        next.generated_at.saturating_add(self.options.rotation.lifetime()) <= now
    }

    /// The first phase alone: `replacing` is the revision of a key that can't be activated.
    async fn distribute(
        &self,
        replacing: Option<Revision>,
        stored: &StoredRing,
        now: Duration,
    ) -> Result<bool, StoreError> {
        let name = self.names.next();
        let condition = match replacing {
            Some(revision) => Condition::Unchanged(name, revision),
            None => Condition::Absent(name),
        };
        let Some(next) = self.generate(stored.highest_epoch(), now) else { return Ok(false) };
        self.write(vec![condition], Vec::new(), None, &next, now).await
    }

    /// The second phase, and the first one of the key after it. The key seals from now on, whatever the other members'
    /// clocks, since they all have it; its end is by this member's clock.
    pub(crate) async fn activate(
        &self,
        next: &RingEntry,
        revision: Revision,
        stored: &StoredRing,
        now: Duration,
    ) -> Result<bool, StoreError> {
        let conditions = vec![
            Condition::Unchanged(self.names.next(), revision),
            // The acknowledgements must be those that were counted.
            Condition::NoneWrittenSince(self.names.members(), stored.revision),
        ];
        let Some(after) = self.generate(stored.highest_epoch(), now) else { return Ok(false) };
        let active = self.activated(next, now);
        self.write(conditions, Vec::new(), Some(&active), &after, now).await
    }

    pub(crate) fn report(&self, stored: &StoredRing) {
        let now = (self.clock)();
        let lacking = self.lacking(stored);
        let known = self.known();
        let active = known.active.iter().map(|entry| ActiveKey {
            id: entry.key.id,
            epoch: entry.epoch,
            issues_until: entry.key.issues_until,
            opens_until: entry.key.opens_until,
        });
        let members = stored.members.iter().map(|member| {
            let acknowledgement = member.acknowledgement.as_ref();
            let keys = acknowledgement.iter().flat_map(|it| it.keys.iter().map(|(id, _)| *id));
            MemberStatus {
                name: String::from_utf8_lossy(&member.name).into_owned(),
                keys: keys.collect(),
                since: acknowledgement.map(|it| it.since).unwrap_or_default(),
                holds_next: known.next.as_ref().is_some_and(|next| self.holds(member, next)),
            }
        });
        let (active, members): (Vec<ActiveKey>, _) = (active.collect(), members.collect());
        let distributing = known.next.as_ref().map(|next| next.key.id);
        drop(known);
        let issuing = active.first().map(|key| key.id);
        self.issuing.send_if_modified(|current| std::mem::replace(current, issuing) != issuing);
        let mut status = self.status();
        *status = RingStatus {
            looks: status.looks + 1,
            read_at: Some(now),
            active,
            distributing,
            waiting_for: lacking,
            members,
            unreadable: stored.unreadable,
            problem: status.problem.take(),
        };
    }

    /// Reports a problem in the status, and logs it when it begins.
    pub(crate) fn set_problem(&self, problem: Option<String>) {
        let mut status = self.status();
        if let Some(why) = problem.as_ref().filter(|_| status.problem != problem) {
            tracing::warn!("{why}");
        }
        status.problem = problem;
    }
}
