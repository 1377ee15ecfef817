//! What a Tessera server keeps between connections, in memory.
//!
//! - [`TicketKeyRing`] seals sessions into tickets under [`TicketKey`]s that rotate while the server
//!   runs; several servers may share the keys.
//! - [`MemoryVault`] holds the one-time keys of forward-secret 0-RTT, and gives each out once.
//! - [`SiteVault`] is the vault of one site of several that share a ring.
//! - [`MemoryRegister`] keeps replayable 0-RTT from being replayed to this process.
//!
//! Nothing here asks what time it is: times come in, as durations since the Unix epoch. Nothing here fails
//! a handshake either: what is not there costs the client a round trip.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use std::time::{Duration, SystemTime, UNIX_EPOCH};
//!
//! use tessera_vault::{MemoryVault, TicketKey, TicketKeyRing};
//!
//! const HOUR: Duration = Duration::from_secs(3600);
//! let provider = tessera_aws_lc::provider();
//! let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
//!
//! let ring = Arc::new(TicketKeyRing::new(&provider));
//! ring.add(TicketKey::generate(&provider, now, 12 * HOUR, 24 * HOUR)?, now)?;
//! // Before the first key stops issuing there has to be a second one.
//! ring.add(TicketKey::generate(&provider, now + 11 * HOUR, 12 * HOUR, 24 * HOUR)?, now)?;
//!
//! let vault = Arc::new(MemoryVault::new(1_000_000));
//! # drop((ring, vault));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "contract-tests")]
pub mod contract;
mod keys;
mod memory;
mod millis;
mod register;
mod sharded;
mod sites;

pub use keys::{
    EpochKey, KeyTime, RingError, TicketKey, TicketKeyRing, WrappingKeys, WrappingPurpose,
};
#[cfg(unix)]
pub use memory::{FileWitness, Mark, Restored, Witness, Witnessed};
pub use memory::{Limits, MemoryVault};
pub use register::MemoryRegister;
pub use sites::{
    Acknowledgement, AnswerFromHome, BurnAtHome, NoIncarnation, SiteChannel, SiteVault,
};
