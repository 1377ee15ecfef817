//! Replayable early data, with a register against replays.

use std::sync::Arc;

use tessera::ServerConfig;
use tessera::handshake::EarlyDataStatus;
use tessera::resume::{PskKind, ReplayGuard};
use tessera_harness::OneRegister;

use crate::{World, talk_and_close};

fn config(world: &World) -> ServerConfig {
    let mut config = world.config();
    config.policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
        register: Arc::new(OneRegister::default()),
        max_early_data_size: 16_384,
    });
    config
}

/// Returns the path of a session, and that of early data to come with it.
fn session_and_data(world: &World, config: &ServerConfig) -> (String, String) {
    let session = world.pki.directory.path("session.pem");
    let (mut client, mut server) = world.client(config, &["-sess_out", &session]);
    talk_and_close(&mut client, &mut server);
    client.says("Max Early Data: 16384");
    (session, world.pki.directory.write("early", "early data"))
}

#[test]
fn early_data_of_s_client_is_accepted_once() {
    let world = World::new();
    let config = config(&world);
    let (session, data) = session_and_data(&world, &config);
    let arguments = ["-sess_in", &session, "-early_data", &data];

    let (mut client, mut server) = world.client(&config, &arguments);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.told.early_data, b"early data");
    assert!(server.told.early_data_end);
    assert_eq!(server.facts().early_data, EarlyDataStatus::Accepted);
    client.says("Early data was accepted");

    // The session in the file again: its data must not be executed twice.
    let (mut client, mut server) = world.client(&config, &arguments);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.told.early_data, b"");
    assert_eq!(server.facts().psk, Some(PskKind::Resumption));
    client.says("Early data was rejected");
}

#[test]
fn early_data_of_s_client_is_rejected_without_a_register() {
    let world = World::new();
    let (session, data) = session_and_data(&world, &config(&world));
    let arguments = ["-sess_in", &session, "-early_data", &data];
    let (mut client, mut server) = world.client(&world.config(), &arguments);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.told.early_data, b"");
    assert_eq!(server.facts().psk, Some(PskKind::Resumption));
    client.says("Early data was rejected");
}

/// Without a PSK the early data can't be decrypted; it is skipped.
#[test]
fn early_data_of_s_client_is_rejected_with_a_ticket_of_another_scope() {
    let world = World::new();
    let mut config = config(&world);
    let (session, data) = session_and_data(&world, &config);
    config.scope = b"another".to_vec();
    let arguments = ["-sess_in", &session, "-early_data", &data];
    let (mut client, mut server) = world.client(&config, &arguments);
    talk_and_close(&mut client, &mut server);
    assert_eq!(server.told.early_data, b"");
    assert_eq!(server.facts().psk, None);
    client.says("Early data was rejected");
}

#[test]
fn early_data_of_s_client_is_rejected_by_a_hello_retry_request() {
    let world = World::new();
    let config = config(&world);
    let (session, data) = session_and_data(&world, &config);
    let arguments = ["-sess_in", &session, "-early_data", &data, "-groups", "P-521:P-256"];
    let (mut client, mut server) = world.client(&config, &arguments);
    talk_and_close(&mut client, &mut server);
    assert!(server.facts().hello_retry);
    assert_eq!(server.told.early_data, b"");
    client.says("Early data was rejected");
}

/// More than one record, accepted and rejected.
#[test]
fn early_data_of_s_client_in_many_records_is_accepted_and_rejected() {
    let world = World::new();
    let mut config = world.config();
    config.policy.early_data.replayable_without_forward_secrecy = Some(ReplayGuard {
        register: Arc::new(OneRegister::default()),
        max_early_data_size: 60_000,
    });
    let session = world.pki.directory.path("session.pem");
    let (mut client, mut server) = world.client(&config, &["-sess_out", &session]);
    talk_and_close(&mut client, &mut server);
    let data = world.pki.directory.write("early", "~".repeat(60_000));
    let arguments = ["-sess_in", &session, "-early_data", &data];
    for accepted in [60_000, 0] {
        let (mut client, mut server) = world.client(&config, &arguments);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.told.early_data.len(), accepted);
    }
    // Rejected with its ticket, and by a retry: it can't be decrypted.
    config.scope = b"another".to_vec();
    for groups in ["X25519", "P-521:X25519"] {
        let arguments = [&arguments[..], &["-groups", groups]].concat();
        let (mut client, mut server) = world.client(&config, &arguments);
        talk_and_close(&mut client, &mut server);
        assert_eq!(server.told.early_data, b"");
    }
}
