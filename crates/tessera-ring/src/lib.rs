//! The ticket keys of a fleet of TLS servers, which rotate in two acknowledged phases.
//!
//! [`FleetRing`] is a member of the ring: it follows a [`Store`](tessera_store::Store) that all members share, gives the
//! keys to its server through an [`Installer`], and acknowledges what the server confirmed. Tessera's own server is such
//! an installer ([`TicketKeyRing`](tessera_vault::TicketKeyRing)).
//!
//! | module | what it has |
//! |---|---|
//! | `ring` | a member, and its tasks |
//! | `look` | one look at the store: follow it, acknowledge, do what is due |
//! | `change` | keys are generated, activated, revoked |
//! | `known` | the keys that a member accepts |
//! | `stored`, `entry`, `acknowledgement` | what is in the store |
//! | `shared` | what a member's tasks share |
//! | `cache`, `saved` | what a member keeps for a start without the store |
#![forbid(unsafe_code)]

mod acknowledgement;
mod cache;
mod change;
mod entry;
mod install;
mod known;
mod look;
mod options;
mod ring;
mod saved;
mod shared;
mod status;
mod stored;
mod watched;

pub use acknowledgement::MemberTraits;
pub use cache::RingCache;
pub use change::ChangeError;
pub use install::{InstallRefused, Installation, Installer, RingKeys};
pub use options::{MemberOptions, RingOptions};
pub use ring::{FleetRing, RingParts};
pub use shared::{Clock, system_clock};
pub use status::{ActiveKey, MemberStatus, RingStatus};
