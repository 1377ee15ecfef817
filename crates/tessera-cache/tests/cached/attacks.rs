//! What attackers can learn and break: with copied tickets, with arbitrary bytes, with many threads.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tessera::auth::{
    CertificateCodec, CodecOutcome, Credential, EncodedCertificate, HandshakeEnd, PrivateKey,
};
use tessera::crypto::{Signer, SigningError};
use tessera::handshake::ClientAuthentication;
use tessera::wire::{
    AlertDescription, CertificateCompressionAlgorithm as Id, CertificateType, ExtensionType,
    SignatureScheme,
};
use tessera_cache::ChainHash;
use tessera_harness::{ChangedCodecs, CodecChange, Mode, at};
use tessera_null_provider::NullSigner;

use crate::fleet::ring;
use crate::refusals::{edit_client, edit_server, known};
use crate::{Ends, NamingVerifier, alert, in_hello};

/// Signs without the key.
pub(crate) struct Forger;

impl Signer for Forger {
    fn schemes(&self) -> &[SignatureScheme] {
        NullSigner.schemes()
    }

    fn sign(&self, _: SignatureScheme, _: &[u8]) -> Result<Vec<u8>, SigningError> {
        Ok(vec![0xaa; 64])
    }
}

/// An attacker with a client's tickets, which sends this in place of the client's chain.
struct Thief(Vec<u8>);

impl CodecChange for Thief {
    fn encode(
        &mut self,
        _: &mut dyn CertificateCodec,
        _: &[u8],
        offered: &[Id],
    ) -> Option<EncodedCertificate> {
        Some(EncodedCertificate::new(*offered.first()?, self.0.clone()))
    }

    fn ended(&mut self, _: Box<dyn CertificateCodec>, _: &HandshakeEnd<'_>) -> CodecOutcome {
        CodecOutcome::default()
    }
}

/// Returns the hash of the chain of these tests' client.
pub(crate) fn owners_hash() -> Vec<u8> {
    let entries: [(&[u8], u16); 2] = [(&[b'c'; 800], 800), (&[b'j'; 600], 600)];
    let entry = |(der, len): (&[u8], u16)| [&[0][..], &len.to_be_bytes(), der, &[0, 0]].concat();
    let list = entries.map(entry).concat();
    let body = [&[0, 0][..], &(list.len() as u16).to_be_bytes(), &list].concat();
    let suites = tessera_aws_lc::provider().suites;
    let sha256 = suites.iter().map(|suite| suite.hash).find(|hash| hash.len() == 32);
    let hash = ChainHash::of_body(sha256.expect("SHA-256"), CertificateType::X509, &body);
    hash.expect("a hash").0.to_vec()
}

/// Makes two ends that know each other; of the client's next tickets only a fleet ticket is live.
fn known_by_fleet_ticket() -> Ends {
    let ends = Ends::of_fleet(Mode::Mutual, ring());
    ends.connect();
    ends.only_fleet_tickets_are_left();
    ends
}

/// Returns how the server ends such a handshake: its alert, and how much it sent in all.
fn steal(
    ends: &Ends,
    says: &[u8],
    staples: usize,
    refuses: Option<AlertDescription>,
) -> (AlertDescription, usize) {
    let mut scene = ends.scene.clone();
    // As long as the owner's.
    let chain = vec![vec![b't'; 800 + staples], vec![b'j'; 600]];
    scene.client.credentials = vec![Credential::new(chain, PrivateKey::Signs(Arc::new(Forger)))];
    let says = says.to_vec();
    let thief = ChangedCodecs { factory: ends.client.clone(), change: move || Thief(says.clone()) };
    scene.client.certificate_codecs = vec![Arc::new(thief)];
    let clients = Arc::new(NamingVerifier { refuses, ..NamingVerifier::new("clients") });
    scene.server.client_authentication = ClientAuthentication::Required(clients);
    let mut pair = scene.start(None, at(0));
    pair.run();
    let server = ends.server.metrics();
    assert_eq!(server.entries, 1, "a stranger empties the cache");
    let received = pair.server.facts().peer_certificate.and_then(|it| it.encoded_with);
    assert!(received.is_some(), "the thief's ticket was not live");
    (alert(&pair.to_server.error).expect("a refusal"), pair.server_sent.len())
}

