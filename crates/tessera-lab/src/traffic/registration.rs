//! What goes over a connection: one registration of a roaming subscriber.

use super::random::Random;

/// The sizes of one registration with local break-out: 13 exchanges, the body of the request and of the
/// response in bytes, in their order. From public captures of open5gs (`5g-roaming-lbo`); the first three
/// discoveries are answered with up to [`DISCOVERY_VARIES`] more.
const BODIES: [(usize, usize); 13] = [
    (0, 666),   // GET nnrf-disc
    (0, 666),   // GET nnrf-disc
    (0, 666),   // GET nnrf-disc
    (103, 299), // POST nausf-auth ue-authentications
    (46, 144),  // PUT 5g-aka-confirmation
    (226, 226), // PUT nudm-uecm amf-3gpp-access
    (0, 170),   // GET nudm-sdm am-data
    (0, 92),    // GET smf-select-data
    (0, 2),     // GET ue-context-in-smf-data
    (244, 244), // POST sdm-subscriptions
    (0, 455),   // GET sm-data
    (0, 0),     // DELETE sdm-subscriptions
    (79, 204),  // PATCH amf-3gpp-access
];

/// How much longer the answer to a discovery may be.
const DISCOVERY_VARIES: usize = 14;
/// How many of the exchanges are discoveries.
const DISCOVERIES: usize = 3;

/// What HTTP/2 adds to a message: the frames' headers and a compressed field section. Our choice; the captures
/// have bodies only.
const REQUEST_HEAD: usize = 9 + 64;
const RESPONSE_HEAD: usize = 9 + 24;
/// The header of a DATA frame (RFC 9113 §4.1).
const DATA_HEAD: usize = 9;
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
    let exchange = |(index, (request, response)): (usize, &(usize, usize))| {
        let varies = if index < DISCOVERIES { DISCOVERY_VARIES } else { 0 };
        Exchange {
            request: message(REQUEST_HEAD + random.up_to(HEAD_VARIES), *request),
            response: message(
                RESPONSE_HEAD + random.up_to(HEAD_VARIES),
                response + random.up_to(varies),
            ),
        }
    };
    BODIES.iter().enumerate().map(exchange).collect()
}

fn message(head: usize, body: usize) -> usize {
    head + if body > 0 { DATA_HEAD + body } else { 0 }
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
            for (exchange, (request, response)) in registration.iter().zip(BODIES) {
                let head = exchange.request - request;
                assert!((REQUEST_HEAD..=REQUEST_HEAD + DATA_HEAD + HEAD_VARIES).contains(&head));
                assert!(exchange.response > response);
                assert!(
                    exchange.response
                        <= response + RESPONSE_HEAD + DATA_HEAD + HEAD_VARIES + DISCOVERY_VARIES
                );
            }
        }
        assert!(all.iter().any(|other| *other != all[0]));
        assert_eq!(registration(&mut Random::new(1)), all[0], "the seed repeats it");
    }
}
