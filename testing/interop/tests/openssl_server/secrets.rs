//! Both sides derive the same secrets.

use std::sync::Arc;

use tessera_interop::{Client, KeyLines, client, hex, to};

use crate::{World, talk_and_close};

#[test]
fn s_server_and_client_export_the_same_keying_material() {
    let world = World::new();
    let (mut server, address) =
        world.server(&["-keymatexport", "EXPORTER-interop", "-keymatexportlen", "32"]);
    let mut end = Client::start(&client(&world.pki), to(None), address);
    let exported = hex(&end.handshake().export("EXPORTER-interop")).to_uppercase();
    talk_and_close(&mut end, &mut server);
    server.says(&format!("Keying material: {exported}"));
}

#[test]
fn s_server_and_client_log_the_same_secrets() {
    let world = World::new();
    let file = world.pki.directory.path("keys");
    let (mut server, address) = world.server(&["-keylogfile", &file, "-early_data"]);
    let lines = Arc::new(KeyLines::default());
    let mut config = client(&world.pki);
    config.key_log = Some(lines.clone());
    config.policy.early_data.replayable_without_forward_secrecy = true;
    let mut first = Client::start(&config, to(None), address);
    talk_and_close(&mut first, &mut server);
    let session = first.told.sessions.pop();
    let mut second = Client::start_early(&config, to(session), address, b"early");
    talk_and_close(&mut second, &mut server);

    let ours = lines.lines();
    // Five of each connection, and that of the early data.
    assert_eq!(ours.len(), 11);
    let theirs = std::fs::read_to_string(&file).unwrap();
    // OpenSSL's server does not log the secret of early data.
    for line in ours.iter().filter(|line| !line.starts_with("CLIENT_EARLY")) {
        assert!(theirs.contains(line), "{line} is not in\n{theirs}");
    }
}
