//! What a peer must not send, and the alert that it gets.

use std::sync::Arc;

use tessera::Error;
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType};
use tessera_harness::{Mode, Pair, rewrite};

use crate::{Ends, NamingVerifier, alert, chain, edit_hello, hits_of};

/// The error for a peer's proof after it named another chain.
const ANOTHER_CHAIN: &str = "the peer's proof doesn't match the chain that it named";

/// Makes ends that know each other.
pub(crate) fn known() -> Ends {
    let ends = Ends::new(Mode::Mutual);
    ends.connect();
    ends.connect();
    ends
}

/// Makes a connection with a change to the server's CompressedCertificate.
pub(crate) fn edit_server(ends: &Ends, edit: impl Fn(&mut Vec<u8>)) -> Pair {
    let mut pair = ends.start();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let edited = rewrite(&flight, || ends.scene.server_sealers(), |message| change(message, &edit));
    pair.deliver_to_client(&edited);
    pair
}

/// Makes a connection with a change to the client's CompressedCertificate.
pub(crate) fn edit_client(ends: &Ends, edit: impl Fn(&mut Vec<u8>)) -> Pair {
    let mut pair = ends.start();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    let edited = rewrite(&flight, || ends.scene.client_sealers(), |message| change(message, &edit));
    pair.deliver_to_server(&edited);
    pair
}

/// Changes a CompressedCertificate: `edit` gets algorithm, uncompressed_length and content.
fn change(message: &mut Vec<u8>, edit: &impl Fn(&mut Vec<u8>)) {
    if message[0] != HandshakeType::COMPRESSED_CERTIFICATE.0 {
        return;
    }
    let mut parts = [&message[4..9], &message[12..]].concat();
    edit(&mut parts);
    let (head, content) = parts.split_at(5);
    let len = content.len() as u32;
    let [_, a, b, c] = (head.len() as u32 + 3 + len).to_be_bytes();
    let [_, d, e, f] = len.to_be_bytes();
    *message = [&[message[0], a, b, c][..], head, &[d, e, f], content].concat();
}

/// Returns how the reader's connection ended.
fn ended(error: &Option<Error>) -> (Option<AlertDescription>, String) {
    let sentence = error.as_ref().map(ToString::to_string).unwrap_or_default();
    (alert(error), sentence)
}

type Edit = fn(&mut Vec<u8>);

/// Contents that differ from the expected chain, but are otherwise valid.
const ANOTHER: [(&str, Edit); 5] = [
    ("hash", |parts| parts[5] ^= 1),
    ("last byte of the hash", |parts| parts[36] ^= 1),
    ("uncompressed_length", |parts| parts[4] ^= 1),
    ("number of staples", |parts| parts.extend_from_slice(&[0, 4, 0, 18, 0, 0])),
    ("hash, with staples of the right number", |parts| {
        parts[5] ^= 1;
        parts.extend_from_slice(&[0, 4, 0xaa, 0xaa, 0, 0, 0, 0]);
    }),
];

#[test]
fn a_server_that_names_another_chain_is_refused_after_its_proof() {
    for (what, edit) in ANOTHER {
        let ends = known();
        let pair = edit_server(&ends, edit);
        let (alert, sentence) = ended(&pair.to_client.error);
        assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR), "{what}");
        assert!(sentence.contains(ANOTHER_CHAIN), "{what}: {sentence}");
        drop(pair);
        assert_eq!(ends.client.metrics().wrong_hash, 1);
        // Nothing was dropped; but the two ends may disagree, so nothing is offered once.
        assert_eq!(ends.hits(), (false, false), "{what}");
        assert_eq!(ends.hits(), (true, true), "{what}");
    }
}

#[test]
fn a_client_that_names_another_chain_is_refused_after_its_proof() {
    for (what, edit) in ANOTHER {
        let ends = known();
        let pair = edit_client(&ends, edit);
        let (alert, sentence) = ended(&pair.to_server.error);
        assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR), "{what}");
        assert!(sentence.contains(ANOTHER_CHAIN), "{what}: {sentence}");
        drop(pair);
        let server = ends.server.metrics();
        assert_eq!((server.wrong_hash, server.entries), (1, 1));
        assert_eq!(ends.hits(), (true, true), "{what}");
    }
}

