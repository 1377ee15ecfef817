//! Changes between an offer and its use: of caches, of rings, and of the time of an answer.

use std::sync::Arc;

use tessera::auth::{PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer};
use tessera::handshake::ServerQuestion;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera::{Error, Reply};
use tessera_cache::{Carrier, ClientCache, ServerCache};
use tessera_harness::{Mode, Pair, at, records};

use crate::fleet::{key, ring};
use crate::refused::{REVOKED, offers};
use crate::{Ends, NamingVerifier, alert, hits_of};

/// A verifier that answers later.
struct Later(NamingVerifier);

impl PeerVerifier for Later {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        self.0.policy()
    }

    fn verify(&self, _: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        Reply::Later
    }

    fn is_proof_right(&self, question: &VerifyPeer) -> bool {
        self.0.is_proof_right(question)
    }
}

/// Makes a connection whose client is judged after `meanwhile`.
fn connect_later(ends: &Ends, refuses: Option<AlertDescription>, meanwhile: impl Fn()) -> Pair {
    let mut pair = ends.start();
    pair.run();
    let question = pair.server_questions.pop();
    let Some(ServerQuestion::VerifyPeer(asked)) = question else { panic!("it asks") };
    meanwhile();
    let judge = NamingVerifier { refuses, ..NamingVerifier::new("clients") };
    let Reply::Now(answer) = judge.verify(&asked.question) else { panic!("it answers") };
    let _ = pair.server.answer(asked.token, answer, pair.now, &mut pair.server_output);
    pair.deliver_to_server(&[]);
    pair.run();
    pair
}

/// Whatever happens to the cache until then.
#[test]
fn clients_that_are_judged_later_are_cached() {
    for mut ends in Ends::of_both(Mode::Mutual) {
        ends.judge_clients_by(Later(NamingVerifier::new("clients")));
        assert_eq!(hits_of(&connect_later(&ends, None, || ())), (false, false));
        let nothing: &dyn Fn() = &|| ();
        let changes =
            [nothing, &|| ends.server.clear(), &|| ends.server.retain_policies(&[]), nothing];
        for change in changes {
            let pair = connect_later(&ends, None, change);
            assert_eq!(hits_of(&pair), (true, true), "{:?}", ends.carrier);
            assert!(pair.to_client.complete && pair.to_server.complete);
            assert_eq!(ends.server.metrics().entries, 1);
        }
        let mut told = Vec::new();
        for _ in 0..2 {
            let pair = connect_later(&ends, Some(REVOKED), || ());
            told.push((offers(&ends, &pair), pair.to_client.error));
        }
        let heard = |alert| Some(Error::AlertReceived(alert));
        let first = ((true, true), heard(AlertDescription::DECRYPT_ERROR));
        assert_eq!(told, [first, ((false, false), heard(REVOKED))], "{:?}", ends.carrier);
    }
}

/// Its key is removed between the two ClientHellos.
#[test]
fn a_fleet_ticket_whose_key_goes_while_the_client_retries_is_a_miss() {
    let ring = ring();
    let ends = Ends::of_fleet(Mode::Retry, ring.clone());
    ends.connect();
    ends.only_fleet_tickets_are_left();
    let mut pair = ends.start();
    pair.client_to_server();
    ring.install(vec![key()], at(0).unix.expect("a clock")).expect("a key");
    pair.run();
    assert!(pair.client.facts().hello_retry);
    assert!(pair.to_client.complete && pair.to_server.complete);
    assert_eq!(hits_of(&pair), (true, false));
    assert_eq!(ends.hits(), (true, true));
}

/// Makes a ServerHello or a HelloRetryRequest that answers, in a record.
fn answering(record: &[u8]) -> Vec<u8> {
    let mut message = record[5..].to_vec();
    // After the version, the random, the session's id, suite and compression.
    let list = 4 + 2 + 32 + 1 + usize::from(message[4 + 2 + 32]) + 2 + 1;
    let len = u16::from_be_bytes([message[list], message[list + 1]]) + 4;
    message[list..list + 2].copy_from_slice(&len.to_be_bytes());
    message.extend_from_slice(&[0xff, 0x5c, 0, 0]);
    let body = (message.len() - 4) as u32;
    message[1..4].copy_from_slice(&body.to_be_bytes()[1..]);
    let len = (message.len() as u16).to_be_bytes();
    [&[22, 3, 3][..], &len, &message].concat()
}

#[test]
fn an_answer_that_comes_too_early_is_an_illegal_parameter() {
    for mode in [Mode::Mutual, Mode::Retry] {
        let ends = Ends::new(mode);
        let mut pair = ends.start();
        pair.client_to_server();
        let mut flight = records(&pair.intercept_server());
        flight[0] = answering(&flight[0]);
        pair.deliver_to_client(&flight.concat());
        let told = alert(&pair.to_client.error);
        assert_eq!(told, Some(AlertDescription::ILLEGAL_PARAMETER), "{mode:?}");
    }
}

/// With two caches an id would be ambiguous.
#[test]
fn a_configuration_has_one_cache() {
    let mut ends = Ends::new(Mode::Mutual);
    let provider = ends.scene.server.provider;
    let server = || ServerCache::new(&provider).expect("a cache");
    let client = ClientCache::new(&provider).expect("a cache");
    let of_paper = Arc::new(server().with_carrier(Carrier::PAPER));
    ends.scene.server.certificate_codecs = vec![ends.server.clone(), of_paper];
    assert!(ends.scene.server.clone().checked().is_err());
    ends.scene.server.certificate_codecs = vec![Arc::new(server()), Arc::new(client)];
    assert!(ends.scene.server.clone().checked().is_err());
}
