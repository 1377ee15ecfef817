//! Verifiers that report a wrong hash of a chain: it is believed, and the result is a miss.

use std::sync::Arc;

use tessera::Reply;
use tessera::auth::{PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer};
use tessera::wire::SignatureScheme;
use tessera_harness::Mode;
use tessera_null_provider::NullVerifier;

use crate::fleet::ring;
use crate::{Ends, NamingVerifier, hits_of};

/// A verifier that reports this hash for every chain.
struct MistakenVerifier([u8; 32]);

impl PeerVerifier for MistakenVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        NullVerifier.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("mistaken")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        match NamingVerifier::new("clients").verify(question) {
            Reply::Now(Ok(mut accepted)) => {
                accepted.chain_hash = Some(self.0);
                Reply::Now(Ok(accepted))
            }
            other => other,
        }
    }
}

/// Neither end confuses its peer with another, and no handshake fails for it, with any ticket.
#[test]
fn a_wrong_hash_of_a_verifier_costs_hits_and_nothing_else() {
    for wrong_at_server in [true, false] {
        let mut ends = Ends::of_fleet(Mode::Mutual, ring());
        let told = crate::attacks::owners_hash().try_into().expect("32 bytes");
        match wrong_at_server {
            true => ends.judge_clients_by(MistakenVerifier(told)),
            false => ends.scene.client.verifier = Arc::new(MistakenVerifier(told)),
        }
        // The hash that the verifier reports is this client's, not the other's.
        let other = ends.another_client(&[b'z'; 800]);
        for round in 0..6 {
            for (ends, leaf) in [(&ends, b'c'), (&other, b'z')] {
                let pair = ends.connect();
                let found = pair.server.facts().peer.clone().expect("a client");
                assert_eq!(found.blob, [leaf; 16], "{round}");
                let right = match wrong_at_server {
                    true => (round > 0, round > 0 && leaf == b'c'),
                    false => (false, round > 0),
                };
                assert_eq!(hits_of(&pair), right, "{round} {}", char::from(leaf));
            }
        }
    }
}
