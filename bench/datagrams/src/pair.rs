//! Our association: mutual, with pinned P-256 keys, and a cookie.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::face::{
    Arrival, DATAGRAM, HandshakeMessage, HelloPart, HelloReader, RetryState, write_retry,
};
use tessera::handshake::{Checked, ClientAuthentication, Handshake};
use tessera::resume::TicketKeys;
use tessera::wire::NamedGroup;
use tessera::{
    Association, AssociationOptions, ClientAssociation, ClientConfig, Destination, ReadEvent,
    ServerAssociation, ServerConfig, Time,
};
use tessera_aws_lc::SigningKey;
use tessera_vault::RotatingRing;
use tessera_webpki::{PinnedKey, PinnedKeyVerifier};

use crate::Cost;

/// The configurations of both ends.
pub struct Keys {
    /// The client's.
    pub client: Checked<ClientConfig>,
    /// The server's.
    pub server: Checked<ServerConfig>,
    /// For cookies.
    pub cookies: Arc<dyn TicketKeys>,
}

/// Returns the current time.
#[must_use]
pub fn now() -> Time {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    Time { monotonic: Duration::ZERO, unix }
}

impl Keys {
    /// Makes keys.
    #[must_use]
    pub fn new() -> Self {
        let provider = tessera_aws_lc::provider();
        let (client_key, server_key) = (key(), key());
        let verifier = |pinned: &(Credential, PinnedKey)| {
            Arc::new(PinnedKeyVerifier::new(vec![pinned.1.clone()]).expect("a key"))
        };
        let mut client = ClientConfig::new(provider, verifier(&server_key));
        let mut server = ServerConfig::new(provider, vec![server_key.0.clone()]);
        client.credentials = vec![client_key.0.clone()];
        server.client_authentication = ClientAuthentication::Required(verifier(&client_key));
        // What dimpl prefers.
        client.groups = vec![NamedGroup::X25519];
        server.groups = vec![NamedGroup::X25519];
        Self {
            client: client.checked().expect("it can work"),
            server: server.checked().expect("it can work"),
            cookies: Arc::new(RotatingRing::new(&provider)),
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self::new()
    }
}

fn key() -> (Credential, PinnedKey) {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random);
    let key = SigningKey::from_pkcs8(pkcs8.expect("a key").as_ref()).expect("a key");
    let public_key = key.public_key_info().expect("a key");
    let credential =
        Credential::raw_public_key(public_key.clone(), PrivateKey::Signs(Arc::new(key)));
    (credential, PinnedKey { public_key, name: "server.example".into() })
}

/// Both ends of an association.
pub struct DatagramPair {
    /// The client.
    pub client: ClientAssociation,
    /// The server.
    pub server: ServerAssociation,
}

impl DatagramPair {
    /// Runs a handshake, cookie included; returns its cost.
    #[must_use]
    pub fn connect(keys: &Keys) -> (Self, Cost) {
        let (now, mut cost) = (now(), Cost::default());
        let options = AssociationOptions::default;
        let destination =
            Destination { server_name: "server.example".into(), ..Destination::default() };
        let mut datagram = Vec::new();
        let mut client = Cost::time(&mut cost.client, || {
            let config = keys.client.clone();
            let mut client =
                ClientAssociation::start(config, destination, options(), now).expect("starts");
            client.transmit(now, &mut datagram);
            client
        });
        let retry = Cost::time(&mut cost.server, || {
            let hello = hello(&datagram);
            let hello = HandshakeMessage::split_from(&hello).expect("whole");
            let unix = now.unix.expect("a clock");
            let seal = |state: &[u8]| keys.cookies.seal_for(b"a", state, unix).expect("a key");
            let request = RetryState::request(&keys.server, &DATAGRAM, hello, seal);
            let mut retry = Vec::new();
            write_retry(&request.expect("a request"), &mut retry).expect("a message");
            retry
        });
        datagram.clear();
        Cost::time(&mut cost.client, || {
            read(&mut client, now, &mut retry.clone());
            client.transmit(now, &mut datagram);
        });
        let server = Cost::time(&mut cost.server, || {
            let hello = hello(&datagram);
            let hello = HandshakeMessage::split_from(&hello).expect("whole");
            let unix = now.unix.expect("a clock");
            let open = |cookie: &[u8]| keys.cookies.open_for(b"a", cookie, unix);
            let state = RetryState::of_cookie(&keys.server, &DATAGRAM, hello, open);
            let arrival = Arrival::default().after_retry(state.expect("ours").expect("a cookie"));
            let mut server = ServerAssociation::start(keys.server.clone(), arrival, options(), now)
                .expect("starts");
            read(&mut server, now, &mut datagram);
            server
        });
        let mut pair = Self { client, server };
        while pair.carry(&mut cost) {}
        assert!(pair.client.facts().handshake_complete && pair.server.facts().handshake_complete);
        (pair, cost)
    }

    /// Carries what both ends have to send; returns whether there was anything.
    fn carry(&mut self, cost: &mut Cost) -> bool {
        let now = now();
        let mut moved = false;
        let mut datagram = Vec::new();
        while Cost::time(&mut cost.server, || self.server.transmit(now, &mut datagram)) {
            moved = true;
            Cost::time(&mut cost.client, || read(&mut self.client, now, &mut datagram));
            datagram.clear();
        }
        while Cost::time(&mut cost.client, || self.client.transmit(now, &mut datagram)) {
            moved = true;
            Cost::time(&mut cost.server, || read(&mut self.server, now, &mut datagram));
            datagram.clear();
        }
        moved
    }

    /// Sends so many records of this length from client to server; returns the cost. `buffer` holds a datagram.
    pub fn send(&mut self, data: &[u8], count: usize, buffer: &mut Vec<u8>) -> Cost {
        let mut cost = Cost::default();
        for _ in 0..count {
            buffer.clear();
            Cost::time(&mut cost.client, || self.client.write(data, buffer).expect("writes"));
            let got = Cost::time(&mut cost.server, || read(&mut self.server, now(), buffer));
            assert_eq!(got, data.len());
        }
        cost
    }
}

fn hello(datagram: &[u8]) -> Vec<u8> {
    let part = HelloReader::default().read(datagram);
    let HelloPart::Whole { message: hello, .. } = part else { unreachable!("{part:?}") };
    hello
}

/// Reads a datagram; returns how many bytes of data it had.
///
/// # Panics
/// If the association fails.
pub fn read<H: Handshake>(
    association: &mut Association<H>,
    now: Time,
    datagram: &mut [u8],
) -> usize {
    let (mut consumed, mut data) = (0, 0);
    loop {
        let progress = association.read(now, &mut datagram[consumed..]).expect("no error");
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::NeedInput => return data,
            ReadEvent::Data(range) => data += range.len(),
            _ => (),
        }
    }
}
