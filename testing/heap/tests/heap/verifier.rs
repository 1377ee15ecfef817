//! A verifier without memory for what a peer sizes refuses the peer, with internal_error, and accepts it with memory.

use tessera::auth::{PeerIdentity, PeerRejected, PeerVerifier, Proof, VerifyPeer};
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{Reply, Role};
use tessera_fixed_pki::{Anchor, Defect, FixedPkiVerifier};
use tessera_heap_tests::{Heap, heap, on_heap, refuse_each, set_heap};
use tessera_pki::Authority;
use tessera_pki::rcgen::{SanType, SigningKey};
use tessera_rustcrypto::HANDSHAKE_ALGORITHMS;

const SERVER_NAME: &str = "server.example";

/// A chain of three certificates below a root, and its end entity's names.
pub struct Peer {
    pub root: Vec<u8>,
    question: VerifyPeer,
}

impl Peer {
    pub fn new(names: Vec<SanType>) -> Self {
        let root = Authority::new("root");
        let issuer = root.below("between").below("lower");
        let leaf = issuer.issue_with(&[SERVER_NAME], |params| params.subject_alt_names = names);
        let signed = b"what was signed".to_vec();
        let signature = leaf.key.sign(&signed).unwrap();
        let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
        let proof = Proof::Signature { scheme, signed, signature };
        Self { root: root.der(), question: VerifyPeer::new(Role::Client, leaf.chain, proof) }
    }

    pub fn as_client(&self) -> VerifyPeer {
        self.question.clone()
    }

    pub fn as_server(&self) -> VerifyPeer {
        let mut question = self.as_client();
        (question.peer, question.server_name) = (Role::Server, Some(SERVER_NAME.into()));
        question
    }

    pub fn verifier(&self) -> FixedPkiVerifier {
        let anchor = Anchor::certificate(self.root.clone().leak()).unwrap();
        let verifier = FixedPkiVerifier::new(vec![anchor], HANDSHAKE_ALGORITHMS).unwrap();
        verifier.accepting_clients().without_checking_dates()
    }
}

pub fn dns(name: impl Into<String>) -> SanType {
    SanType::DnsName(name.into().try_into().unwrap())
}

/// Judges a peer on the heap that counts.
pub fn judge(
    verifier: &dyn PeerVerifier,
    question: &VerifyPeer,
) -> Result<PeerIdentity, PeerRejected> {
    match on_heap(|| verifier.verify(question)) {
        Reply::Now(verdict) => verdict.map(|accepted| accepted.identity),
        Reply::Later => panic!("it answers at once"),
    }
}

#[test]
fn a_verifier_without_memory_for_names_refuses_the_peer_and_then_accepts_it() {
    let names = (0..40).map(|at| dns(format!("{:02}.Example", at * 7 % 40)));
    let uri = SanType::URI("urn:x:y".try_into().unwrap());
    let peer = Peer::new(names.chain([uri, dns(SERVER_NAME)]).collect());
    let verifier = peer.verifier();
    // A list that grows to 64 names, and the identity; the name that was asked for.
    for (question, blocks) in [(peer.as_client(), 6), (peer.as_server(), 1)] {
        let accepted = judge(&verifier, &question).unwrap();
        let asked = refuse_each(1, || {
            let verdict = judge(&verifier, &question);
            match verdict {
                Ok(identity) => assert_eq!((&identity, heap().refused), (&accepted, 0)),
                Err(refused) => {
                    assert_eq!(refused.alert, AlertDescription::INTERNAL_ERROR);
                    assert!(heap().refused > 0);
                }
            }
            set_heap(Heap { refuses: (0, 0), ..heap() });
            assert_eq!(judge(&verifier, &question).as_ref(), Ok(&accepted));
        });
        assert_eq!(asked, blocks);
    }
}

#[test]
fn a_refusal_without_memory_for_its_reason_has_its_alert() {
    let peer = Peer::new(vec![dns(SERVER_NAME)]);
    let verifier = peer.verifier();
    let mut question = peer.as_client();
    question.proof = Peer::new(vec![dns(SERVER_NAME)]).as_client().proof;
    let expected = PeerRejected::from(Defect::ProofSignature);
    let mut alerts = Vec::new();
    refuse_each(1, || {
        let refused = judge(&verifier, &question).unwrap_err();
        assert!(
            refused.reason == expected.reason || refused.reason.is_empty() || heap().refused > 0
        );
        alerts.push(refused.alert);
    });
    assert!(alerts.contains(&AlertDescription::INTERNAL_ERROR));
    assert_eq!(alerts.last(), Some(&expected.alert));
    set_heap(Heap { refuses: (2, 3), ..Heap::with_limit(isize::MAX) });
    // Its identity, of one name, takes two blocks.
    let without = judge(&verifier, &question);
    assert_eq!(without, Err(PeerRejected { reason: String::new(), ..expected }));
}

/// Their length is checked before they are copied.
#[test]
fn however_many_names_a_client_has_few_are_copied() {
    let names = (0..3_000).map(|at| dns(format!("{at}.client.example")));
    let peer = Peer::new(names.collect());
    assert!(peer.as_client().chain[0].len() > 50_000);
    let verifier = peer.verifier();
    set_heap(Heap::with_limit(isize::MAX));
    assert_eq!(judge(&verifier, &peer.as_client()), Err(Defect::LongNames.into()));
    assert!(heap().peak < 4_096, "{}", heap().peak);
}
