//! Both ends of a device's connection, over a socket of this machine: a line there, a line back.
//!
//! ```text
//! cargo run -p tessera-embedded --example line
//! ```
//!
//! On a board, another transport takes the socket's place, its generator that of `/dev/urandom`, and its timer that of
//! `Instant`.

use std::error::Error;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use embedded_io::{Read, Write};
use embedded_io_adapters::std::FromStd;
use tessera::auth::NoCertificates;
use tessera::crypto::{Provider, RandomFailed};
use tessera::resume::ExternalPsk;
use tessera::wire::CipherSuite;
use tessera::{ClientConfig, Clock, Destination, ServerConfig, Time};
use tessera_embedded::{Acceptor, Buffers, Connector, input_len, output_len};
use tessera_rustcrypto::{RandomSource, provider};

/// The longest record that either end receives, in bytes.
const RECORD: u16 = 512;

/// Linux's generator, in the place of a board's.
struct Urandom;

impl RandomSource for Urandom {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(out));
        read.map_err(|_| RandomFailed)
    }
}

static PROVIDER: Provider = provider::<Urandom>();

/// The time since the start.
#[derive(Debug)]
struct Uptime(Instant);

impl Clock for Uptime {
    fn now(&self) -> Time {
        Time { monotonic: self.0.elapsed(), unix: None }
    }
}

fn psk() -> ExternalPsk {
    let suite = CipherSuite::TLS_CHACHA20_POLY1305_SHA256;
    ExternalPsk::new(b"device".to_vec(), vec![7; 32].into(), suite)
}

fn main() -> Result<(), Box<dyn Error>> {
    let clock = Arc::new(Uptime(Instant::now()));
    let mut server = ServerConfig::new(PROVIDER, Vec::new());
    server.external_psks = vec![psk()];
    server.record_size_limit = Some(RECORD);
    let acceptor = Acceptor::new(server.checked()?, clock.clone());
    let mut client = ClientConfig::new(PROVIDER, Arc::new(NoCertificates));
    client.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
    client.record_size_limit = Some(RECORD);
    let connector = Connector::new(client.checked()?, clock);

    let (client_end, server_end) = UnixStream::pair()?;
    let serving = thread::spawn(move || serve(&acceptor, server_end).map_err(|it| it.to_string()));

    // A ServerHello with X25519MLKEM768 must fit too.
    let (mut input, mut output) = ([0; 1300], [0; output_len(256)]);
    let buffers = Buffers { input: &mut input, output: &mut output };
    let destination = Destination { external_psks: vec![psk()], ..Destination::default() };
    let io = FromStd::new(client_end);
    let mut stream = connector.connect_blocking(destination, io, buffers)?;
    println!("connected: {:?}, {:?}", stream.facts().suite, stream.facts().group);
    stream.write_all(b"a line from the device\n")?;
    let mut line = [0; 100];
    let count = stream.read(&mut line)?;
    print!("{}", String::from_utf8_lossy(&line[..count]));
    stream.close_blocking()?;
    serving.join().map_err(|_| "the server panicked")??;
    Ok(())
}

/// Sends back one line.
fn serve(acceptor: &Acceptor, end: UnixStream) -> Result<(), Box<dyn Error>> {
    // The ClientHello has 1.6 KB.
    let (mut input, mut output) = ([0; 2048], [0; output_len(256)]);
    assert!(input.len() >= input_len(RECORD), "it would be refused");
    let buffers = Buffers { input: &mut input, output: &mut output };
    let mut stream = acceptor.accept_blocking(FromStd::new(end), buffers)?;
    let mut line = [0; 100];
    let count = stream.read(&mut line)?;
    stream.write_all(&line[..count])?;
    stream.close_blocking()?;
    // The client's end: a socket that is closed before can't take it.
    stream.read(&mut line)?;
    Ok(())
}
