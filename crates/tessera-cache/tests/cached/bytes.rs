//! The size of a mutual handshake with real certificates in either carrier, when both ends keep only hashes.
//! To print it: `cargo test -p tessera-cache --test cached mutual -- --nocapture`.

use tessera::wire::NamedGroup;
use tessera_cache::Carrier;
use tessera_harness::Pair;

use crate::known::{Keys, ends_with};

/// Returns how many bytes client and server sent, and how long their Certificates were.
fn bytes(pair: &Pair) -> ([usize; 2], [u32; 2]) {
    let facts = pair.client.facts();
    let [client, server] = [facts.own_certificate, facts.peer_certificate]
        .map(|it| it.map(|it| it.len).unwrap_or_default());
    ([pair.client_sent.len(), pair.server_sent.len()], [client, server])
}

#[test]
fn a_mutual_handshake_is_shorter_by_its_certificates_in_either_carrier() {
    for keys in [Keys::Rsa2048, Keys::P256] {
        for (carrier, short) in [(Carrier::default(), 44), (Carrier::PAPER, 37)] {
            let (mut ends, _) = ends_with(keys, carrier);
            ends.scene.client.groups = vec![NamedGroup::X25519];
            ends.scene.server.tickets = None;
            let (first, whole) = bytes(&ends.connect());
            let mut cached = first;
            for _ in 0..3 {
                let (again, lens) = bytes(&ends.connect());
                assert_eq!(lens, [short; 2], "{keys:?} {carrier:?}");
                cached = again;
            }
            let saved = |at: usize| first[at] - cached[at] + 2 * SIGNATURE_VARIES;
            let least = |at: usize| (whole[at] - short) as usize;
            // Besides the Certificate, a hello grows by less than 100 bytes, and a request by fewer.
            assert!(saved(0) > least(0) - 100 && saved(1) > least(1) - 30, "{keys:?} {carrier:?}");
            println!("{keys:?} {carrier:?}: first {first:?}, cached {cached:?}, {whole:?}");
        }
    }
}

/// ECDSA signatures differ in length by up to this many bytes.
const SIGNATURE_VARIES: usize = 8;
