//! Rotating keys: the ring that seals tickets, and keys that wrap secrets for stores that must not learn
//! them.

mod forms;
mod key;
mod key_set;
mod ring;
mod rotating;
mod rotation;
mod sealed;
mod wrapping;

pub use forms::{TicketKeyDomain, TicketKeyForm};
pub use key::{KeyTime, RingError, TicketKey};
pub use ring::TicketKeyRing;
pub use rotating::RotatingRing;
pub use rotation::Rotation;
#[cfg(unix)]
pub(crate) use sealed::OVERHEAD;
pub use wrapping::{EpochKey, WrappingKeys, WrappingPurpose};
