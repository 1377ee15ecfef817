//! What goes over a connection: one registration of a roaming subscriber.

use super::random::Random;
use crate::load::registration::{EXCHANGES, HEADERS};

/// A discovery is answered with so many bytes or up to [`DISCOVERY_VARIES`] more, as the NRF finds more or less
/// to say; no other response is as long.
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
    let mut exchange = |(request, response): &(usize, usize)| {
        let mut head = || HEADERS + random.up_to(HEAD_VARIES);
        let (request, head) = (head() + request, head());
        let varies = if *response < DISCOVERY { 0 } else { random.up_to(DISCOVERY_VARIES) };
        Exchange { request, response: head + response.min(&DISCOVERY) + varies }
    };
    EXCHANGES.iter().map(&mut exchange).collect()
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
                let response = response.min(DISCOVERY);
                let more = if response < DISCOVERY { 0 } else { DISCOVERY_VARIES };
                let varies = HEADERS..=HEADERS + HEAD_VARIES + more;
                assert!(varies.contains(&(exchange.response - response)), "{exchange:?}");
            }
        }
        for exchange in 0..EXCHANGES.len() {
            assert!(all.iter().any(|other| other[exchange] != all[0][exchange]), "{exchange}");
        }
        assert_eq!(registration(&mut Random::new(1)), all[0], "the seed repeats it");
    }
}
