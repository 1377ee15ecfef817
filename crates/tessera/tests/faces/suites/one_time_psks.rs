//! One-time PSKs, the symmetric kind of one-time key: only if both ends opted in.

use tessera::resume::{Ancestry, Continuation, Vault};
use tessera::wire::NamedGroup;
use tessera_harness::{EARLY_DATA, Mode, Scene, at};

use super::FACE;

fn scene() -> Scene {
    Scene::over(FACE, tessera_aws_lc::provider(), Mode::FsPsk)
}

#[test]
fn a_one_time_psk_carries_early_data_without_a_key_exchange() {
    let scene = scene();
    let mut pair = scene.pair();
    pair.run();
    assert_eq!(pair.to_client.early_data_accepted, Some(true));
    assert_eq!(pair.to_server.early_data, EARLY_DATA);
    for facts in [pair.client.facts(), pair.server.facts()] {
        assert_eq!(
            facts.one_time_key,
            Some(NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED)
        );
        assert_eq!(facts.continuation, Some(Continuation::PskKe));
        assert_eq!(facts.group, None);
        // That of the full handshake; a PSK changes nothing.
        assert_eq!(facts.ancestry, Some(Ancestry::PostQuantum));
    }
}

#[test]
fn a_client_that_did_not_opt_in_gets_no_one_time_psk() {
    let mut scene = scene();
    scene.client.policy.early_data.one_time_psks_forward_secret_only_if_deleted = false;
    let session = scene.session().expect("a session");
    assert!(session.forward_secret.is_none());
    assert_eq!(scene.vault.len(), 0);
}

#[test]
fn a_client_without_forward_secret_early_data_gets_no_one_time_psk() {
    let mut scene = scene();
    scene.client.policy.early_data.forward_secret = None;
    let session = scene.session().expect("a session");
    assert!(session.forward_secret.is_none());
}

#[test]
fn a_server_issues_no_one_time_psks_by_default() {
    let mut scene = scene();
    let guard = scene.server.policy.early_data.forward_secret.as_mut().expect("a guard");
    let default = tessera::resume::OneTimeKeyGuard::new(guard.vault.clone());
    assert!(!default.kinds.contains(&NamedGroup::ONE_TIME_PSK_FORWARD_SECRET_ONLY_IF_DELETED));
    guard.kinds = default.kinds;
    let session = scene.session().expect("a session");
    let ticket = session.forward_secret.expect("a ticket of another kind");
    assert_eq!(ticket.kind, NamedGroup::X25519MLKEM768);
}

#[test]
fn a_ticket_with_a_public_key_is_no_one_time_psk() {
    let scene = scene();
    let mut session = scene.session().expect("a session");
    session.forward_secret.as_mut().expect("a ticket").public = vec![1];
    let keys = scene.vault.len();
    let mut pair = scene.start(Some(session), at(0));
    pair.run();
    assert_eq!(pair.to_client.error, None);
    assert_eq!(pair.server.facts().one_time_key, None);
    assert_eq!(pair.to_server.early_data, b"");
    assert!(scene.vault.len() >= keys, "nothing was taken");
}
