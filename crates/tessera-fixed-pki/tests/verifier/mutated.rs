//! Changed chains, whose signatures count as right: what this verifier accepts, webpki accepts, too.

use std::collections::BTreeMap;

use pki_types::{AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use rcgen::{CertificateParams, KeyUsagePurpose, SanType};
use tessera::auth::{PeerVerifier, VerifyPeer};
use tessera::wire::SignatureScheme;
use tessera_fixed_pki::{Algorithms, Defect};
use tessera_harness::{Numbers, change, each_seed};

use crate::pki::{Both, Peer, below, client_params, extension, judge, root, server_params, with};

/// Finds every signature right, so that changed certificates are judged by what is in them.
#[derive(Debug)]
struct Anything;

impl SignatureVerificationAlgorithm for Anything {
    fn verify_signature(&self, _: &[u8], _: &[u8], _: &[u8]) -> Result<(), InvalidSignature> {
        Ok(())
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P256
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_SHA256
    }
}

static HANDSHAKE: Algorithms = &[(SignatureScheme::ECDSA_SECP256R1_SHA256, &Anything)];
static CHAIN: &[&dyn SignatureVerificationAlgorithm] = &[&Anything];

/// What both verifiers find.
#[derive(Default)]
pub struct Verdicts {
    pub accepted: usize,
    pub refused: usize,
    /// How often webpki alone accepts, for each reason why this verifier doesn't.
    pub alone: BTreeMap<String, usize>,
    /// Refusals with different alerts: both reasons.
    different: BTreeMap<(String, String), usize>,
}

impl Verdicts {
    pub fn add(&mut self, both: &Both, question: &VerifyPeer) {
        let verdicts = [&both.fixed as &dyn PeerVerifier, &both.webpki];
        match verdicts.map(|verifier| judge(verifier, question)) {
            [Ok(one), Ok(other)] => {
                assert_eq!(one, other, "{:x?}", question.chain);
                self.accepted += 1;
            }
            [Ok(_), Err(rejected)] => {
                panic!("webpki refuses: {}: {:x?}", rejected.reason, question.chain)
            }
            [Err(rejected), Ok(_)] => *self.alone.entry(rejected.reason).or_default() += 1,
            [Err(one), Err(other)] => {
                self.refused += 1;
                if one.alert != other.alert {
                    *self.different.entry((one.reason, other.reason)).or_default() += 1;
                }
            }
        }
    }

    /// Asserts that this verifier alone refuses for reasons that the crate's page lists.
    fn check(&self) {
        let known = [
            Defect::Malformed,
            Defect::DuplicateExtension,
            Defect::CriticalExtension,
            Defect::NameConstraints,
            Defect::IssuerKeyUsage,
            Defect::UnknownIssuer,
        ];
        let known = known.map(|defect| defect.to_string());
        assert!(self.alone.keys().all(|reason| known.contains(reason)), "{:?}", self.alone);
        // Those with several defects.
        let different: usize = self.different.values().sum();
        assert!(different * 100 < self.refused, "{:?}", self.different);
    }
}

/// A chain with everything that is read, and the verifiers that trust its root.
fn peer(params: &CertificateParams) -> (Both, Peer) {
    let root = root();
    let between = below("between", &root, |it| {
        it.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Constrained(1));
    });
    let mut params = params.clone();
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyAgreement];
    params.subject_alt_names.push(SanType::URI("urn:a".try_into().unwrap()));
    params.subject_alt_names.push(SanType::DnsName("*.server.example".try_into().unwrap()));
    params.custom_extensions = vec![
        extension(&[1, 3, 6, 1, 4, 1, 55555, 1], false, &[5, 0]),
        extension(&[2, 5, 29, 31], false, &[0x30, 0]),
    ];
    let peer = Peer::new(&params, &between).above(&[&between]);
    (Both::with(&[root.der().to_vec()], HANDSHAKE, CHAIN), peer)
}

pub fn questions() -> [(Both, VerifyPeer); 2] {
    let (of_server, server) = peer(&server_params());
    let (of_client, client) = peer(&client_params(&["client.example"]));
    [(of_server, server.as_server()), (of_client, client.as_client())]
}

#[test]
fn each_byte_of_a_chain_counts_as_in_webpki() {
    for (both, question) in questions() {
        both.accept(&question);
        let mut verdicts = Verdicts::default();
        for certificate in 0..question.chain.len() {
            let len = question.chain[certificate].len();
            for at in 0..len {
                let cut = with(question.clone(), |it| it.chain[certificate].truncate(at));
                verdicts.add(&both, &cut);
                let flipped = (0..8).map(|bit| question.chain[certificate][at] ^ 1 << bit);
                for value in flipped.chain([0, 0x7f, 0x80, 0x81, 0x82, 0xff]) {
                    let changed = with(question.clone(), |it| it.chain[certificate][at] = value);
                    verdicts.add(&both, &changed);
                }
            }
        }
        verdicts.check();
        // Serial numbers, keys, signatures and what is ignored.
        assert!(verdicts.accepted > 5_000, "{}", verdicts.accepted);
    }
}

/// Judges chains after one to three random changes.
pub fn judge_changed(change: impl Fn(&mut Numbers, &mut VerifyPeer)) -> Verdicts {
    let questions = questions();
    let mut verdicts = Verdicts::default();
    each_seed(100, |numbers| {
        let (both, question) = &questions[numbers.below(2)];
        for _ in 0..200 {
            let mut question = question.clone();
            for _ in 0..=numbers.below(3) {
                change(numbers, &mut question);
            }
            verdicts.add(both, &question);
        }
    });
    verdicts
}

#[test]
fn fuzz_what_is_accepted_is_accepted_by_webpki() {
    let verdicts = judge_changed(|numbers, question| {
        let at = numbers.below(2);
        change(numbers, &mut question.chain[at]);
    });
    verdicts.check();
    assert!(verdicts.accepted > 100, "{}", verdicts.accepted);
}
