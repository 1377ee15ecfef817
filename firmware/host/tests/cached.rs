//! The client of the image with caches: it knows a server's chain the second time.
#![cfg(feature = "cached")]

use tessera::handshake::Checked;
use tessera::{ClientConfig, ClientConnection, Error, Output, ServerConfig, ServerConnection};
use tessera_firmware_host::chains::CHAINS;
use tessera_firmware_host::connection::{Input, Progress, read};
use tessera_firmware_host::ends;

#[test]
fn chains_of_one_to_four_certificates_are_known_again() -> Result<(), Error> {
    for chain in CHAINS {
        let (client, server) = (chain.client().checked()?, chain.server()?.checked()?);
        let whole = certificate_len(&client, &server)?;
        assert!(whole > 400 * chain.count() as u32, "{whole}");
        for _ in 0..2 {
            assert_eq!(certificate_len(&client, &server)?, 44);
        }
    }
    Ok(())
}

/// Connects; returns how long the server's Certificate was.
fn certificate_len(
    client: &Checked<ClientConfig>,
    server: &Checked<ServerConfig>,
) -> Result<u32, Error> {
    let (mut to_server, mut to_client) = (Output::new(), Output::new());
    let to = ends::destination();
    let mut client = ClientConnection::start(client.clone(), to, ends::NOW, &mut to_server)?;
    let mut server = ServerConnection::start(server.clone(), ends::NOW);
    let (mut at_client, mut at_server) = (Input::new(), Input::new());
    let (mut client_is, mut server_is) = (Progress::default(), Progress::default());
    while !to_server.is_empty() || !to_client.is_empty() {
        at_server.take_from(&mut to_server);
        read(&mut server, &mut at_server, &mut to_client, &mut server_is)?;
        at_client.take_from(&mut to_client);
        read(&mut client, &mut at_client, &mut to_server, &mut client_is)?;
    }
    assert!(client_is.is_complete && server_is.is_complete);
    Ok(client.facts().peer_certificate.expect("the server has a chain").len)
}
