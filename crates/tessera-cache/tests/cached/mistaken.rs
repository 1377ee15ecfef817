//! Clients that a server could confuse.

use std::collections::HashMap;
use std::sync::Arc;

use tessera::Reply;
use tessera::auth::{
    Credential, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, PrivateKey,
    VerifierPolicy, VerifyPeer,
};
use tessera::wire::{CertificateType, SignatureScheme};
use tessera_cache::{ChainHash, PublicIds};
use tessera_harness::{Mode, Pair, at};
use tessera_null_provider::NullSigner;

use crate::{Ends, NamingVerifier, chain, hits_of};

/// An attacker that resumes its own session with a copied ticket would learn the owner, if the server derived
/// the owner's next tickets from a secret that the attacker knows: it could compute them for each candidate
/// chain.
#[test]
fn a_server_derives_no_tickets_where_the_session_is_anothers_than_the_ticket() {
    for (name, is_found) in [(b'z', false), (b'c', true)] {
        let ends = Ends::new(Mode::Mutual);
        let other = ends.another_client(&[name; 800]);
        let session = other.connect().to_client.sessions.pop();
        ends.connect();
        // The other's session is used with the owner's cache, which then learns the consequences.
        let mut copied = other.scene.clone();
        copied.client.certificate_codecs = vec![ends.client.clone()];
        let mut pair = copied.start(session, at(0));
        pair.run();
        assert!(pair.to_server.complete && pair.server.facts().psk.is_some());
        // The first of two hellos has the newest ticket and the previous spare; the second only the newest
        // one's spare.
        let [_, mut pair] = [ends.start(), ends.start()];
        pair.run();
        assert_eq!(hits_of(&pair), (true, is_found));
    }
}

/// A verifier that names no client.
struct NamelessVerifier(NamingVerifier);

impl PeerVerifier for NamelessVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        self.0.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        match self.0.verify(question) {
            Reply::Now(Ok(_)) => {
                Reply::Now(Ok(PeerIdentity { blob: Vec::new(), expires_at: None }.into()))
            }
            other => other,
        }
    }
}

/// Two clients without an identity are not therefore the same.
#[test]
fn a_server_derives_no_tickets_for_a_session_without_a_name() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.judge_clients_by(NamelessVerifier(NamingVerifier::new("clients")));
    let session = ends.connect().to_client.sessions.pop();
    assert!(ends.resume(session).server.facts().psk.is_some());
    assert_eq!(ends.server.metrics().learned, 1);
    // From the connection and not the resumption: each hello has a newer ticket, and one the previous spare.
    assert_eq!([ends.start(), ends.start()].map(finished), [(true, true), (true, false)]);
}

fn finished(mut pair: Pair) -> (bool, bool) {
    pair.run();
    hits_of(&pair)
}

/// Makes chains of one certificate each, whose hashes begin with the same 14 bits.
fn chains_with_one_public_id() -> [Credential; 2] {
    let suites = tessera_aws_lc::provider().suites;
    let sha256 = suites.iter().map(|suite| suite.hash).find(|hash| hash.len() == 32);
    let leaf = |number: u32| [&number.to_be_bytes()[..], &[b'c'; 796]].concat();
    let mut before: HashMap<u16, u32> = HashMap::new();
    for number in 0.. {
        let entry = [&[0, 3, 32][..], &leaf(number), &[0, 0]].concat();
        let body = [&[0, 0][..], &(entry.len() as u16).to_be_bytes(), &entry].concat();
        let hash = ChainHash::of_body(sha256.expect("SHA-256"), CertificateType::X509, &body);
        let hash = hash.expect("a hash").0;
        let id = u16::from_be_bytes([hash[0], hash[1]]) & 0x3fff;
        if let Some(other) = before.insert(id, number) {
            return [other, number].map(|number| {
                let key = PrivateKey::Signs(Arc::new(NullSigner));
                Credential::new(vec![leaf(number)], key)
            });
        }
    }
    unreachable!("there are 16,384 ids");
}

/// A client whose chain has the id of a known one is refused once. Then both are known, and an offered id
/// would be ambiguous: neither is offered.
#[test]
fn two_clients_with_one_public_id_are_not_offered_it() {
    let public = PublicIds::ObserversRecogniseChains;
    let mut ends = crate::public::ends(public, public);
    let [one, other] = chains_with_one_public_id();
    let mut comes = |who: &Credential| {
        ends.scene.client.credentials = vec![who.clone()];
        let mut pair = ends.start();
        pair.run();
        pair.to_server.complete.then(|| hits_of(&pair).1)
    };
    assert_eq!([&one, &one].map(&mut comes), [Some(false), Some(true)]);
    assert_eq!([&other, &other].map(&mut comes), [None, Some(false)]);
    assert_eq!([&one, &other, &one, &other].map(&mut comes), [Some(false); 4]);
    let third = chain(&[b't'; 800], &[b'j'; 600]);
    assert_eq!([&third, &third].map(&mut comes), [Some(false), Some(true)]);
}
