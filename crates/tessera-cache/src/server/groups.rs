//! Data that many clients share, stored once: the rest of their chains, and the policy that accepted them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tessera::auth::VerifierDigest;
use tessera::wire::CertificateType;

use crate::bytes::Shared;

/// The data shared by the clients of a group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    /// The share of the cache that they are in.
    pub(super) share: u32,
    /// The server that they connected to.
    pub(super) server: ServerName,
    /// The policy of the verifier that judged them.
    pub(super) policy: Option<[u8; VerifierDigest::LEN]>,
    pub(super) kind: Kind,
    /// The rest of their chains.
    pub(super) issuers: Shared,
}

impl Group {
    /// Returns roughly how many bytes it takes.
    pub(super) fn cost(&self) -> usize {
        self.issuers.len() + size_of::<Option<Member>>() + 2 * size_of::<Self>()
    }
}

/// The name of the server that a client asked for, as a truncated hash.
pub(crate) type ServerName = [u8; 16];

/// What is kept of each client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The end entity's certificate.
    Certificate,
    /// The raw public key.
    RawPublicKey,
    /// The hash of a chain that the verifier remembers.
    Known,
}

impl Kind {
    pub(super) fn of(certificate_type: CertificateType) -> Self {
        match certificate_type {
            CertificateType::RAW_PUBLIC_KEY => Self::RawPublicKey,
            _ => Self::Certificate,
        }
    }
}

/// Groups by number.
#[derive(Default)]
pub(super) struct Groups {
    groups: Vec<Option<Member>>,
    numbers: BTreeMap<Group, u32>,
    free: Vec<u32>,
}

struct Member {
    group: Group,
    members: u32,
}

impl Groups {
    pub(super) fn get(&self, number: u32) -> Option<&Group> {
        Some(&self.groups.get(number as usize)?.as_ref()?.group)
    }

    /// Returns the number of an existing group.
    pub(super) fn find(&self, group: &Group) -> Option<u32> {
        self.numbers.get(group).copied()
    }

    /// Returns how many bytes this group would cost.
    pub(super) fn cost_to_join(&self, group: &Group) -> usize {
        if self.numbers.contains_key(group) { 0 } else { group.cost() }
    }

    /// Adds a client to this group; returns its number, and how many bytes the group costs.
    pub(super) fn join(&mut self, group: &Group) -> (u32, usize) {
        if let Some(&number) = self.numbers.get(group) {
            if let Some(Some(found)) = self.groups.get_mut(number as usize) {
                found.members += 1;
            }
            return (number, 0);
        }
        let made = Some(Member { group: group.clone(), members: 1 });
        let number = self.free.pop().unwrap_or(self.groups.len() as u32);
        match self.groups.get_mut(number as usize) {
            Some(place) => *place = made,
            None => self.groups.push(made),
        }
        self.numbers.insert(group.clone(), number);
        (number, group.cost())
    }

    /// Removes a client; returns how many bytes are freed if it was the last.
    pub(super) fn leave(&mut self, number: u32) -> usize {
        let Some(place) = self.groups.get_mut(number as usize) else { return 0 };
        let Some(found) = place else { return 0 };
        found.members -= 1;
        if found.members > 0 {
            return 0;
        }
        let Some(Member { group, .. }) = place.take() else { return 0 };
        self.numbers.remove(&group);
        self.free.push(number);
        group.cost()
    }
}
