//! Our connection over a stream, with the same keys.

use tessera::handshake::Handshake;
use tessera::{ClientConnection, Connection, Destination, Output, ReadEvent, ServerConnection};

use crate::{Cost, Keys, now};

/// Both ends of a connection.
pub struct StreamPair;

impl StreamPair {
    /// Runs a handshake; returns its cost.
    #[must_use]
    pub fn connect(keys: &Keys) -> Cost {
        let (now, mut cost) = (now(), Cost::default());
        let destination =
            Destination { server_name: "server.example".into(), ..Destination::default() };
        let (mut to_server, mut to_client) = (Output::new(), Output::new());
        let mut client = Cost::time(&mut cost.client, || {
            let config = keys.client.clone();
            ClientConnection::start(config, destination, now, &mut to_server).expect("starts")
        });
        let mut server =
            Cost::time(&mut cost.server, || ServerConnection::start(keys.server.clone(), now));
        while !to_server.is_empty() || !to_client.is_empty() {
            let mut bytes = take(&mut to_server);
            Cost::time(&mut cost.server, || read(&mut server, &mut bytes, &mut to_client));
            let mut bytes = take(&mut to_client);
            Cost::time(&mut cost.client, || read(&mut client, &mut bytes, &mut to_server));
        }
        assert!(client.facts().handshake_complete && server.facts().handshake_complete);
        cost
    }
}

fn take(output: &mut Output) -> Vec<u8> {
    let bytes = output.as_slice().to_vec();
    output.consume(bytes.len());
    bytes
}

fn read<H: Handshake>(connection: &mut Connection<H>, input: &mut [u8], output: &mut Output) {
    let mut consumed = 0;
    loop {
        let progress = connection.read(now(), &mut input[consumed..], output).expect("no error");
        consumed += progress.consumed;
        if matches!(progress.event, ReadEvent::NeedInput) {
            return;
        }
    }
}
