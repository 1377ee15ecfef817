//! dimpl's association: mutual, with P-256 certificates, and a cookie.

use std::sync::Arc;
use std::time::Instant;

use dimpl::{Config, Dtls, DtlsCertificate, Output};
use tessera_interop::Identity;

use crate::Cost;

/// Both ends of an association.
pub struct DimplPair {
    client: Dtls,
    server: Dtls,
    buffer: Vec<u8>,
}

impl DimplPair {
    /// Runs a handshake, cookie included; returns its cost.
    #[must_use]
    pub fn connect([client, server]: [&Identity; 2]) -> (Self, Cost) {
        let config = Arc::new(Config::default());
        let mut cost = Cost::default();
        let certificate = |it: &Identity| DtlsCertificate {
            certificate: it.chain[0].clone(),
            private_key: it.key.clone(),
        };
        let (of_client, of_server) = (certificate(client), certificate(server));
        let client = Cost::time(&mut cost.client, || {
            let mut client = Dtls::new_13(config.clone(), of_client, Instant::now());
            client.set_active(true);
            client.handle_timeout(Instant::now()).expect("starts");
            client
        });
        let server = Cost::time(&mut cost.server, || {
            let mut server = Dtls::new_13(config.clone(), of_server, Instant::now());
            // It makes its random value then.
            server.handle_timeout(Instant::now()).expect("starts");
            server
        });
        let mut pair = Self { client, server, buffer: vec![0; 4096] };
        let mut connected = [false; 2];
        while pair.carry(&mut cost, &mut connected) {}
        assert_eq!(connected, [true; 2]);
        (pair, cost)
    }

    fn carry(&mut self, cost: &mut Cost, connected: &mut [bool; 2]) -> bool {
        let Self { client, server, buffer } = self;
        let from_client = Cost::time(&mut cost.client, || poll(client, buffer, &mut connected[0]));
        for datagram in &from_client.0 {
            Cost::time(&mut cost.server, || server.handle_packet(datagram).expect("no error"));
        }
        let from_server = Cost::time(&mut cost.server, || poll(server, buffer, &mut connected[1]));
        for datagram in &from_server.0 {
            Cost::time(&mut cost.client, || client.handle_packet(datagram).expect("no error"));
        }
        !(from_client.0.is_empty() && from_server.0.is_empty())
    }

    /// Sends so many records of this length from client to server; returns the cost.
    pub fn send(&mut self, data: &[u8], count: usize) -> Cost {
        let mut cost = Cost::default();
        let mut connected = true;
        for _ in 0..count {
            let Self { client, server, buffer } = self;
            let (datagrams, _) = Cost::time(&mut cost.client, || {
                client.send_application_data(data).expect("sends");
                poll(client, buffer, &mut connected)
            });
            let (_, got) = Cost::time(&mut cost.server, || {
                for datagram in &datagrams {
                    server.handle_packet(datagram).expect("no error");
                }
                poll(server, buffer, &mut connected)
            });
            assert_eq!(got, data.len());
        }
        cost
    }
}

/// Returns what an end sends now, and how many bytes of data it received.
fn poll(dtls: &mut Dtls, buffer: &mut [u8], connected: &mut bool) -> (Vec<Vec<u8>>, usize) {
    let (mut sent, mut received) = (Vec::new(), 0);
    loop {
        match dtls.poll_output(buffer) {
            Output::Packet(packet) => sent.push(packet.to_vec()),
            Output::Timeout(_) => return (sent, received),
            Output::Connected => *connected = true,
            Output::ApplicationData(data) => received += data.len(),
            _ => (),
        }
    }
}
