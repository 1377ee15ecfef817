//! The lab: runs the ways of reconnecting over an emulated link and measures their cost.
//!
//! ```text
//!                      this process: experiment, link, statistics, report
//!                        │ orders and answers, JSON lines │
//!   client process ◄─────┘                                └─────► server process
//!        └──────────────── TLS over the kernel's TCP ─────────────────┘
//! ```
//!
//! [`reconnect::run`], [`sites::run`] and [`load::run`] are experiments with two endpoints: the same program, started
//! again with [`endpoint::ARGUMENTS`], for which it calls [`endpoint::run`]; `load` has its own,
//! [`load::endpoint::ARGUMENTS`] and [`load::endpoint::run`]. [`roaming::run`] measures a grid of cells: with the first
//! kind of endpoints, in memory, and through two SEPPs. A link ([`tessera_link`]) joins them. `sites` has two servers,
//! and a link between any two of the three.
//!
//! The adversary ([`tessera_adversary`]) attacks what the endpoints recorded, with what can be stolen and with the dump of
//! a process. Table, JSON and page are views of one report; [`tessera_reports`] has its parts that other crates read.
//!
//! - [`tessera_observed`] wraps what a configuration has (provider, verifier, key, stores), to time each operation and to
//!   count memory by component (`components/`).
//! - `sepp_pair/` is two processes `tessera sepp run` over a link, with the network functions of a registration on both
//!   sides; their metrics show how a connection was resumed.
//! - `table/` is the one table of all reports, with its writers for terminals, Markdown and pages (`page/`).
//! - `experiment/grid.rs` has the results of a run with their journal, for the experiments that take long: `roaming`,
//!   `load`, `traffic`, `bithac`, `edge` and `mobile`. The first three share `variants`.
//! - `edge` compares what a client sends and computes that comes to another edge proxy; it shares `wired/` and
//!   `in_memory` with `bithac`.
//! - `bithac` compares what becomes of certificates when two ends meet again: `wired/` is a link with both ends as threads
//!   and an observer, `in_memory` both ends in one thread.
//! - `mobile` (`lab dtls`) lets a client move: a client and a server without I/O, in virtual time or as programs over sockets.
//! - `embedded` builds the images of `firmware/` through a checkout's script, and shows what they take on a Cortex-M33.
//! - `results/` renders the tables and the page of `docs/results` from reports, and measures nothing.
#![forbid(unsafe_code)]

mod bench;
pub mod bithac;
mod certificates;
mod clock;
mod components;
mod control;
pub mod edge;
pub mod embedded;
pub mod endpoint;
mod engine_names;
mod error;
mod experiment;
mod heap;
mod in_memory;
mod instructions;
pub mod load;
mod machine;
pub mod mobile;
mod names;
mod numbers;
mod page;
mod pki;
mod processes;
mod radio;
pub mod reconnect;
mod registration;
pub mod results;
pub mod roaming;
mod sepp_pair;
pub mod sites;
mod statistics;
mod table;
mod topology;
pub mod traffic;
mod variants;
mod verdicts;
mod ways;
mod wired;

pub use error::LabError;
pub use experiment::{Destination, Options, Share};
pub use tessera_reports::Mode;
