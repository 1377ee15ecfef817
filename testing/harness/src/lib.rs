//! Two ends of a connection in one process, for tests and benchmarks.

mod pair;
mod stores;

pub use pair::{At, Pair, Received, at};
pub use stores::{OneVault, UnsealedTickets};
