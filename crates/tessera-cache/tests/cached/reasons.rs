//! Why chains were sent in full, according to the facts of a connection.

use std::sync::Arc;

use tessera::Reply;
use tessera::Time;
use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::{ClientAuthentication, Facts};
use tessera::wire::SignatureScheme;
use tessera_cache::{Carrier, ClientCache, MissReason, PublicIds};
use tessera_harness::{Mode, Pair, at};
use tessera_pki::Authority;
use tessera_pki::rcgen::date_time_ymd;

use crate::{Ends, NamingVerifier, chain, hits_of};

/// Why a chain was sent in full; `None` if it wasn't, or wasn't sent.
pub(crate) type MissOutcome = Option<MissReason>;

/// Checks the reasons that the client reported for the client's chain and for the server's, and those of the
/// server.
#[track_caller]
pub(crate) fn assert_told(pair: &Pair, client: [MissOutcome; 2], server: [MissOutcome; 2]) {
    let told = |facts: &Facts| {
        [facts.own_certificate, facts.peer_certificate].map(|it| it.and_then(|it| it.missed))
    };
    let names = |words: [MissOutcome; 2]| words.map(|it| it.map(MissReason::name));
    assert_eq!(told(pair.client.facts()), names(client), "at the client");
    let [own, peer] = told(pair.server.facts());
    assert_eq!([peer, own], names(server), "at the server");
}

const NOTHING: MissOutcome = Some(MissReason::NothingCached);
const NO_PART: MissOutcome = Some(MissReason::TakesNoPart);
const ANOTHER: MissOutcome = Some(MissReason::AnotherChain);
const UNKNOWN: MissOutcome = Some(MissReason::UnknownTicket);

#[test]
fn a_first_contact_has_nothing_cached_and_what_is_cached_needs_no_reason() {
    for ends in [Mode::Mutual, Mode::Retry].into_iter().flat_map(Ends::of_both) {
        assert_told(&ends.connect(), [NOTHING; 2], [NOTHING; 2]);
        assert_told(&ends.connect(), [None; 2], [None; 2]);
    }
}

#[test]
fn a_server_that_knows_no_ticket_reports_that_to_its_client() {
    for mut ends in Ends::of_both_known() {
        ends.restart_server();
        assert_told(&ends.connect(), [UNKNOWN, None], [UNKNOWN, None]);
        // Without a clock it looks nothing up.
        let mut pair = ends.start();
        let flight = pair.intercept_client();
        pair.now = Time { unix: None, ..at(0) };
        pair.deliver_to_server(&flight);
        pair.now = at(0);
        pair.run();
        assert_told(&pair, [UNKNOWN, None], [UNKNOWN, None]);
        assert_eq!(ends.server.metrics().missed_unknown_ticket, 2);
    }
}

#[test]
fn another_chain_is_another_chain_at_both_ends() {
    for mut ends in Ends::of_both_known() {
        ends.scene.server.credentials = vec![chain(&[b't'; 900], &[b'i'; 700])];
        assert_told(&ends.connect(), [None, ANOTHER], [None, ANOTHER]);
        ends.scene.client.credentials = vec![chain(&[b'd'; 800], &[b'j'; 600])];
        let (client, server) = match ends.carrier {
            // On paper, a ticket is presented only with its chain available.
            Carrier::PAPER => (Some(MissReason::NoTicket), NOTHING),
            _ => (ANOTHER, ANOTHER),
        };
        assert_told(&ends.connect(), [client, None], [server, None]);
    }
}

#[test]
fn under_another_policy_the_server_names_it_and_the_client_has_nothing() {
    for mut ends in Ends::of_both_known() {
        ends.judge_clients_by(NamingVerifier::new("clients of a stricter server"));
        assert_told(&ends.connect(), [UNKNOWN, None], [Some(MissReason::Policy), None]);
        ends.scene.client.verifier = Arc::new(NamingVerifier::new("other servers"));
        assert_told(&ends.connect(), [NOTHING; 2], [NOTHING; 2]);
    }
}