/// Staples that are malformed, or were not requested, end a handshake at once only if the hash next to them
/// is no secret.
#[test]
fn a_client_learns_only_after_its_proof_that_its_staples_are_refused() {
    let staples: [&[u8]; 3] = [
        // Unrequested SCTs, a truncated OCSP response, half an extension.
        &[0, 4, 0, 18, 0, 0, 0, 0],
        &[0, 5, 0, 5, 0, 1, 1, 0, 0],
        &[0, 3, 0, 5, 0, 0, 0],
    ];
    for staples in staples {
        let with_staples = |parts: &mut Vec<u8>| {
            let [a, b] = [parts[3], parts[4]];
            let len = u16::from_be_bytes([a, b]) + staples.len() as u16 - 4;
            parts[3..5].copy_from_slice(&len.to_be_bytes());
            parts.extend_from_slice(staples);
        };
        let (alert, sentence) = ended(&edit_client(&known(), with_staples).to_server.error);
        assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR), "{sentence}");
        assert!(sentence.contains(ANOTHER_CHAIN), "{sentence}");
        let (alert, sentence) = ended(&edit_server(&known(), with_staples).to_client.error);
        assert_ne!(alert, Some(AlertDescription::DECRYPT_ERROR), "{sentence}");
    }
}

#[test]
fn a_cached_certificate_that_is_malformed_is_a_bad_certificate() {
    let malformed: [(&str, Edit); 4] = [
        ("31 bytes", |parts| parts.truncate(36)),
        ("a byte after it", |parts| parts.push(0)),
        ("half a vector", |parts| parts.extend_from_slice(&[0, 1])),
        ("vectors without extensions", |parts| parts.extend_from_slice(&[0; 4])),
    ];
    for (what, edit) in malformed {
        let (by_client, by_server) = (edit_server(&known(), edit), edit_client(&known(), edit));
        for error in [&by_client.to_client.error, &by_server.to_server.error] {
            assert_eq!(alert(error), Some(AlertDescription::BAD_CERTIFICATE), "{what}");
        }
    }
}

#[test]
fn an_id_that_was_not_offered_is_an_illegal_parameter() {
    let other_id = |parts: &mut Vec<u8>| parts[1] ^= 1;
    let (by_client, by_server) = (edit_server(&known(), other_id), edit_client(&known(), other_id));
    for error in [&by_client.to_client.error, &by_server.to_server.error] {
        assert_eq!(alert(error), Some(AlertDescription::ILLEGAL_PARAMETER));
    }
}

#[test]
fn a_malformed_offer_of_tickets_is_refused() {
    let ends = Ends::new(Mode::Mutual);
    let ticket = [7; 8];
    let two_equal = [ticket, ticket].concat();
    for (body, expected) in [
        (&ticket[..1], AlertDescription::DECODE_ERROR),
        (&ticket, AlertDescription::DECODE_ERROR),
        (&two_equal[..15], AlertDescription::DECODE_ERROR),
        (&[&two_equal[..], &[0]].concat(), AlertDescription::DECODE_ERROR),
        (&[ticket, [8; 8], [9; 8]].concat(), AlertDescription::DECODE_ERROR),
        (&two_equal, AlertDescription::ILLEGAL_PARAMETER),
    ] {
        let mut pair = ends.start();
        let flight = edit_hello(&pair.intercept_client(), |hello| {
            hello.set(ExtensionType::CACHED_CERTIFICATES, body);
        });
        pair.deliver_to_server(&flight);
        assert_eq!(alert(&pair.to_server.error), Some(expected), "{} bytes", body.len());
    }
}

