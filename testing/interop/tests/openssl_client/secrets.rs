//! Both sides derive the same secrets.

use std::sync::Arc;

use tessera_interop::{KeyLines, hex};

use crate::{World, talk_and_close};

#[test]
fn s_client_and_server_export_the_same_keying_material() {
    let world = World::new();
    let exporter = ["-keymatexport", "EXPORTER-interop", "-keymatexportlen", "32"];
    let (mut client, mut server) = world.client(&world.config(), &exporter);
    let exported = hex(&server.handshake().export("EXPORTER-interop")).to_uppercase();
    talk_and_close(&mut client, &mut server);
    client.says(&format!("Keying material: {exported}"));
}

#[test]
fn s_client_and_server_log_the_same_secrets() {
    let world = World::new();
    let file = world.pki.directory.path("keys");
    let lines = Arc::new(KeyLines::default());
    let mut config = world.config();
    config.key_log = Some(lines.clone());
    let (mut client, mut server) = world.client(&config, &["-keylogfile", &file]);
    talk_and_close(&mut client, &mut server);
    let theirs = std::fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().len(), 5);
    assert!(lines.lines().iter().all(|line| theirs.contains(line)), "{theirs}");
}
