//! Shared by the benchmarks.

pub mod numbers;
mod program;
mod resumed_by_rustls;
pub mod usage;
mod ways;

pub use program::ServedProgram;
pub use resumed_by_rustls::ResumedByRustls;
pub use ways::{Cost, REQUEST, Scene, WAYS, Way};
