//! certificate_authorities (RFC 8446 §4.2.4) in both directions.

use tessera_interop::{CLIENT_NAME, Client, KeyKind, Pki, client, to};

use crate::{World, talk_and_close};

/// Of two certificates, the one of the authority that the server names.
#[test]
fn the_client_chooses_a_certificate_of_the_authority_that_s_server_names() {
    let (world, other) = (World::new(), Pki::new());
    let strict = ["-Verify", "1", "-verify_return_error", "-CAfile", &world.pki.ca_file];
    let (mut server, address) = world.server(&strict);
    let mut config = client(&world.pki);
    config.credentials =
        [&other, &world.pki].map(|pki| pki.client(KeyKind::P256).credential()).into();
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, &mut server);
    assert!(server.output().contains(CLIENT_NAME), "{}", server.output());
}

#[test]
fn s_server_receives_the_authority_that_the_client_names() {
    let world = World::new();
    let (mut server, address) = world.server(&["-trace"]);
    let mut config = client(&world.pki);
    config.verifier = world.pki.naming_verifier();
    let mut end = Client::start(&config, to(None), address);
    talk_and_close(&mut end, &mut server);
    server.says("extension_type=certificate_authorities(47)");
}
