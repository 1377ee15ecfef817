//! A face over packets: handshake messages by epoch between two ends in one process, as QUIC carries them.
//!
//! ```text
//! cargo run -p tessera-tls --example messages
//! ```
//!
//! Messages are cut into packets, which carry their epoch and are not protected: a face derives packet keys from the
//! secrets that `Below::install` receives (RFC 9001 §5.1, RFC 9147 §4.2).

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::Suite;
use tessera::face::{
    Arrival, Below, Carrier, Core, Direction, Epoch, Limit, Profile, Reassembly, STREAM,
    TrafficSecret,
};
use tessera::handshake::Handshake;
use tessera::wire::{ExtensionType, OpaqueExtension};
use tessera::{ClientConfig, Destination, ServerConfig, Time};
use tessera_aws_lc::SigningKey;
use tessera_webpki::{PinnedKey, PinnedKeyVerifier};

/// Where QUIC differs from TLS over a stream (RFC 9001 §4, §6, §8).
static PACKETS: Profile = Profile {
    carrier: Carrier(128),
    end_of_early_data: false,
    legacy_session_id: false,
    key_update: false,
    ..STREAM
};

/// quic_transport_parameters (RFC 9001 §8.2); the face interprets them.
const TRANSPORT_PARAMETERS: ExtensionType = ExtensionType(57);

fn main() -> Result<(), Box<dyn Error>> {
    let provider = tessera_aws_lc::provider();
    let pkcs8 =
        EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())?;
    let key = SigningKey::from_pkcs8(pkcs8.as_ref())?;
    let public_key = key.public_key_info().map_err(|_| "no public key")?;
    let credential =
        Credential::raw_public_key(public_key.clone(), PrivateKey::Signs(Arc::new(key)));
    let pinned = PinnedKey { public_key, name: "server.example".into() };
    let verifier = PinnedKeyVerifier::new(vec![pinned])?;
    let server = ServerConfig::new(provider, vec![credential]).checked()?;
    let client = ClientConfig::new(provider, Arc::new(verifier)).checked()?;

    let began = Instant::now();
    let destination = Destination {
        server_name: "server.example".into(),
        extensions: vec![parameters("of the client")],
        ..Destination::default()
    };
    let mut packets = Packets::default();
    let core = Core::client(client, destination, &PACKETS, now(began), &mut packets)?;
    let mut client = End { core, packets };
    // Each connection has its own parameters: the configuration is shared by all.
    let arrival = Arrival::default().with_extensions(vec![parameters("of the server")])?;
    let core = Core::server(server, arrival, &PACKETS, now(began));
    let mut server = End { core, packets: Packets::default() };

    while client.carry_to(&mut server, now(began))? | server.carry_to(&mut client, now(began))? {}

    let mut secrets = [[0; 16]; 2];
    client.core.export_keying_material(b"EXPORTER-example", b"", &mut secrets[0])?;
    server.core.export_keying_material(b"EXPORTER-example", b"", &mut secrets[1])?;
    assert_eq!(secrets[0], secrets[1], "both ends agree");
    for (name, facts, keys) in [
        ("client", client.core.facts(), &client.packets.keys),
        ("server", server.core.facts(), &server.packets.keys),
    ] {
        println!("{name}: keys of {keys:?}");
        let learned = facts.peer_extensions.first().ok_or("no transport parameters")?;
        let learned = String::from_utf8_lossy(&learned.contents);
        println!("{name}: {:?}, transport parameters {learned}", facts.suite);
    }
    Ok(())
}

fn parameters(contents: &str) -> OpaqueExtension {
    OpaqueExtension { typ: TRANSPORT_PARAMETERS, contents: contents.into() }
}

fn now(began: Instant) -> Time {
    let unix: Option<Duration> = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    Time { monotonic: began.elapsed(), unix }
}

/// One end: the core, and what carries its messages.
struct End<H: Handshake> {
    core: Core<H>,
    packets: Packets,
}

impl<H: Handshake> End<H> {
    /// Delivers this end's messages; returns whether there were any.
    fn carry_to<P: Handshake>(
        &mut self,
        peer: &mut End<P>,
        now: Time,
    ) -> Result<bool, tessera::Error> {
        let packets = std::mem::take(&mut self.packets.output);
        for (epoch, packet) in &packets {
            // The peer would get the alert in a packet, which this example omits.
            peer.receive(*epoch, packet, now).map_err(|error| peer.core.fail(error))?;
        }
        Ok(!packets.is_empty())
    }

    fn receive(&mut self, epoch: Epoch, packet: &[u8], now: Time) -> Result<(), tessera::Error> {
        let mut batch = self.packets.input.begin(packet);
        // Configurations whose traits answer at once raise no questions; otherwise `Core::question` returns one here.
        while !self.core.is_suspended() {
            let longest = self.core.max_message();
            let Some(message) = self.packets.input.next(&mut batch, longest)? else { break };
            self.core.message(epoch, message, now, &mut self.packets)?;
        }
        self.packets.input.end(batch)?;
        while let Some(event) = self.core.event() {
            // Keep the session of `Event::NewSession` for `Destination::session` of the next connection.
            drop(event);
        }
        Ok(())
    }
}

/// The carrier of one end's messages.
#[derive(Default)]
struct Packets {
    /// Parts of received messages.
    input: Reassembly,
    /// What to send.
    output: Vec<(Epoch, Vec<u8>)>,
    /// Where keys would be.
    keys: Vec<(Direction, Epoch)>,
}

/// Small, so that every ClientHello needs several.
const PACKET_LEN: usize = 500;

impl Below for Packets {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        self.output.extend(message.chunks(PACKET_LEN).map(|part| (epoch, part.to_vec())));
    }

    fn flight_ended(&self) -> Result<(), tessera::Error> {
        self.input.flight_ended()
    }

    fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        _suite: &'static Suite,
        _secret: TrafficSecret<'_>,
    ) -> Result<(), tessera::Error> {
        if direction == Direction::Read {
            self.input.flight_ended()?;
        }
        // Keys for `suite.aead` come from `secret.expose()`.
        self.keys.push((direction, epoch));
        Ok(())
    }

    /// QUIC has no KeyUpdate, as its profile states.
    fn update(&mut self, _: &[u8], _: &'static Suite, _: TrafficSecret<'_>) {}

    /// QUIC sends the second ClientHello in packets of the first epoch; nothing else to do for early data.
    fn withdraw_early_data(&mut self) {}

    /// A face that sends early data must respect `Limit::EarlyData`.
    fn limit(&mut self, _: Limit) {}
}
