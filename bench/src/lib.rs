//! What the benchmarks share.

mod program;

pub use program::Served;
