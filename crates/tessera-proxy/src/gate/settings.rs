//! A gate's limits in a configuration.

use std::num::NonZeroU32;
use std::time::Duration;

use tessera_tokio::Limits;

use super::GateLimits;
use crate::config::{Contradiction, find_zero_count};

/// A gate's limits as the `limits` section of a configuration has them. A key that isn't set has the default of
/// [`Limits::for_connections`]; the rate has none.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "they are the section's keys, and the fields of `GateLimits`")]
pub struct GateSettings {
    pub connections: usize,
    pub connections_per_address: Option<usize>,
    pub handshakes: Option<usize>,
    pub handshakes_per_address: Option<usize>,
    pub new_per_second_per_address: Option<u32>,
    pub idle: Duration,
    pub write: Duration,
}

impl GateSettings {
    /// Returns a count that contradicts another or admits nothing, and what to do.
    #[must_use]
    pub fn find_contradiction(&self) -> Contradiction {
        let zero = find_zero_count(&[
            ("connections", self.connections),
            ("connections-per-address", self.connections_per_address.unwrap_or(1)),
            ("handshakes", self.handshakes.unwrap_or(1)),
            ("handshakes-per-address", self.handshakes_per_address.unwrap_or(1)),
        ]);
        if zero.is_some() {
            return zero;
        }
        if self.new_per_second_per_address == Some(0) {
            let what = "must be at least 1: remove the key for no limit";
            return Some(("new-per-second-per-address", what));
        }
        let more = |part: Option<usize>, all: usize| part.is_some_and(|part| part > all);
        if more(self.connections_per_address, self.connections) {
            return Some(("connections-per-address", "must not exceed `connections`"));
        }
        if more(self.handshakes, self.connections) {
            return Some(("handshakes", "must not exceed `connections`"));
        }
        if more(self.handshakes_per_address, self.handshakes.unwrap_or(self.connections)) {
            return Some(("handshakes-per-address", "must not exceed `handshakes`"));
        }
        None
    }
}

impl From<GateSettings> for GateLimits {
    fn from(settings: GateSettings) -> Self {
        let mut places = Limits::for_connections(settings.connections);
        let set = |place: &mut usize, count: Option<usize>| *place = count.unwrap_or(*place);
        set(&mut places.connections_per_address, settings.connections_per_address);
        set(&mut places.handshakes, settings.handshakes);
        set(&mut places.handshakes_per_address, settings.handshakes_per_address);
        (places.idle, places.write) = (settings.idle, settings.write);
        let rate = settings.new_per_second_per_address.and_then(NonZeroU32::new);
        Self { places, new_per_second_per_address: rate }
    }
}
