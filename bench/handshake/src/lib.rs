//! Both ends of handshakes, and what they cost: shared by the programs and tests.

mod certificates;
mod cost;
mod rustls_scene;
mod scene;
mod timed_scene;
mod ways;

pub use cost::{Cost, End, Meter, NoMeter, Timer};
pub use rustls_scene::RustlsScene;
pub use scene::{REQUEST, Scene};
pub use timed_scene::TimedScene;
pub use ways::{Certificates, Kind, Proof, RustlsWay, WAYS, Way};
