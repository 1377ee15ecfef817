//! Keys of ML-KEM, whose holders decapsulate (docs/kem-auth.md).

use rcgen::{CertificateParams, KeyUsagePurpose};
use tessera::auth::{
    AskedKey, PeerAcceptance, PeerPublicKey, PeerRejected, PeerVerifier, Proof, VerifyPeer,
    chain_hash,
};
use tessera::wire::{CertificateType, SignatureScheme};
use tessera::{Reply, Role};
use tessera_fixed_pki::{
    ChainStore, ConfigError, Defect, FixedPkiVerifier, KnownChains, StoreBounds,
};
use tessera_pki::{KemLeaf, certificate_of};
use tessera_webpki::WebPkiVerifier;

use crate::pki::{
    ALGORITHMS, Both, Ca, NOW, Peer, anchor, client_params, root, server_params, with,
};

pub const KEMS: [SignatureScheme; 3] =
    [SignatureScheme::KEM_MLKEM512, SignatureScheme::KEM_MLKEM768, SignatureScheme::KEM_MLKEM1024];
const KEM: SignatureScheme = SignatureScheme::KEM_MLKEM768;

/// Both verifiers, accepting these.
pub fn accepting(both: Both, kems: &[SignatureScheme]) -> [Box<dyn PeerVerifier>; 2] {
    let Both { fixed, webpki } = both;
    let fixed: FixedPkiVerifier = fixed.accepting_kems(kems).unwrap();
    let webpki: WebPkiVerifier = webpki.accepting_kems(kems).unwrap();
    [Box::new(fixed), Box::new(webpki)]
}

fn both(root: &Ca, kems: &[SignatureScheme]) -> [Box<dyn PeerVerifier>; 2] {
    accepting(Both::new(&[root]), kems)
}

pub fn question(chain: Vec<Vec<u8>>, scheme: SignatureScheme) -> VerifyPeer {
    let question = VerifyPeer::new(Role::Server, chain, Proof::Kem { scheme });
    with(question, |it| {
        it.unix = Some(NOW);
        it.server_name = Some("server.example".into());
    })
}

pub fn verdict(
    verifier: &dyn PeerVerifier,
    question: &VerifyPeer,
) -> Result<PeerAcceptance, PeerRejected> {
    match verifier.verify(question) {
        Reply::Now(verdict) => verdict,
        Reply::Later => panic!("both answer at once"),
    }
}

pub fn asked(chain: &[Vec<u8>]) -> AskedKey<'_> {
    AskedKey {
        peer: Role::Server,
        server_name: Some("server.example"),
        certificate_type: CertificateType::X509,
        chain,
        known: None,
        unix: Some(NOW),
    }
}

fn params(usage: KeyUsagePurpose) -> CertificateParams {
    let mut params = server_params();
    params.key_usages = vec![usage];
    params
}

/// Asserts that both refuse with the same alert, this verifier for that reason.
fn refuse(verifiers: &[Box<dyn PeerVerifier>; 2], question: &VerifyPeer, defect: Defect) {
    let [fixed, webpki] = verifiers.each_ref().map(|verifier| verdict(&**verifier, question));
    assert_eq!(fixed, Err(defect.into()));
    assert_eq!(webpki.unwrap_err().alert, defect.alert());
}

#[test]
fn keys_of_ml_kem_are_returned() {
    let root = root();
    let verifiers = both(&root, &KEMS);
    for kem in KEMS {
        // Without a key usage, too.
        for params in [params(KeyUsagePurpose::KeyEncipherment), server_params()] {
            let leaf = KemLeaf::with(&params, kem, &root);
            let question = question(leaf.chain.clone(), kem);
            let [fixed, webpki] =
                verifiers.each_ref().map(|verifier| verdict(&**verifier, &question).unwrap());
            assert_eq!(fixed, webpki);
            let expected = PeerPublicKey::new(kem, leaf.key().public_key().to_vec());
            assert_eq!(fixed.public_key, Some(expected));
            for verifier in &verifiers {
                assert_eq!(verifier.kem_scheme(&asked(&leaf.chain)), Some(kem));
                // Nothing is proved yet.
                assert!(!verifier.is_proof_right(&question));
            }
        }
    }
    let signing = Peer::new(&server_params(), &root);
    assert!(verifiers.iter().all(|it| it.kem_scheme(&asked(&signing.chain)).is_none()));
    assert!(verifiers.iter().all(|it| it.kem_scheme(&asked(&[])).is_none()));
}

#[test]
fn signatures_are_accepted_next_to_kems() {
    let root = root();
    let question = Peer::new(&server_params(), &root).as_server();
    for verifier in both(&root, &[KEM]) {
        assert_eq!(verdict(&*verifier, &question).unwrap().public_key, None);
        assert!(verifier.is_proof_right(&question));
    }
}

#[test]
fn a_kem_that_was_not_offered_or_is_another_keys_is_refused() {
    let root = root();
    let leaf = KemLeaf::with(&server_params(), KEM, &root);
    let others = [SignatureScheme::KEM_MLKEM512, SignatureScheme::KEM_MLKEM1024];
    refuse(&both(&root, &others), &question(leaf.chain.clone(), KEM), Defect::ProofKind);
    refuse(&both(&root, &KEMS), &question(leaf.chain, others[0]), Defect::ProofKind);
    let signing = Peer::new(&server_params(), &root);
    refuse(&both(&root, &KEMS), &question(signing.chain, KEM), Defect::ProofKind);
}

#[test]
fn a_key_usage_must_allow_the_kem() {
    let root = root();
    let verifiers = both(&root, &KEMS);
    for usage in [KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyAgreement] {
        let leaf = KemLeaf::with(&params(usage), KEM, &root);
        refuse(&verifiers, &question(leaf.chain, KEM), Defect::KemKeyUsage);
    }
    let signing = Peer::new(&params(KeyUsagePurpose::KeyEncipherment), &root);
    refuse(&verifiers, &signing.as_server(), Defect::KeyUsage);
}

