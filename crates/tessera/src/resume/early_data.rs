//! The guard of replayable early data.

use core::time::Duration;

use crate::wire::TICKET_ID_LEN;

/// Remembers used tickets, so that each is used once (RFC 8446 §8.1, §8.2).
///
/// The configuration requires one to accept replayable early data.
///
/// A register is a *negative* list, and fails open when its memory is lost: an implementation must
/// refuse everything that an earlier life of it, or another register, may have seen.
pub trait SingleUseRegister: Send + Sync {
    /// Marks `key` as used until `expires_at`, unless it already is, in one atomic step. `issued_at` is when
    /// the ticket was issued, so that a register can refuse tickets older than itself. All times are
    /// since the Unix epoch.
    fn claim(
        &self,
        key: &[u8; TICKET_ID_LEN],
        issued_at: Duration,
        expires_at: Duration,
        now: Duration,
    ) -> Result<(), AlreadyUsed>;
}

/// Don't use it: seen before, or maybe seen before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyUsed;

impl core::fmt::Display for AlreadyUsed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the ticket was used before, or may have been")
    }
}

impl core::error::Error for AlreadyUsed {}
