//! The lab: runs the ways of reconnecting over an emulated link and measures what they cost.
//!
//! ```text
//!                      this process: experiment, link, statistics, report
//!                        │ orders and answers, JSON lines │
//!   client process ◄─────┘                                └─────► server process
//!        └──────────────── TLS over the kernel's TCP ─────────────────┘
//! ```
//!
//! [`reconnect::run`] is one experiment, [`sites::run`] another. Their two endpoints are the same
//! program, started again with the arguments of [`endpoint::ARGUMENTS`], which it hands to
//! [`endpoint::run`].
//! [`link`](mod@link) joins them.
#![forbid(unsafe_code)]

mod adversary;
mod clock;
mod control;
pub mod endpoint;
mod error;
mod experiment;
mod heap;
pub mod link;
mod machine;
mod measure;
mod page;
mod pki;
mod processes;
pub mod reconnect;
mod report;
pub mod sites;
mod statistics;
mod table;
mod verdicts;

pub use error::LabError;
pub use experiment::Mode;
