//! Observed configurations: every call of an engine to its provider, to its certificate's key, to its verifier and to
//! its stores passes an [`Observer`], which sees it begin and end.
//!
//! ```text
//!   engine ──► ObservedPart ──► AWS-LC, tessera-webpki, tessera-vault
//!                 │ begin, end
//!                 ▼
//!              Observer: a clock (TimedEnd), or one of your own
//! ```
//!
//! The engine's own work is the rest between two operations. Results are unchanged, and so is what a peer sees.
#![forbid(unsafe_code)]
// A method that isn't passed on would run the trait's default, and not what is measured.
#![deny(clippy::missing_trait_methods)]

mod agreement;
mod algorithms;
mod auth;
mod config;
mod observer;
mod operation;
mod provider;
mod stores;
mod suite;
mod timed;

pub use algorithms::{algorithm, algorithms};
pub use config::{client, server};
pub use observer::{Observer, during};
pub use operation::Operation;
pub use timed::{OperationTime, TimedEnd};
