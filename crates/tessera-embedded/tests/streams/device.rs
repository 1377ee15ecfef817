//! Devices with 40 KB of heap, of which a test knows what it holds.

use std::sync::Arc;

use embedded_io::{ErrorKind, Read, Write};
use tessera::handshake::{
    Checked, ClientAuthentication, ClientHandshake, Handshake, ServerHandshake,
};
use tessera::wire::{CipherSuite, NamedGroup};
use tessera::{ClientConfig, Destination, Limits, ServerConfig};
use tessera_embedded::{Acceptor, Connector, Error, TlsStream};
use tessera_heap_tests::{Heap, heap, off_heap, on_heap, set_heap};

use crate::ends::{
    Memory, Pki, TestClock, by_chain, by_known_key, by_psk, device, device_kem_server, kem_server,
    known_key_client, psk, psk_client, psk_server, raw_key_client,
};
use crate::peer::Peer;

/// What a device's heap holds, in bytes.
pub const HEAP: usize = 40 * 1024;

/// What it reads.
pub const LIMITS: Limits =
    Limits { handshake_message: 2048, certificate_message: 4096, client_hello: 3072, tickets: 1 };

/// One end of a connection.
pub trait Device {
    /// The other end.
    type Peer: Handshake;

    /// What a connection needs of the heap, in bytes.
    fn needed(&self) -> usize;

    fn clock(&self) -> Arc<TestClock>;

    fn peer(&self) -> Peer<Self::Peer>;

    /// Connects with so much heap; `then` runs after the handshake. Returns what came of it, and how often the heap refused.
    fn connect(
        &self,
        heap: usize,
        memory: &mut Memory,
        peer: &mut Peer<Self::Peer>,
        then: fn(&mut Peer<Self::Peer>),
    ) -> (Result<(), Error<ErrorKind>>, usize);
}

pub struct Client {
    connector: Connector,
    clock: Arc<TestClock>,
    to: fn() -> Destination,
    needed: usize,
    server: Checked<ServerConfig>,
}

impl Client {
    fn new(mut config: ClientConfig, to: fn() -> Destination, server: ServerConfig) -> Self {
        config.limits = LIMITS;
        let needed = config.heap_needed(&to());
        let clock = Arc::new(TestClock::default());
        let connector = Connector::new(config.checked().unwrap(), clock.clone());
        Self { connector, clock, to, needed, server: server.checked().unwrap() }
    }

    pub fn by_psk() -> Self {
        Self::new(psk_client(&Pki::new()), by_psk, psk_server())
    }

    pub fn by_chain(pki: &Pki) -> Self {
        let mut config = pki.device_client();
        config.suites = vec![CipherSuite::TLS_CHACHA20_POLY1305_SHA256];
        config.groups = vec![NamedGroup::X25519MLKEM768];
        Self::new(config, by_chain, pki.server())
    }

    pub fn by_known_key() -> Self {
        Self::new(known_key_client(), by_known_key, kem_server())
    }

    pub fn by_raw_key() -> Self {
        Self::new(raw_key_client(device()), by_chain, kem_server())
    }
}

impl Device for Client {
    type Peer = ServerHandshake;

    fn needed(&self) -> usize {
        self.needed
    }

    fn clock(&self) -> Arc<TestClock> {
        self.clock.clone()
    }

    fn peer(&self) -> Peer {
        Peer::new(&self.server)
    }

    fn connect(
        &self,
        heap: usize,
        memory: &mut Memory,
        peer: &mut Peer,
        then: fn(&mut Peer),
    ) -> (Result<(), Error<ErrorKind>>, usize) {
        on_heap_of(heap, self.to, |to| {
            converse(self.connector.start(to, peer, memory.lend())?, then)
        })
    }
}

pub struct Server {
    acceptor: Acceptor,
    clock: Arc<TestClock>,
    needed: usize,
    client: Checked<ClientConfig>,
    to: fn() -> Destination,
}

impl Server {
    fn new(mut config: ServerConfig, mut client: ClientConfig, to: fn() -> Destination) -> Self {
        // Otherwise the server must not send its own (RFC 8449 §5).
        client.record_size_limit = Some(16_385);
        config.limits = LIMITS;
        let needed = config.heap_needed();
        let clock = Arc::new(TestClock::default());
        let acceptor = Acceptor::new(config.checked().unwrap(), clock.clone());
        Self { acceptor, clock, needed, client: client.checked().unwrap(), to }
    }

    pub fn by_psk() -> Self {
        let pki = Pki::new();
        let mut config = pki.device_server();
        config.credentials.clear();
        config.external_psks = vec![psk()];
        config.groups = vec![NamedGroup::X25519];
        Self::new(config, pki.client(), by_psk)
    }

    /// Both ends have a chain.
    pub fn by_chain(pki: &Pki) -> Self {
        let (mut config, mut client) = (pki.device_server(), pki.client());
        config.groups = vec![NamedGroup::X25519];
        let verifier = pki.device_client().verifier;
        config.client_authentication = ClientAuthentication::Required(verifier);
        client.credentials = vec![pki.leaf.credential()];
        Self::new(config, client, by_chain)
    }

    /// Clients know its key of ML-KEM-768.
    pub fn by_known_key() -> Self {
        Self::new(device_kem_server(), raw_key_client(tessera_aws_lc::provider()), by_known_key)
    }

    /// It sends its key of ML-KEM-768.
    pub fn by_raw_key() -> Self {
        Self::new(device_kem_server(), raw_key_client(tessera_aws_lc::provider()), by_chain)
    }
}

impl Device for Server {
    type Peer = ClientHandshake;

    fn needed(&self) -> usize {
        self.needed
    }

    fn clock(&self) -> Arc<TestClock> {
        self.clock.clone()
    }

    fn peer(&self) -> Peer<ClientHandshake> {
        Peer::client(&self.client, (self.to)())
    }

    fn connect(
        &self,
        heap: usize,
        memory: &mut Memory,
        peer: &mut Peer<ClientHandshake>,
        then: fn(&mut Peer<ClientHandshake>),
    ) -> (Result<(), Error<ErrorKind>>, usize) {
        on_heap_of(heap, || (), |()| converse(self.acceptor.start(peer, memory.lend())?, then))
    }
}

/// Runs a device with so much heap beyond what it is given: all must be free at the end.
pub fn on_heap_of<T, R>(size: usize, given: fn() -> T, device: impl FnOnce(T) -> R) -> (R, usize) {
    set_heap(Heap::with_limit(isize::MAX));
    let given = on_heap(given);
    let held = heap().held;
    set_heap(Heap { held, peak: held, ..Heap::with_limit(held + size as isize) });
    let result = on_heap(|| device(given));
    assert_eq!(heap().held, 0);
    (result, heap().refused)
}

/// A connection: its handshake, what the test does then, a line, its answer, and both ends' close_notify.
pub fn converse<H: Handshake, P: Handshake>(
    mut stream: TlsStream<'_, &mut Peer<P>, H>,
    then: fn(&mut Peer<P>),
) -> Result<(), Error<ErrorKind>> {
    stream.handshake_blocking()?;
    off_heap(|| then(stream.get_mut()));
    stream.write_all(b"from the device")?;
    stream.flush()?;
    stream.get_mut().send(&[9; 5000]);
    stream.get_mut().close();
    let (mut received, mut some) = (0, [0; 300]);
    loop {
        match stream.read(&mut some)? {
            0 => break,
            count => received += count,
        }
    }
    assert_eq!(received, 5000);
    stream.close_blocking()?;
    assert_eq!(stream.get_ref().data, b"from the device");
    Ok(())
}
