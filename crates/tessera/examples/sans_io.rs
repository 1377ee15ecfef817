//! The engine over blocking sockets: no runtime, no framework, one loop.
//!
//! ```text
//! cargo run -p tessera-tls --example sans_io
//! ```
//!
//! A server thread and a client that knows its public key (RFC 7250) talk over loopback. The same loop
//! works over any transport that carries bytes in order.

use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use tessera::auth::{Credential, PrivateKey};
use tessera::handshake::{Checked, Handshake};
use tessera::{
    ClientConfig, ClientConnection, Clock, Connection, Destination, Event, Output, ReadEvent,
    ServerConfig, ServerConnection, Time,
};
use tessera_aws_lc::SigningKey;
use tessera_webpki::{PinnedKey, PinnedKeyVerifier};

fn main() -> Result<(), Box<dyn Error>> {
    let provider = tessera_aws_lc::provider();
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)?;
    let key = SigningKey::from_pkcs8(pkcs8.as_ref())?;
    let public_key = key.public_key_info().map_err(|_| "no public key")?;
    let credential =
        Credential::raw_public_key(public_key.clone(), PrivateKey::Signs(Arc::new(key)));
    let server = ServerConfig::new(provider, vec![credential]).checked()?;

    let pinned = PinnedKey { public_key, name: SERVER_NAME.into() };
    let verifier = PinnedKeyVerifier::new(vec![pinned])?;
    let client = ClientConfig::new(provider, Arc::new(verifier)).checked()?;

    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let serving = thread::spawn(move || -> Result<(), String> {
        let (socket, _) = listener.accept().map_err(|error| error.to_string())?;
        serve(server, socket).map_err(|error| error.to_string())
    });
    ask(client, TcpStream::connect(address)?)?;
    serving.join().map_err(|_| "the server's thread failed")??;
    Ok(())
}

/// The name to which the client's key is pinned.
const SERVER_NAME: &str = "server.example";

/// Answers one request in capitals.
fn serve(config: Checked<ServerConfig>, socket: TcpStream) -> Result<(), Box<dyn Error>> {
    let clock = MachineClock::start();
    let connection = ServerConnection::start(config, clock.now());
    let mut driver = Driver { connection, clock, socket, input: Vec::new(), output: Output::new() };
    let request = driver.receive()?;
    driver.send(request.to_ascii_uppercase().as_slice())?;
    driver.close()
}

/// Sends one request, and prints the answer.
fn ask(config: Checked<ClientConfig>, socket: TcpStream) -> Result<(), Box<dyn Error>> {
    let clock = MachineClock::start();
    let mut output = Output::new();
    let server_name = SERVER_NAME.into();
    let destination =
        Destination { server_name, clock: Some(Arc::new(clock)), ..Default::default() };
    let connection = ClientConnection::start(config, destination, clock.now(), &mut output)?;
    let mut driver = Driver { connection, clock, socket, input: Vec::new(), output };
    while !driver.connection.facts().handshake_complete {
        driver.step()?;
    }
    driver.send(b"hello")?;
    let answer = driver.receive()?;
    println!("{} ({:?})", String::from_utf8_lossy(&answer), driver.connection.facts().suite);
    driver.close()
}

/// A connection, and everything that the engine leaves to its owner: a socket, two buffers, a clock.
struct Driver<H: Handshake> {
    connection: Connection<H>,
    clock: MachineClock,
    socket: TcpStream,
    /// Received and not yet consumed.
    input: Vec<u8>,
    /// What to send.
    output: Output,
}

/// The result of one step of the loop.
enum Step {
    /// Application data.
    Data(Vec<u8>),
    /// The peer sent close_notify.
    Closed,
    /// Nothing for the application.
    Nothing,
}

impl<H: Handshake> Driver<H> {
    /// Runs one round of the loop: reads from the engine, handles the event, sends and receives as it demands.
    fn step(&mut self) -> Result<Step, Box<dyn Error>> {
        let progress = self.connection.read(self.clock.now(), &mut self.input, &mut self.output);
        let progress = match progress {
            Ok(progress) => progress,
            Err(error) => {
                // The error's alert is in the output, and should still be sent.
                self.flush()?;
                return Err(error.into());
            }
        };
        let mut is_blocked = false;
        let step = match progress.event {
            // The data is in the input, decrypted in place.
            ReadEvent::Data(data) => Step::Data(self.input[data].to_vec()),
            ReadEvent::PeerClosed => Step::Closed,
            ReadEvent::NeedInput | ReadEvent::OutputFull => {
                is_blocked = true;
                Step::Nothing
            }
            // Keep it, for `Destination::session` of the next connection.
            ReadEvent::Handshake(Event::NewSession(_session)) => Step::Nothing,
            // The traits of this example's configurations always answer at once.
            ReadEvent::Question(_) | ReadEvent::WaitingForAnswer => return Err("a question".into()),
            // Other events need no action.
            _ => Step::Nothing,
        };
        let consumed = progress.consumed;
        self.input.drain(..consumed);
        if is_blocked && !self.flush()? {
            self.wait()?;
        }
        Ok(step)
    }

    /// Sends the output, and returns whether there was any.
    fn flush(&mut self) -> std::io::Result<bool> {
        let len = self.output.as_slice().len();
        self.socket.write_all(self.output.as_slice())?;
        self.output.consume(len);
        Ok(len > 0)
    }

    /// Waits for bytes, until the connection's deadline: a handshake must not take forever.
    fn wait(&mut self) -> Result<(), Box<dyn Error>> {
        let patience = self.connection.deadline().map(|deadline| {
            deadline.saturating_sub(self.clock.now().monotonic).max(Duration::from_millis(1))
        });
        self.socket.set_read_timeout(patience)?;
        let mut received = [0; 4096];
        match self.socket.read(&mut received) {
            // An end without close_notify may be an attacker's.
            Ok(0) => Ok(self.connection.end_of_stream()?),
            Ok(count) => {
                self.input.extend_from_slice(&received[..count]);
                Ok(())
            }
            // The next read of the engine reports the timeout.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for application data.
    fn receive(&mut self) -> Result<Vec<u8>, Box<dyn Error>> {
        loop {
            match self.step()? {
                Step::Data(data) => return Ok(data),
                Step::Closed => return Err("closed before there was an answer".into()),
                Step::Nothing => {}
            }
        }
    }

    /// Sends application data.
    fn send(&mut self, mut data: &[u8]) -> Result<(), Box<dyn Error>> {
        while !data.is_empty() {
            let written = self.connection.write(data, &mut self.output)?;
            data = &data[written..];
            self.flush()?;
        }
        Ok(())
    }

    /// Sends close_notify, and waits for the peer's.
    fn close(mut self) -> Result<(), Box<dyn Error>> {
        self.connection.close(&mut self.output);
        self.flush()?;
        while !matches!(self.step()?, Step::Closed) {}
        Ok(())
    }
}

/// The time, which the caller passes. A client's engine also reads it itself, when it judges a lost flight.
#[derive(Debug, Clone, Copy)]
struct MachineClock(Instant);

impl MachineClock {
    fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for MachineClock {
    fn now(&self) -> Time {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Time { monotonic: self.0.elapsed(), unix }
    }
}
