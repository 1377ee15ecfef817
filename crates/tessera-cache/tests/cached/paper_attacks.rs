//! The carrier paper: what attackers can learn and break, with copied tickets and with arbitrary bytes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tessera::handshake::ClientAuthentication;
use tessera::wire::{AlertDescription, ExtensionType, HandshakeType};
use tessera_harness::rewrite;

use crate::paper_refusals::{change, of_client, of_server};
use crate::{CACHED_INFO, Ends, NamingVerifier, TICKETS, alert, edit_hello, in_hello};

/// Returns how a server answers a client's ticket with this content: its alert, and how much it sent in all.
fn steal(
    edit: impl Fn(&mut Vec<u8>),
    refuses: Option<AlertDescription>,
) -> (AlertDescription, usize) {
    let mut ends = Ends::known_on_paper();
    let clients = Arc::new(NamingVerifier { refuses, ..NamingVerifier::new("clients") });
    ends.scene.server.client_authentication = ClientAuthentication::Required(clients);
    let mut pair = ends.start();
    pair.client_to_server();
    pair.server_to_client();
    let flight = pair.intercept_client();
    let forged = rewrite(
        &flight,
        || ends.scene.client_sealers(),
        |message| {
            change(message, HandshakeType::CERTIFICATE, &|_, body| edit(body));
            // Without the owner's key.
            let forge = |_: &mut _, body: &mut Vec<u8>| body[4..].fill(0xaa);
            change(message, HandshakeType::CERTIFICATE_VERIFY, &forge);
        },
    );
    pair.deliver_to_server(&forged);
    assert_eq!(ends.server.metrics().entries, 1, "a stranger empties the cache");
    (alert(&pair.to_server.error).expect("a refusal"), pair.server_sent.len())
}

/// Whether the hash is right, what accompanies it, and why the verifier refuses makes no difference: the
/// answer is the same.
#[test]
fn on_paper_an_attacker_with_a_copied_ticket_gets_the_same_answer_to_any_guess() {
    let mut answers = BTreeSet::new();
    let verdicts = [
        None,
        Some(AlertDescription::CERTIFICATE_EXPIRED),
        Some(AlertDescription::CERTIFICATE_REVOKED),
        Some(AlertDescription::ILLEGAL_PARAMETER),
    ];
    for wrong in [0, 1] {
        for staples in [
            &[][..],
            &[0, 4, 0, 18, 0, 0],
            &[0, 4, 0, 18, 0, 0, 0, 0],
            &[0, 3, 0, 5, 0, 0, 0],
            &[0, 0, 0, 5, 0, 5, 0, 1, 1],
        ] {
            for refuses in verdicts {
                let edit = |body: &mut Vec<u8>| {
                    body[32] ^= wrong;
                    body.extend_from_slice(staples);
                };
                let (alert, sent) = steal(edit, refuses);
                answers.insert((alert.0, sent));
            }
        }
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|(alert, _)| *alert == AlertDescription::DECRYPT_ERROR.0));
}

/// Changes bytes, reproducibly from a seed.
struct Mutator(u64);

impl Mutator {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as usize % end.max(1)
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let (at, byte) = (self.below(bytes.len()), self.below(256) as u8);
            match self.below(9) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 => bytes.extend((0..self.below(40)).map(|_| byte)),
                // A list of extensions of one certificate.
                3 => bytes.extend_from_slice(&[0, 2, byte, 0]),
                // Lengths, types and indices are mostly at the beginning.
                4 | 5 if !bytes.is_empty() => {
                    let at = self.below(bytes.len().min(8));
                    bytes[at] = [0, 1, 2, 3, 31, 32, 33, 0x7f, 0xff][self.below(9)];
                }
                6 if !bytes.is_empty() => drop(bytes.remove(at)),
                7 if !bytes.is_empty() => bytes[at] = byte,
                _ if !bytes.is_empty() => bytes[at] ^= 1 << (byte % 8),
                _ => (),
            }
        }
    }
}

/// The bytes of a message before and after.
type EditLog = Mutex<(Vec<u8>, Vec<u8>)>;

