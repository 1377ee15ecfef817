//! Shared by the benchmarks.

pub mod numbers;
mod program;
pub mod usage;

pub use program::ServedProgram;
