//! certificate_authorities (RFC 8446 §4.2.4) in both directions.

use tessera::handshake::ClientAuthentication;
use tessera_interop::{KeyKind, Pki};

use crate::{World, talk_and_close};

#[test]
fn s_client_receives_the_servers_authorities_if_the_server_names_them() {
    let world = World::new();
    let identity = world.pki.client(KeyKind::P256);
    for naming in [true, false] {
        let mut config = world.config();
        let verifier = if naming { world.pki.naming_verifier() } else { world.pki.verifier() };
        config.client_authentication = ClientAuthentication::Required(verifier);
        let (mut client, mut server) = world.client(&config, &identity.arguments());
        talk_and_close(&mut client, &mut server);
        assert!(server.facts().peer.is_some());
        if naming {
            client.says("Acceptable client certificate CA names").says(&world.pki.name);
        } else {
            client.says("No client certificate CA names sent");
        }
    }
}

/// Of two certificates, the one of the authority that the client names.
#[test]
fn the_server_chooses_a_certificate_of_the_authority_that_s_client_names() {
    let (world, other) = (World::new(), Pki::new());
    let mut config = world.config();
    config.credentials.insert(0, other.server(KeyKind::P256).credential());
    let naming = ["-requestCAfile", &world.pki.ca_file];
    let (mut client, mut server) = world.client(&config, &naming);
    talk_and_close(&mut client, &mut server);
    client.says("Verify return code: 0 (ok)");
}
