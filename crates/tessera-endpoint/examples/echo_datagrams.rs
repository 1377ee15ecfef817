//! A DTLS 1.3 server that sends back what it receives, and a client that asks it, over blocking UDP sockets.
//!
//! ```text
//! cargo run -p tessera-endpoint --example echo_datagrams
//! ```

use std::error::Error;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::{
    AssociationOptions, ClientAssociation, ClientConfig, Destination, Event, ReadEvent,
    ServerConfig, Time,
};
use tessera_aws_lc::SigningKey;
use tessera_endpoint::{Endpoint, EndpointOptions, Path, Route};
use tessera_vault::RotatingRing;
use tessera_webpki::{PinnedKey, PinnedKeyVerifier};

type Failure = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let provider = tessera_aws_lc::provider();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &SystemRandom::new())
        .map_err(|_| "no key")?;
    let key = SigningKey::from_pkcs8(pkcs8.as_ref())?;
    let public_key = key.public_key_info().map_err(|_| "no public key")?;
    let credential =
        Credential::raw_public_key(public_key.clone(), PrivateKey::Signs(Arc::new(key)));
    let pinned = PinnedKey { public_key, name: "server.example".into() };

    let mut server = ServerConfig::new(provider, vec![credential]);
    server.tickets = Some(Arc::new(RotatingRing::new(&provider)));
    // Cookies have keys of their own, which a fleet would share and replace more often.
    let cookies = Arc::new(RotatingRing::new(&provider));
    let endpoint = Endpoint::new(server.checked()?, cookies, EndpointOptions::default());
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let address = socket.local_addr()?;
    thread::spawn(move || serve(endpoint, &socket).inspect_err(|error| eprintln!("{error}")));

    let verifier = PinnedKeyVerifier::new(vec![pinned])?;
    let client = ClientConfig::new(provider, Arc::new(verifier)).checked()?;
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(address)?;
    let destination =
        Destination { server_name: "server.example".into(), ..Destination::default() };
    let clock = Clock(Instant::now());
    let options = AssociationOptions::default();
    let mut association = ClientAssociation::start(client, destination, options, clock.now())?;
    let (mut buffer, mut datagram) = (vec![0; 2048], Vec::new());
    let mut asks = false;
    loop {
        while association.transmit(clock.now(), &mut datagram) {
            socket.send(&datagram)?;
            datagram.clear();
        }
        // After the last flight: a server can't read data that overtakes it.
        if std::mem::take(&mut asks) {
            association.write(b"hello over datagrams", &mut datagram)?;
            socket.send(&datagram)?;
            datagram.clear();
        }
        let now = clock.now();
        if association.deadline().is_some_and(|deadline| deadline <= now.monotonic) {
            association.handle_timeout(now)?;
            continue;
        }
        socket.set_read_timeout(Some(clock.until(association.deadline())))?;
        let Some(len) = received(socket.recv(&mut buffer))? else { continue };
        let mut consumed = 0;
        loop {
            let progress = association.read(clock.now(), &mut buffer[consumed..len])?;
            let begin = consumed;
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Handshake(Event::HandshakeComplete) => asks = true,
                ReadEvent::Data(range) => {
                    let data = &buffer[begin..][range];
                    println!("the server sent back: {}", String::from_utf8_lossy(data));
                    return Ok(());
                }
                ReadEvent::NeedInput => break,
                _ => (),
            }
        }
    }
}

/// Serves for ever.
fn serve(mut endpoint: Endpoint, socket: &UdpSocket) -> Result<(), Failure> {
    let clock = Clock(Instant::now());
    let (mut buffer, mut datagram) = (vec![0; 2048], Vec::new());
    loop {
        let now = clock.now();
        if endpoint.deadline().is_some_and(|deadline| deadline <= now.monotonic) {
            endpoint.handle_timeouts(now);
        }
        while let Some(path) = endpoint.transmit(now, &mut datagram) {
            socket.send_to(&datagram, path.remote)?;
            datagram.clear();
        }
        socket.set_read_timeout(Some(clock.until(endpoint.deadline())))?;
        let (len, remote) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(error) if is_timeout(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        let (now, path) = (clock.now(), Path { remote, local: None });
        let (id, mut input) = match endpoint.route(now, path, &buffer[..len]) {
            Route::Association(id) => (id, buffer[..len].to_vec()),
            Route::Begins(id, datagrams) => (id, datagrams),
            _ => continue,
        };
        let mut consumed = 0;
        // An association that has failed is no longer the endpoint's.
        while let Ok(progress) = endpoint.read(id, now, path, &mut input[consumed..]) {
            let begin = consumed;
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(range) => {
                    let data = input[begin..][range].to_vec();
                    // It may be longer than an answer may be: datagrams may be lost.
                    if let Ok(path) = endpoint.write(id, &data, &mut datagram) {
                        socket.send_to(&datagram, path.remote)?;
                    }
                    datagram.clear();
                }
                ReadEvent::PeerClosed => {
                    endpoint.remove(id);
                    break;
                }
                ReadEvent::NeedInput => break,
                _ => (),
            }
        }
    }
}

/// The clocks of this machine.
struct Clock(Instant);

impl Clock {
    fn now(&self) -> Time {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Time { monotonic: self.0.elapsed(), unix }
    }

    /// Returns the time until a deadline: at least a millisecond, at most a second.
    fn until(&self, deadline: Option<Duration>) -> Duration {
        let left = deadline.map(|deadline| deadline.saturating_sub(self.0.elapsed()));
        left.unwrap_or(Duration::MAX).clamp(Duration::from_millis(1), Duration::from_secs(1))
    }
}

fn received(result: std::io::Result<usize>) -> std::io::Result<Option<usize>> {
    match result {
        Err(error) if is_timeout(&error) => Ok(None),
        result => result.map(Some),
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