#[test]
fn a_server_that_takes_no_part_is_named_once_it_is_known() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.scene.server.certificate_codecs.clear();
    assert_told(&ends.connect(), [NOTHING; 2], [None; 2]);
    assert_told(&ends.connect(), [NO_PART; 2], [None; 2]);
    // It did earlier: its chain is offered once, and tickets are presented until none is left.
    let mut ends = Ends::new(Mode::Mutual);
    ends.connect();
    ends.scene.server.certificate_codecs.clear();
    assert_told(&ends.connect(), [NO_PART, ANOTHER], [None; 2]);
    assert_told(&ends.connect(), [NO_PART; 2], [None; 2]);
}

#[test]
fn a_client_that_takes_no_part_is_named_at_once() {
    let mut ends = Ends::new(Mode::Mutual);
    ends.client_uses(Carrier::PAPER);
    assert_told(&ends.connect(), [NOTHING; 2], [NO_PART; 2]);
    ends.scene.client.certificate_codecs.clear();
    assert_told(&ends.connect(), [None; 2], [NO_PART; 2]);
    let metrics = ends.server.metrics();
    assert_eq!((metrics.sent_whole, metrics.missed_nothing_cached), (0, 0));
}

#[test]
fn a_server_that_is_offered_a_public_id_may_have_another_chain() {
    let mut ends = Ends::new(Mode::Mutual);
    let cache = ClientCache::new(&ends.scene.client.provider).expect("a cache");
    let cache = Arc::new(cache.with_public_ids(PublicIds::ObserversRecogniseChains));
    ends.scene.client.certificate_codecs = vec![cache];
    ends.scene.server.certificate_codecs.clear();
    assert_told(&ends.connect(), [NOTHING; 2], [None; 2]);
    // The client can't tell whether it reads ids.
    assert_told(&ends.connect(), [NO_PART, ANOTHER], [None; 2]);
}

#[test]
fn a_client_without_a_ticket_reports_that() {
    let mut ends = Ends::new(Mode::Mutual);
    let asking = ends.scene.server.client_authentication.clone();
    ends.scene.server.client_authentication = ClientAuthentication::None;
    assert_told(&ends.connect(), [None, NOTHING], [None, NOTHING]);
    ends.scene.server.client_authentication = asking;
    assert_told(&ends.connect(), [Some(MissReason::NoTicket), None], [NOTHING, None]);
}

/// In January 2027 both chains are valid; in 2030 both have expired, which this test's verifiers ignore.
#[test]
fn an_expired_chain_is_named_at_both_ends() {
    let leaf = Authority::new("root")
        .issue_with(&["client"], |params| params.not_after = date_time_ymd(2029, 1, 1))
        .der();
    for mut ends in Ends::of_both(Mode::Mutual) {
        ends.scene.client.credentials = vec![chain(&leaf, &[b'j'; 600])];
        ends.scene.client.verifier = Arc::new(ExpiringVerifier(NamingVerifier::new("servers")));
        ends.connect();
        let mut pair = ends.scene.start(None, at(3 * 366 * 24 * 3600));
        pair.run();
        assert!(pair.to_server.complete && hits_of(&pair) == (false, false));
        let expired = Some(MissReason::Expired);
        assert_told(&pair, [UNKNOWN, expired], [expired, NOTHING]);
    }
}

/// A verifier for which every accepted peer expires in 2029.
struct ExpiringVerifier(NamingVerifier);

impl PeerVerifier for ExpiringVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        self.0.schemes()
    }

    fn policy(&self) -> VerifierPolicy {
        self.0.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        match self.0.verify(question) {
            Reply::Now(Ok(PeerAcceptance { identity, .. })) => {
                let expires_at = Some(1_861_920_000);
                Reply::Now(Ok(PeerIdentity { expires_at, ..identity }.into()))
            }
            other => other,
        }
    }
}

/// No certificates are sent.
#[test]
fn a_resumption_needs_no_reason() {
    for mode in Mode::ALL.into_iter().filter(|mode| mode.resumes()) {
        let ends = Ends::new(mode);
        let session = ends.connect().to_client.sessions.pop();
        let pair = ends.resume(session);
        assert!(pair.server.facts().psk.is_some(), "{mode:?}");
        assert_told(&pair, [None; 2], [None; 2]);
    }
}
