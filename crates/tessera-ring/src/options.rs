//! How a ring rotates, and what a member is.

use std::time::Duration;

use tessera_vault::Rotation;

use crate::acknowledgement::MemberTraits;

/// The options of a ring. All members need the same ones, except `member`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingOptions {
    /// The prefix of all its entries in the store.
    pub prefix: String,
    /// How long a key seals, how long it opens after that, and how much clocks may differ. The next key replaces it after
    /// half of the time, if every live member holds that one.
    pub rotation: Rotation,
    /// How long a member that can't reach the store counts as live, in whole seconds.
    pub counts_as_live_for: Duration,
    /// How often a member reads the store, in addition to watching it.
    pub look_every: Duration,
    /// This member.
    pub member: MemberOptions,
}

/// A member of a ring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberOptions {
    /// Its name, in the ring's status and in alarms: unique, stable, up to 255 bytes. Of two processes with one name the
    /// one that joined first leaves the ring. Default: a random name for each life, in hexadecimal.
    pub name: Option<String>,
    /// What it must have in common with the other members of its kind.
    pub traits: MemberTraits,
}

impl RingOptions {
    /// Creates options with keys that seal for 12 hours, are replaced after 6, and open for another 24.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            rotation: Rotation::default(),
            counts_as_live_for: Duration::from_secs(15),
            look_every: Duration::from_secs(3),
            member: MemberOptions::default(),
        }
    }
}