const DECODE_ERROR: AlertDescription = AlertDescription::DECODE_ERROR;
const DECRYPT_ERROR: AlertDescription = AlertDescription::DECRYPT_ERROR;
const ILLEGAL: AlertDescription = AlertDescription::ILLEGAL_PARAMETER;
const UNSUPPORTED: AlertDescription = AlertDescription::UNSUPPORTED_EXTENSION;

fn attack(seed: u64, rounds: usize) {
    let ends = Ends::known_on_paper();
    let mutator = Mutex::new(Mutator(seed));
    for round in 0..rounds {
        let edited = EditLog::default();
        let mutate = |body: &mut Vec<u8>| {
            let before = body.clone();
            mutator.lock().expect("a lock").mutate(body);
            *edited.lock().expect("a lock") = (before, body.clone());
        };
        let message = |_: &mut HandshakeType, body: &mut Vec<u8>| mutate(body);
        let (typ, alert) = match round % 6 {
            0 => (HandshakeType::CERTIFICATE, alert(&of_client(&ends, message))),
            at @ (1 | 2) => {
                let typ = [HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST][at - 1];
                (typ, of_server(&ends, typ, message))
            }
            3 => {
                let typ = HandshakeType::ENCRYPTED_EXTENSIONS;
                (typ, of_server(&ends, typ, message))
            }
            at => (
                HandshakeType::CLIENT_HELLO,
                of_hello(&ends, [CACHED_INFO, TICKETS][at - 4], mutate),
            ),
        };
        let (before, after) = edited.into_inner().expect("a lock");
        let what = || format!("{seed}, {round}: {typ:?} {after:02x?}: {alert:?}");
        match (round % 6, alert) {
            _ if before == after => assert_eq!(alert, None, "{}", what()),
            (0, alert) => {
                let expected = if is_abbreviated(&after) { DECRYPT_ERROR } else { DECODE_ERROR };
                assert_eq!(alert, Some(expected), "{}", what());
            }
            (1 | 2, Some(DECODE_ERROR)) => (),
            (1 | 2, Some(alert)) => {
                assert!(is_abbreviated(&after), "{}", what());
                let is_offered = after.get(1..33) == before.get(1..33);
                assert_eq!(alert == ILLEGAL, !is_offered, "{}", what());
            }
            (3, Some(DECODE_ERROR | ILLEGAL | UNSUPPORTED | DECRYPT_ERROR)) => (),
            // Without the server's selection, its messages can't be parsed.
            (3, Some(AlertDescription::UNEXPECTED_MESSAGE)) => (),
            // The server continues, and the client's Finished will not match.
            (4 | 5, None | Some(DECODE_ERROR | ILLEGAL)) => (),
            _ => panic!("{}", what()),
        }
        assert_eq!((ends.server.metrics().entries, ends.client.metrics().entries), (1, 1));
        let again = (0..5).position(|_| ends.hits() == (true, true));
        assert!(again.is_some_and(|again| again <= 2), "{again:?}: {}", what());
    }
}

/// Whether the bytes in themselves are well-formed, decided without the code under test.
fn is_abbreviated(body: &[u8]) -> bool {
    let [32, rest @ ..] = body else { return false };
    let Some((_, mut staples)) = rest.split_at_checked(32) else { return false };
    let (none, mut any) = (staples.is_empty(), false);
    while let Some(([a, b], rest)) = staples.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([*a, *b]));
        any |= len > 0;
        match rest.split_at_checked(len) {
            Some((_, rest)) => staples = rest,
            None => return false,
        }
    }
    staples.is_empty() && (none || any)
}

/// Returns the alert of a server after a change to the client's extension.
fn of_hello(
    ends: &Ends,
    typ: ExtensionType,
    mutate: impl Fn(&mut Vec<u8>),
) -> Option<AlertDescription> {
    let mut pair = ends.start();
    let mut body = in_hello(&pair, typ).expect("an extension");
    mutate(&mut body);
    let flight = edit_hello(&pair.intercept_client(), |hello| hello.set(typ, &body));
    pair.deliver_to_server(&flight);
    alert(&pair.to_server.error)
}

#[test]
fn mutated_messages_on_paper_are_refused_as_what_they_are() {
    attack(1, 300);
}

#[test]
#[ignore = "takes minutes"]
fn a_million_mutated_messages_on_paper_are_refused_as_what_they_are() {
    (2..12).for_each(|seed| attack(seed, 100_000));
}
