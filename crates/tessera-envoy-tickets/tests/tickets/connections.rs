//! Two servers of a pool and a client: the engine's own checks apply to sessions of other servers.

use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::ClientAuthentication;
use tessera::resume::{Ancestry, ClientSession, PskKind};
use tessera_aws_lc::provider;
use tessera_envoy_tickets::{EnvoyTickets, Pool, SessionContext};
use tessera_harness::{EARLY_DATA, Mode, Pair, SERVER_NAME, Scene, UnsealedTickets, at};
use tessera_null_provider::NullVerifier;

use super::pool::key;

fn scene(mode: Mode) -> Scene {
    let mut scene = Scene::new(provider(), mode);
    let pool = Pool::new(SessionContext([7; 32]), vec![SERVER_NAME.into()]);
    let tickets = EnvoyTickets::new(pool, Arc::new(UnsealedTickets));
    tickets.install(vec![key(1)]).unwrap();
    scene.server.tickets = Some(Arc::new(tickets));
    scene
}

fn is_of_the_pool(session: &ClientSession) -> bool {
    session.ticket.starts_with(key(1).name())
}

fn come_back(scene: &Scene, session: ClientSession, seconds: u64) -> Pair {
    let mut pair = scene.start(Some(session), at(seconds));
    pair.run();
    assert_eq!((&pair.to_client.error, &pair.to_server.error), (&None, &None));
    pair
}

#[test]
fn a_client_resumes_without_end_in_the_pools_form() {
    let scene = scene(Mode::PskDhe);
    let mut session = scene.session().unwrap();
    for round in 1..4 {
        assert!(is_of_the_pool(&session));
        let mut pair = come_back(&scene, session, round);
        assert_eq!(pair.server.facts().psk, Some(PskKind::Resumption));
        // Each exchange was hybrid, but a ticket doesn't prove it.
        assert_eq!(pair.server.facts().ancestry, Some(Ancestry::Classical));
        session = pair.to_client.sessions.pop().unwrap();
    }
}

#[test]
fn an_expired_ticket_or_chain_costs_a_full_handshake() {
    let scene = scene(Mode::PskDhe);
    let mut sessions = scene.sessions();
    let lifetime = scene.server.ticket_lifetime.as_secs();
    let psk = |session, seconds| come_back(&scene, session, seconds).server.facts().psk;
    assert_eq!(psk(sessions.pop().unwrap(), lifetime - 1), Some(PskKind::Resumption));
    let mut short = scene.clone();
    short.server.policy.max_authentication_age = Duration::from_secs(10);
    let psk = come_back(&short, sessions.pop().unwrap(), 11).server.facts().psk;
    assert_eq!(psk, None, "the chain is too long");
}

#[test]
fn a_session_of_the_pool_is_nothing_where_a_certificate_is_required() {
    let mut scene = scene(Mode::PskDhe);
    let session = scene.session().unwrap();
    let verifier = Arc::new(NullVerifier);
    scene.client.credentials = vec![tessera_harness::credential()];
    scene.server.client_authentication = ClientAuthentication::Required(verifier);
    let mut pair = come_back(&scene, session, 1);
    assert_eq!(pair.server.facts().psk, None);
    // Nor does a client with a certificate get such a ticket.
    assert!(!is_of_the_pool(&pair.to_client.sessions.pop().unwrap()));
}

#[test]
fn tickets_with_early_data_keep_our_form() {
    for mode in [Mode::Replayable, Mode::FsDhe] {
        let scene = scene(mode);
        let session = scene.session().unwrap();
        assert!(!is_of_the_pool(&session));
        let pair = come_back(&scene, session, 1);
        assert_eq!(pair.to_server.early_data, EARLY_DATA);
    }
}
