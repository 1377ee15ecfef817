//! An OCSP response and SCTs from Tessera's server.

use tessera::ServerConfig;
use tessera_interop::Server;
use tessera_test_peers::Process;

use crate::{World, talk_and_close};

/// An OCSPResponse (RFC 6960 §4.2.1): malformedRequest, without more.
const OCSP: &[u8] = &[0x30, 3, 0x0a, 1, 1];

/// Returns a list with one SCT (RFC 6962 §3.2): version 1, log and time, no extensions, and a signature that is none.
fn sct_list() -> Vec<u8> {
    let mut sct = vec![0];
    sct.extend([7; 32]);
    sct.extend([0, 0, 1, 0x80, 0, 0, 0, 0]);
    sct.extend([0, 0]);
    sct.extend([4, 3, 0, 2, 8, 8]);
    let len = sct.len() as u8;
    [&[0, len + 2, 0, len], &sct[..]].concat()
}

/// Starts s_client, which requests both, and knows no log.
fn asking(world: &World, config: &ServerConfig) -> (Process, Server) {
    let logs = world.pki.directory.write("logs.cnf", "enabled_logs=\n");
    world.client(config, &["-status", "-ct", "-ctlogfile", &logs])
}

#[test]
fn s_client_gets_the_ocsp_response_that_it_asks_for() {
    let world = World::new();
    let mut config = world.config();
    config.credentials[0].ocsp_response = Some(OCSP.into());
    let (mut client, mut server) = world.client(&config, &["-status"]);
    talk_and_close(&mut client, &mut server);
    client.says("OCSP Response Status: malformedrequest (0x1)");
}

/// Without an OCSP response: s_client would look for SCTs in it, and there is nothing in this one.
#[test]
fn s_client_gets_the_scts_that_it_asks_for() {
    let world = World::new();
    let mut config = world.config();
    config.credentials[0].sct_list = Some(sct_list());
    let (mut client, mut server) = asking(&world, &config);
    talk_and_close(&mut client, &mut server);
    client.says("SCTs present (1)");
    client.says("Log ID    : 07:07:07:07:07:07:07:07");
}

#[test]
fn s_client_gets_no_staples_that_it_does_not_ask_for() {
    let world = World::new();
    let mut config = world.config();
    config.credentials[0].ocsp_response = Some(OCSP.into());
    config.credentials[0].sct_list = Some(sct_list());
    let (mut client, mut server) = world.client(&config, &[]);
    // An unrequested extension would end the handshake.
    talk_and_close(&mut client, &mut server);
    assert!(!client.output().contains("OCSP Response Status"));
}

#[test]
fn s_client_asks_for_staples_and_the_server_has_none() {
    let world = World::new();
    let (mut client, mut server) = asking(&world, &world.config());
    talk_and_close(&mut client, &mut server);
    client.says("OCSP response: no response sent");
    client.says("SCTs present (0)");
}
