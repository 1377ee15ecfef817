//! Two ends of an association, ours or dimpl's, in one thread.

mod dimpl_pair;
mod pair;
pub mod server;
mod stream_pair;

pub use dimpl_pair::DimplPair;
pub use pair::{DatagramPair, Keys, now, read};
pub use stream_pair::StreamPair;

use std::time::Duration;

/// Processor time of the two ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// The client's.
    pub client: Duration,
    /// The server's.
    pub server: Duration,
}

impl Cost {
    /// Makes a call of one end, and adds its time.
    pub fn time<R>(spent: &mut Duration, call: impl FnOnce() -> R) -> R {
        let began = tessera_kit::clock::thread_cpu();
        let result = call();
        *spent += tessera_kit::clock::thread_cpu() - began;
        result
    }
}