/// Puts a NULL after the identifier, with lengths that fit.
pub fn with_parameters(info: &[u8]) -> Vec<u8> {
    let at = info.windows(2).position(|two| two == [0x30, 11]).unwrap();
    let mut wrong = info.to_vec();
    wrong[at + 1] += 2;
    wrong.splice(at + 13..at + 13, [5, 0]);
    let len = u16::from_be_bytes([wrong[2], wrong[3]]) + 2;
    wrong[2..4].copy_from_slice(&len.to_be_bytes());
    wrong
}

/// RFC 9935 §3: there are none.
#[test]
fn a_key_with_parameters_is_malformed() {
    let root = root();
    let leaf = KemLeaf::with(&server_params(), KEM, &root);
    let wrong = with_parameters(leaf.key().public_key_info());
    let chain = vec![certificate_of(&wrong, &server_params(), &root)];
    for verifier in both(&root, &KEMS) {
        assert_eq!(verifier.kem_scheme(&asked(&chain)), Some(KEM));
    }
    refuse(&both(&root, &KEMS), &question(chain, KEM), Defect::Malformed);
}

#[test]
fn a_chain_with_a_key_of_a_kem_is_checked_as_every_other() {
    let [root, impostor] = [root(), root()];
    let verifiers = both(&root, &KEMS);
    let good = question(KemLeaf::with(&server_params(), KEM, &root).chain, KEM);
    assert!(verdict(&*verifiers[0], &good).is_ok());
    let forged = KemLeaf::with(&server_params(), KEM, &impostor);
    refuse(&verifiers, &question(forged.chain, KEM), Defect::Signature);
    let late = with(good.clone(), |it| it.unix = Some(crate::pki::NOT_AFTER + 1));
    refuse(&verifiers, &late, Defect::Expired);
    let other = with(good, |it| it.server_name = Some("other.example".into()));
    refuse(&verifiers, &other, Defect::Name);
    let client = KemLeaf::with(&client_params(&["server.example"]), KEM, &root);
    refuse(&verifiers, &question(client.chain, KEM), Defect::ExtendedKeyUsage);
}

#[test]
fn kems_are_offered_last_and_each_once() {
    let root = root();
    let verifier = || FixedPkiVerifier::new(vec![anchor(root.der())], &ALGORITHMS[..1]).unwrap();
    let twice = verifier().accepting_kems(&[KEM, KEMS[0], KEM]).unwrap();
    assert_eq!(twice.schemes(), [SignatureScheme::ECDSA_SECP256R1_SHA256, KEM, KEMS[0]]);
    for wrong in [&[][..], &[SignatureScheme::KEM_X25519], &[KEM, SignatureScheme::ED25519]] {
        assert_eq!(verifier().accepting_kems(wrong).err(), Some(ConfigError::Kem));
    }
}

#[test]
fn a_policy_names_the_kems() {
    let root = root();
    let verifier = || FixedPkiVerifier::new(vec![anchor(root.der())], ALGORITHMS).unwrap();
    let with = |kems: &[SignatureScheme]| verifier().accepting_kems(kems).unwrap().policy();
    assert!(with(&[KEM]) != verifier().policy() && with(&[KEM]) != with(&KEMS));
    assert!(with(&[KEM, KEMS[0]]) == with(&[KEMS[0], KEM]));
}

#[test]
fn a_process_learns_whether_its_peers_would_accept_its_own_key_of_a_kem() {
    let root = root();
    let trusting = |kems: &[SignatureScheme]| {
        let verifier = FixedPkiVerifier::new(vec![anchor(root.der())], ALGORITHMS).unwrap();
        verifier.accepting_kems(kems).unwrap()
    };
    let leaf = KemLeaf::with(&params(KeyUsagePurpose::KeyEncipherment), KEM, &root);
    let would = |verifier: &FixedPkiVerifier| {
        verifier.would_accept(Role::Server, &leaf.chain, Some("server.example"), Some(NOW))
    };
    assert_eq!(would(&trusting(&KEMS)), Ok(()));
    assert_eq!(would(&trusting(&KEMS[..1])), Err(Defect::KeyUsage));
}

#[test]
fn a_known_chain_has_its_key_of_a_kem() {
    let root = root();
    let bounds = StoreBounds { entries: 8, bytes: 8192 };
    let store = ChainStore::new(&tessera_aws_lc::provider(), bounds).unwrap();
    let verifier = FixedPkiVerifier::new(vec![anchor(root.der())], ALGORITHMS).unwrap();
    let verifier = KnownChains::new(verifier.accepting_kems(&KEMS).unwrap(), &store);
    let leaf = KemLeaf::with(&params(KeyUsagePurpose::KeyEncipherment), KEM, &root);
    let whole = question(leaf.chain.clone(), KEM);
    let short = with(whole.clone(), |it| {
        it.known = chain_hash(tessera_aws_lc::provider().sha256().unwrap(), &it.chain);
        it.chain.clear();
    });
    let asked = AskedKey { known: short.known.as_ref(), ..asked(&[]) };
    assert_eq!(verifier.kem_scheme(&asked), None);
    for (question, hits) in [(&whole, 0), (&whole, 1), (&short, 2)] {
        let accepted = verdict(&verifier, question).unwrap();
        let expected = PeerPublicKey::new(KEM, leaf.key().public_key().to_vec());
        assert_eq!(accepted.public_key, Some(expected));
        assert_eq!(store.counts().hits, hits);
        assert_eq!(verifier.kem_scheme(&asked), Some(KEM));
    }
}
