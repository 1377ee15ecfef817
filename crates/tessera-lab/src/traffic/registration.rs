//! The exchanges on a connection: one registration of a roaming subscriber, each time a little different.

use super::random::Random;
use crate::registration::{FIELDS, LOCAL_BREAKOUT};
use crate::wired::Sizes;

/// The answer to a discovery has this many bytes, or up to [`DISCOVERY_VARIES`] more, depending on the NRF's results.
const DISCOVERY: usize = 666;
const DISCOVERY_VARIES: usize = 14;
/// How much longer a field section may be, in bytes: identities and correlation numbers differ.
const FIELDS_VARY: usize = 12;

/// One registration.
pub(super) fn registration(random: &mut Random) -> Vec<Sizes> {
    let exchanges = LOCAL_BREAKOUT.iter().map(|exchange| {
        let mut fields = || FIELDS + random.up_to(FIELDS_VARY);
        let (request, response) = (fields() + exchange.request.len(), fields());
        let body = if exchange.is_discovery() {
            DISCOVERY + random.up_to(DISCOVERY_VARIES)
        } else {
            exchange.response.len()
        };
        Sizes { request, response: response + body }
    });
    exchanges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_has_the_sizes_of_its_bodies_and_varies_a_little() {
        let mut random = Random::new(1);
        let all: Vec<_> = (0..50).map(|_| registration(&mut random)).collect();
        for registration in &all {
            assert_eq!(registration.len(), 13);
            for (sizes, exchange) in registration.iter().zip(&LOCAL_BREAKOUT) {
                let varies = FIELDS..=FIELDS + FIELDS_VARY;
                assert!(varies.contains(&(sizes.request - exchange.request.len())), "{sizes:?}");
                let (response, more) = match exchange.response.len() {
                    666..=680 => (DISCOVERY, DISCOVERY_VARIES),
                    other => (other, 0),
                };
                let varies = FIELDS..=FIELDS + FIELDS_VARY + more;
                assert!(varies.contains(&(sizes.response - response)), "{sizes:?}");
            }
        }
        for exchange in 0..LOCAL_BREAKOUT.len() {
            assert!(all.iter().any(|other| other[exchange] != all[0][exchange]), "{exchange}");
        }
        assert_eq!(registration(&mut Random::new(1)), all[0], "the seed repeats it");
    }
}
