//! What a member last saw of its ring.

use std::time::Duration;

/// What a ring found when it last read the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RingStatus {
    /// How many reads succeeded.
    pub looks: u64,
    /// When the last one did, since the Unix epoch by this member's clock.
    pub read_at: Option<Duration>,
    /// The active keys, the last activated first.
    pub active: Vec<ActiveKey>,
    /// The key that is being distributed: it becomes active with the next rotation.
    pub distributing: Option<[u8; 16]>,
    /// The live members that have not acknowledged it.
    pub waiting_for: Vec<String>,
    /// The live members, by name.
    pub members: Vec<MemberStatus>,
    /// Entries that this member can't read: of a newer version, or under a wrapping key that it doesn't have.
    pub unreadable: usize,
    /// Why this member isn't in the ring, or doesn't hold all its keys; what to do.
    pub problem: Option<String>,
}

/// An active key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveKey {
    /// Its id.
    pub id: [u8; 16],
    /// Greater than that of every earlier key; 0 if a member of the first version generated it.
    pub epoch: u64,
    /// When it stops sealing, since the Unix epoch.
    pub issues_until: Duration,
    /// When it stops opening, since the Unix epoch.
    pub opens_until: Duration,
}

/// A live member, as it last acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberStatus {
    /// Its name.
    pub name: String,
    /// The ids of the keys that its server holds: the issuing one, the next one, the earlier ones.
    pub keys: Vec<[u8; 16]>,
    /// When it acknowledged them, since the Unix epoch by the member's clock.
    pub since: Duration,
    /// Whether its server holds the key that is being distributed.
    pub holds_next: bool,
}