/// Whether the hash is right, what accompanies it, why the verifier refuses, and which kind of ticket found
/// the owner makes no difference: the answer is the same.
#[test]
fn an_attacker_with_a_copied_ticket_gets_the_same_answer_to_any_guess() {
    let right = owners_hash();
    let mut wrong = right.clone();
    wrong[31] ^= 1;
    let mut answers = BTreeSet::new();
    for hash in [&right, &wrong] {
        for staples in [&[][..], &[0, 4, 0, 18, 0, 0, 0, 0], &[0, 3, 0, 5, 0, 0, 0]] {
            for refuses in [None, Some(AlertDescription::CERTIFICATE_REVOKED)] {
                let says = [&hash[..], staples].concat();
                let beside = staples.len().saturating_sub(4);
                for ends in [known(), known_by_fleet_ticket()] {
                    let (alert, sent) = steal(&ends, &says, beside, refuses);
                    answers.insert((alert.0, sent));
                }
            }
        }
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|(alert, _)| *alert == AlertDescription::DECRYPT_ERROR.0));
}

/// How many connections are changed.
const ROUNDS: usize = 200;

/// Arbitrary bytes replace a cached certificate, in either direction.
#[test]
fn mutated_certificates_are_refused_as_what_they_are() {
    let ends = known();
    let mut state = 5u64;
    let mut next = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    for round in 0..ROUNDS {
        let edits = 1 + next(3);
        let plan: Vec<[usize; 3]> =
            (0..edits).map(|_| [next(5), next(1 << 20), next(256)]).collect();
        let said = Mutex::new((Vec::new(), Vec::new()));
        let mutate = |parts: &mut Vec<u8>| {
            let before = parts.clone();
            for [what, place, byte] in &plan {
                let at = 3 + place % (parts.len() - 3);
                match what {
                    0 => parts[at] = *byte as u8,
                    1 => parts[at] ^= 1 << (byte % 8),
                    2 => parts.truncate(at.max(6)),
                    3 => parts.extend(std::iter::repeat_n(*byte as u8, place % 40)),
                    _ => parts.extend_from_slice(&[0, 2, *byte as u8, 0]),
                }
            }
            *said.lock().expect("a lock") = (before, parts.clone());
        };
        let by_server = round % 2 == 0;
        let pair = if by_server { edit_client(&ends, mutate) } else { edit_server(&ends, mutate) };
        let error = if by_server { &pair.to_server.error } else { &pair.to_client.error };
        let alert = alert(error);
        let (before, after) = said.into_inner().expect("a lock");
        if before == after {
            continue;
        }
        assert!(!after.is_empty(), "{round}: nothing was cached");
        let expected = if is_well_formed(&after) {
            AlertDescription::DECRYPT_ERROR
        } else {
            AlertDescription::BAD_CERTIFICATE
        };
        assert_eq!(alert, Some(expected), "{round}: {plan:?}");
        drop(pair);
        // Nothing was removed, and both ends find each other again.
        assert_eq!((ends.server.metrics().entries, ends.client.metrics().entries), (1, 1));
        while ends.hits() != (true, true) {}
    }
}

/// Whether the bytes in themselves are well-formed.
fn is_well_formed(parts: &[u8]) -> bool {
    let len = u32::from_be_bytes([0, parts[2], parts[3], parts[4]]);
    let Some((_, mut staples)) = parts[5..].split_at_checked(32) else { return false };
    let (mut any, none) = (false, staples.is_empty());
    while let Some((len, rest)) = staples.split_first_chunk::<2>() {
        let len = usize::from(u16::from_be_bytes(*len));
        any |= len > 0;
        match rest.split_at_checked(len) {
            Some((_, rest)) => staples = rest,
            None => return false,
        }
    }
    staples.is_empty() && (any || none) && len <= 128 * 1024 - 4
}

/// Threads share a cache: no ticket is sent twice, and no thread hangs.
#[test]
fn threads_share_caches_and_no_ticket_is_sent_twice() {
    let ends = known();
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (ends, seen) = (&ends, &seen);
            scope.spawn(move || {
                for round in 0..25 {
                    let mut pair = ends.start();
                    let offered = in_hello(&pair, ExtensionType::CACHED_CERTIFICATES);
                    seen.lock().expect("a lock").extend(offered);
                    match (thread + round) % 5 {
                        // A client that disappears takes nothing with it.
                        0 => (),
                        1 => assert!(pair.client_to_server()),
                        2 => ends.server.retain_policies(&[]),
                        _ => assert!(pair.run().to_client.complete),
                    }
                }
            });
        }
    });
    let seen = seen.into_inner().expect("a lock");
    let tickets: Vec<&[u8]> = seen.iter().flat_map(|body| body.chunks(8)).collect();
    assert!(seen.iter().all(|body| matches!(body.len(), 0 | 16)));
    assert_eq!(tickets.iter().collect::<BTreeSet<_>>().len(), tickets.len());
    ends.connect();
    ends.connect();
    assert_eq!(ends.hits(), (true, true));
}
