//! What goes over a connection: one registration of a roaming subscriber.

use super::random::Random;
use crate::load::registration::{EXCHANGES, HEADERS};

/// How many of the exchanges are discoveries, which are answered with [`DISCOVERY`] bytes or up to
/// [`DISCOVERY_VARIES`] more, as the NRF finds more or less to say.
const DISCOVERIES: usize = 3;
const DISCOVERY: usize = 666;
const DISCOVERY_VARIES: usize = 14;
/// How much longer a field section may be: identities and correlation numbers differ.
const HEAD_VARIES: usize = 12;

/// An exchange as sizes, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) request: usize,
    pub(crate) response: usize,
}

/// One registration.
pub(crate) fn registration(random: &mut Random) -> Vec<Exchange> {
    let mut head = |body: usize| HEADERS + random.up_to(HEAD_VARIES) + body;
    let mut exchanges = Vec::with_capacity(EXCHANGES.len());
    for (request, response) in EXCHANGES {
        exchanges.push(Exchange { request: head(request), response: head(response) });
    }
    for discovery in exchanges.iter_mut().take(DISCOVERIES) {
        discovery.response = HEADERS + DISCOVERY + random.up_to(DISCOVERY_VARIES);
    }
    exchanges
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
            for (exchange, (request, response)) in registration.iter().zip(EXCHANGES) {
                let varies = HEADERS..=HEADERS + HEAD_VARIES;
                assert!(varies.contains(&(exchange.request - request)), "{exchange:?}");
                let response = response.max(1);
                assert!(exchange.response.abs_diff(HEADERS + response) <= DISCOVERY_VARIES);
            }
        }
        assert!(all.iter().any(|other| *other != all[0]));
        assert_eq!(registration(&mut Random::new(1)), all[0], "the seed repeats it");
    }
}
