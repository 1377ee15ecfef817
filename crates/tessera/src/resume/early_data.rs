//! The guard of replayable early data.

use core::time::Duration;

use crate::wire::TICKET_ID_LEN;

/// Remembers what was used, so that it is used once (RFC 8446 §8.1, §8.2).
///
/// Replayable early data can't be accepted without one: the configuration asks for it.
///
/// A register is a *negative* list, and fails open when its memory is lost: an implementation must
/// refuse everything that may have been seen by an earlier life of it, or by another register.
pub trait SingleUseRegister: Send + Sync {
    /// Marks `key` as used until `expires_at`, if it was not: one atomic step. `issued_at` says when
    /// the ticket was issued, so that a register can refuse what is older than itself; all times are
    /// since the Unix epoch.
    fn claim(
        &self,
        key: &[u8; TICKET_ID_LEN],
        issued_at: Duration,
        expires_at: Duration,
        now: Duration,
    ) -> Result<(), AlreadyUsed>;
}

/// Not to be used: seen before, or maybe seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyUsed;

impl core::fmt::Display for AlreadyUsed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the ticket was used before, or may have been")
    }
}

impl core::error::Error for AlreadyUsed {}