#[test]
fn an_answer_that_is_not_empty_is_refused() {
    let ends = Ends::new(Mode::Mutual);
    let mut pair = ends.start();
    pair.client_to_server();
    let flight = pair.intercept_server();
    let edited = rewrite(
        &flight,
        || ends.scene.server_sealers(),
        |message| {
            if message[0] == HandshakeType::ENCRYPTED_EXTENSIONS.0 {
                let at =
                    message.windows(4).position(|it| it == [0xff, 0x5c, 0, 0]).expect("an answer");
                message[at + 3] = 1;
                message.insert(at + 4, 0);
                message[5] += 1;
                message[3] += 1;
            }
        },
    );
    pair.deliver_to_client(&edited);
    assert_eq!(alert(&pair.to_client.error), Some(AlertDescription::DECODE_ERROR));
}

/// The client's certificate is no longer valid, and an attacker with its ticket must not learn that.
#[test]
fn a_server_conceals_why_it_refuses_a_cached_client() {
    for mut ends in Ends::of_both_known() {
        let refuses = Some(AlertDescription::CERTIFICATE_EXPIRED);
        ends.judge_clients_by(NamingVerifier { refuses, ..NamingVerifier::new("clients") });
        let mut pair = ends.start();
        pair.run();
        assert_eq!(hits_of(&pair), (true, true));
        let (alert, sentence) = ended(&pair.to_server.error);
        assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
        assert!(sentence.contains("tests"), "{sentence}");
    }
}

#[test]
fn a_client_sends_a_cached_server_the_reason_for_a_refusal() {
    let mut ends = known();
    let refuses = Some(AlertDescription::CERTIFICATE_REVOKED);
    ends.scene.client.verifier =
        Arc::new(NamingVerifier { refuses, ..NamingVerifier::new("servers") });
    let mut pair = ends.start();
    pair.run();
    assert_eq!(alert(&pair.to_client.error), Some(AlertDescription::CERTIFICATE_REVOKED));
}

/// A client with two certificates for one key: what stands for one is never taken for the other.
#[test]
fn two_certificates_over_one_key_are_distinguished() {
    let ends = known();
    // The null signature is valid under any certificate; so only the hash distinguishes the two.
    let mut other = ends.another_client(&[b'x'; 800]);
    other.connect();
    // The client announces one, and sends the hash of the other.
    let sha256 = tessera_aws_lc::provider().suites[0].hash;
    let sha256 =
        if sha256.len() == 32 { sha256 } else { tessera_aws_lc::provider().suites[1].hash };
    let message = {
        let list: Vec<u8> = [&[0, 3, 0x20][..], &[b'x'; 800], &[0, 2, 0x58], &[b'j'; 600]].concat();
        let len = |len: usize| (len as u32).to_be_bytes()[1..].to_vec();
        [&[11][..], &len(list.len() + 3), &len(list.len()), &list].concat()
    };
    let hash = sha256.hash(&message).as_ref().to_vec();
    let pair = edit_client(&ends, |parts| parts[5..37].copy_from_slice(&hash));
    let (alert, sentence) = ended(&pair.to_server.error);
    assert_eq!(alert, Some(AlertDescription::DECRYPT_ERROR));
    assert!(sentence.contains(ANOTHER_CHAIN), "{sentence}");
    // The hash is valid: the other client's own chain is accepted.
    other.scene.client.credentials = vec![chain(&[b'x'; 800], &[b'j'; 600])];
    let right = edit_client(&other, |parts| assert_eq!(parts[5..37], hash));
    assert!(right.to_server.complete);
}

/// The verifier's verdict is then about the expected chain, not the one that was named.
#[test]
fn a_client_reveals_nothing_else_to_a_server_that_names_another_chain() {
    let mut ends = known();
    let refuses = Some(AlertDescription::CERTIFICATE_REVOKED);
    ends.scene.client.verifier =
        Arc::new(NamingVerifier { refuses, ..NamingVerifier::new("servers") });
    let pair = edit_server(&ends, |parts| parts[5] ^= 1);
    assert_eq!(alert(&pair.to_client.error), Some(AlertDescription::DECRYPT_ERROR));
}
