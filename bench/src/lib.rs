//! What the benchmarks share.

mod program;
mod resumed_by_rustls;
mod ways;

pub use program::Served;
pub use resumed_by_rustls::ResumedByRustls;
pub use ways::{Cost, REQUEST, Scene, WAYS, Way};
