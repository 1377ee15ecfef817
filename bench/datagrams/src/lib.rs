//! Two ends of an association, ours or dimpl's, in one thread.

mod dimpl_pair;
mod pair;
pub mod server;
mod stream_pair;

pub use dimpl_pair::DimplPair;
pub use pair::{DatagramPair, Keys, now, read};
pub use stream_pair::StreamPair;

use std::time::Duration;

/// What AWS-LC keeps for an AES-GCM key, in bytes, by valgrind's DHAT: its own allocations aren't counted.
pub const KEY_OF_AWS_LC: i64 = 592;

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
