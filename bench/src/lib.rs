//! Shared by the benchmarks.

pub mod numbers;
mod program;
mod rustls_scene;
mod scene;
pub mod usage;
mod ways;

pub use program::ServedProgram;
pub use rustls_scene::RustlsScene;
pub use scene::{Cost, REQUEST, Scene};
pub use ways::{Kind, RustlsWay, WAYS, Way};
