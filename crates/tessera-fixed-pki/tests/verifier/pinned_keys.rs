//! Peers identified by their public keys: the two crates' verifiers judge alike.

use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerPublicKey, PeerVerifier, Proof, VerifyPeer,
};
use tessera::wire::{AlertDescription, CertificateType, SignatureScheme};
use tessera_fixed_pki::{
    Algorithms, ConfigError, Defect, PinnedKey, PinnedKeyVerifier, kem_public_key,
};
use tessera_pki::KemLeaf;

use crate::kems::{KEMS, asked, question, verdict, with_parameters};
use crate::pki::{ALGORITHMS, Peer, client_params, leaked, root, server_params, with};

type Pin<'p> = (&'p [u8], &'static str);

fn pinned(pins: &[Pin<'_>]) -> Vec<PinnedKey> {
    pins.iter().map(|(key, name)| PinnedKey { public_key: leaked(key), name }).collect()
}

/// Both verifiers, knowing these keys.
struct Both {
    fixed: PinnedKeyVerifier,
    webpki: tessera_webpki::PinnedKeyVerifier,
}

impl Both {
    fn new(pins: &[Pin<'_>]) -> Self {
        let fixed = PinnedKeyVerifier::new(pinned(pins), ALGORITHMS).unwrap();
        let pins = pins.iter().map(|(key, name)| tessera_webpki::PinnedKey {
            public_key: key.to_vec(),
            name: (*name).into(),
        });
        let webpki = tessera_webpki::PinnedKeyVerifier::new(pins.collect()).unwrap();
        Self { fixed, webpki: webpki.accepting_kems(&KEMS).unwrap() }
    }

    #[track_caller]
    fn accept(&self, question: &VerifyPeer) -> PeerAcceptance {
        let accepted = verdict(&self.fixed, question).unwrap();
        assert_eq!(verdict(&self.webpki, question).unwrap(), accepted);
        accepted
    }

    /// Both refuse with the same alert, this verifier for that reason.
    #[track_caller]
    fn refuse(&self, question: &VerifyPeer, defect: Defect) {
        self.refuse_alone(question, defect);
        assert_eq!(verdict(&self.webpki, question).unwrap_err().alert, defect.alert());
    }

    #[track_caller]
    fn refuse_alone(&self, question: &VerifyPeer, defect: Defect) {
        assert_eq!(verdict(&self.fixed, question), Err(defect.into()));
    }
}

fn raw(question: VerifyPeer, key: &[u8]) -> VerifyPeer {
    with(question, |it| {
        (it.certificate_type, it.chain) = (CertificateType::RAW_PUBLIC_KEY, vec![key.to_vec()]);
        it.unix = None;
    })
}

fn named(question: VerifyPeer, name: &str) -> VerifyPeer {
    with(question, |it| it.server_name = Some(name.into()))
}

fn peer() -> Peer {
    Peer::new(&server_params(), &root())
}

#[test]
fn a_pinned_key_counts_for_its_own_name_alone_without_a_clock() {
    let [one, two] = [peer(), peer()];
    let both = Both::new(&[
        (&one.public_key(), "one.example"),
        (&one.public_key(), "Both.example"),
        (&two.public_key(), "two.example"),
    ]);
    let of = |peer: &Peer, name: &str| named(raw(peer.as_server(), &peer.public_key()), name);
    for (peer, name) in [(&one, "one.example"), (&one, "both.EXAMPLE"), (&two, "two.example")] {
        let accepted = both.accept(&of(peer, name));
        let identity = PeerIdentity { blob: name.into(), expires_at: None };
        assert_eq!(accepted, PeerAcceptance::new(identity));
    }
    for (peer, name) in [(&one, "two.example"), (&two, "one.example"), (&peer(), "one.example")] {
        both.refuse(&of(peer, name), Defect::UnknownKey);
    }
    let unnamed = with(of(&one, "one.example"), |it| it.server_name = None);
    both.refuse(&unnamed, Defect::ServerName);
}

#[test]
fn a_pinned_key_of_a_client_gives_the_first_of_its_names() {
    let peer = Peer::new(&client_params(&[]), &root());
    let both = Both::new(&[(&peer.public_key(), "pump 7"), (&peer.public_key(), "pump 8")]);
    let accepted = both.accept(&raw(peer.as_client(), &peer.public_key()));
    assert_eq!(accepted.identity.blob, b"key:pump 7");
}

#[test]
fn a_pinned_key_must_prove_itself() {
    let peer = peer();
    let both = Both::new(&[(&peer.public_key(), "server.example")]);
    let good = raw(peer.as_server(), &peer.public_key());
    both.accept(&good);
    let signature_of_another = with(good.clone(), |it| it.proof = self::peer().as_server().proof);
    both.refuse(&signature_of_another, Defect::ProofSignature);
    let with_scheme = |scheme| {
        with(good.clone(), |it| match &mut it.proof {
            Proof::Signature { scheme: of, .. } => *of = scheme,
            _ => unreachable!("it signs"),
        })
    };
    both.refuse(&with_scheme(SignatureScheme::RSA_PKCS1_SHA256), Defect::Scheme);
    both.refuse(&with_scheme(SignatureScheme::MLDSA44), Defect::SchemeOfAnotherKey);
    let decapsulates = with(good, |it| it.proof = Proof::Kem { scheme: KEMS[0] });
    both.refuse(&decapsulates, Defect::ProofKind);
}

#[test]
fn what_is_no_pinned_key_is_refused() {
    let peer = peer();
    let both = Both::new(&[(&peer.public_key(), "server.example")]);
    let good = raw(peer.as_server(), &peer.public_key());
    let of = |chain: Vec<Vec<u8>>| with(good.clone(), |it| it.chain = chain);
    both.refuse(&peer.as_server(), Defect::NotRawKey);
    for chain in [vec![], vec![peer.public_key(), peer.public_key()]] {
        both.refuse(&of(chain), Defect::NotRawKey);
    }
    let by_hash = with(of(vec![]), |it| it.known = Some([7; 32]));
    both.refuse(&by_hash, Defect::NotRawKey);
    let longer = [&peer.public_key()[..], &[0]].concat();
    for key in [peer.chain[0].clone(), b"garbage".to_vec(), vec![], longer] {
        both.refuse_alone(&of(vec![key]), Defect::UnknownKey);
    }
}

#[test]
fn a_pinned_key_of_ml_kem_is_returned() {
    for kem in KEMS {
        let [leaf, other] = [(); 2].map(|()| KemLeaf::with(&server_params(), kem, &root()));
        let info = leaf.key().public_key_info().to_vec();
        let both = Both::new(&[(&info, "server.example")]);
        assert_eq!(both.fixed.schemes(), [kem]);
        let question = raw(question(Vec::new(), kem), &info);
        let expected = PeerPublicKey::new(kem, leaf.key().public_key().to_vec());
        assert_eq!(both.accept(&question).public_key.as_ref(), Some(&expected));
        assert_eq!(kem_public_key(&info), Some(expected));
        let other = other.key().public_key_info().to_vec();
        both.refuse(&raw(question.clone(), &other), Defect::UnknownKey);
        let another = KEMS.into_iter().find(|it| *it != kem).unwrap();
        let another = with(question.clone(), |it| it.proof = Proof::Kem { scheme: another });
        both.refuse(&another, Defect::ProofKind);
        // Also of a key that isn't pinned: its owner waits for an encapsulation.
        for key in [info, other] {
            let chain = [key];
            let certificate_type = CertificateType::RAW_PUBLIC_KEY;
            let asked = AskedKey { certificate_type, ..asked(&chain) };
            assert_eq!(both.fixed.kem_scheme(&asked), Some(kem));
        }
        let signs = raw(peer().as_server(), &chain_key(&question));
        both.refuse(&signs, Defect::SchemeOfAnotherKey);
    }
    // RFC 9935 §3: there are no parameters.
    let leaf = KemLeaf::with(&server_params(), KEMS[0], &root());
    let wrong = with_parameters(leaf.key().public_key_info());
    assert_eq!(kem_public_key(&wrong), None);
    let verifier = PinnedKeyVerifier::new(pinned(&[(&wrong, "server.example")]), ALGORITHMS);
    assert_eq!(verifier.err(), Some(ConfigError::KeyAlgorithm));
    assert_eq!(kem_public_key(&peer().public_key()), None);
    assert_eq!(kem_public_key(b"garbage"), None);
}

fn chain_key(question: &VerifyPeer) -> Vec<u8> {
    question.chain[0].clone()
}

#[test]
fn the_schemes_of_pinned_keys_are_offered_in_their_order_and_each_once() {
    let leaf = KemLeaf::with(&server_params(), KEMS[1], &root());
    let (kem, p256) = (leaf.key().public_key_info().to_vec(), peer().public_key());
    let pins = [(&kem[..], "one"), (&p256, "one"), (&peer().public_key(), "two"), (&kem, "two")];
    let verifier = PinnedKeyVerifier::new(pinned(&pins), ALGORITHMS).unwrap();
    assert_eq!(verifier.schemes(), [KEMS[1], SignatureScheme::ECDSA_SECP256R1_SHA256]);
    assert_eq!(verifier.certificate_types(), [CertificateType::RAW_PUBLIC_KEY]);
    // The first name of a key is its owner's.
    let policy =
        |pins: &[Pin<'_>]| PinnedKeyVerifier::new(pinned(pins), ALGORITHMS).unwrap().policy();
    assert!(policy(&pins) == policy(&pins) && policy(&pins[..1]) != policy(&pins));
    assert!(policy(&[(&kem, "one"), (&kem, "two")]) != policy(&[(&kem, "two"), (&kem, "one")]));
    assert!(policy(&[(&kem, "one")]) != policy(&[(&p256, "one")]));
}

#[test]
fn pinned_keys_have_names_and_algorithms() {
    let key = peer().public_key();
    let error = |pins: &[Pin<'_>]| PinnedKeyVerifier::new(pinned(pins), ALGORITHMS).err();
    assert_eq!(error(&[]), Some(ConfigError::NoKeys));
    let longest = PeerIdentity::MAX_LEN - "key:".len();
    let name = |len| &*"n".repeat(len).leak();
    assert_eq!(error(&[(&key, name(longest))]), None);
    for len in [0, longest + 1] {
        assert_eq!(error(&[(&key, name(len))]), Some(ConfigError::KeyName));
    }
    // A NULL after the key, in the structure and behind it.
    let mut inside = [&key[..], &[5, 0]].concat();
    inside[1] += 2;
    let behind = [&key[..], &[5, 0]].concat();
    for wrong in [&b"garbage"[..], &[], &key[..key.len() - 1], &inside, &behind] {
        assert_eq!(error(&[(&key, "one"), (wrong, "two")]), Some(ConfigError::Key));
    }
    let none = PinnedKeyVerifier::new(pinned(&[(&key, "one")]), &[]);
    assert_eq!(none.err(), Some(ConfigError::KeyAlgorithm));
    // A scheme of certificates alone proves nothing in a handshake (RFC 8446 §4.2.3).
    static FOR_CERTIFICATES: Algorithms =
        &[(SignatureScheme::RSA_PKCS1_SHA256, webpki::aws_lc_rs::ECDSA_P256_SHA256)];
    let none = PinnedKeyVerifier::new(pinned(&[(&key, "one")]), FOR_CERTIFICATES);
    assert_eq!(none.err(), Some(ConfigError::KeyAlgorithm));
    assert_eq!(Defect::UnknownKey.alert(), AlertDescription::CERTIFICATE_UNKNOWN);
}
