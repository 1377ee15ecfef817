//! What the benchmarks share.

mod program;
mod ways;

pub use program::Served;
pub use ways::{Cost, REQUEST, Scene, WAYS, Way};
