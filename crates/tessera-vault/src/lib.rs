//! What a Tessera server keeps between connections, in memory.
//!
//! - [`RotatingRing`] seals sessions into tickets under keys that it makes and destroys itself, for one
//!   server; [`TicketKeyRing`] does so under its owner's [`TicketKey`]s, which several servers may share.
//! - [`MemoryVault`] holds the one-time keys of forward-secret 0-RTT, and returns each once.
//! - `ServerState` (on Unix) keeps ring and vault of one server in a sealed directory, across restarts and
//!   crashes.
//! - [`SiteVault`] is the vault of one of several sites that share a ring.
//! - [`MemoryRegister`] protects replayable 0-RTT from replays to this process.
//!
//! Nothing here reads the wall clock: callers pass the time, as a duration since the Unix epoch. Nothing here
//! fails a handshake either: a missing key or secret costs the client a round trip.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tessera_vault::{MemoryVault, RotatingRing};
//!
//! let ring = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
//! let vault = Arc::new(MemoryVault::new(1_000_000));
//! # drop((ring, vault));
//! ```
#![forbid(unsafe_code)]

mod clock;
#[cfg(feature = "contract-tests")]
pub mod contract;
#[cfg(unix)]
mod directory;
mod file_lock;
mod keys;
mod memory;
mod messages;
mod millis;
mod moving;
mod register;
mod sharded;
mod sites;
#[cfg(unix)]
mod state;

pub use file_lock::FileLock;
pub use keys::{
    EpochKey, KeyTime, RingError, RotatingRing, Rotation, TicketKey, TicketKeyDomain,
    TicketKeyForm, TicketKeyRing, WrappingKeys, WrappingPurpose,
};
#[cfg(unix)]
pub use memory::{FileWitness, Mark, RestoreOutcome, Witness, WitnessOutcome};
pub use memory::{Limits, MemoryVault};
pub use messages::{
    Acknowledgement, ArrivalRefused, BurnAtHome, BurnMoved, Departure, MovedSecret, VaultLife,
};
pub use moving::{MovingVault, SecretArrival};
pub use register::MemoryRegister;
pub use sites::{CarryAnswer, HomeAnswer, LifeAnswer, NoIncarnation, SiteChannel, SiteVault};
#[cfg(unix)]
pub use state::{PreviousLife, ServerState, StateError, StateKey, StateOptions, StateProblem};
