//! One end of a connection, over a socket.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tessera::handshake::{ClientHandshake, Handshake, ServerHandshake};
use tessera::{
    ClientConfig, ClientConnection, Clock, Connection, Destination, Error, Facts, Output,
    ServerConfig, ServerConnection, Time,
};
use tessera_test_peers::{PATIENCE, wait_until};

use crate::received::ReceivedData;

/// A connection with its socket. The socket never blocks: an end with much to write keeps reading, so that two ends
/// can't deadlock.
pub struct End<H: Handshake> {
    /// The connection.
    pub connection: Connection<H>,
    /// The events so far.
    pub told: ReceivedData,
    /// Whether to drop change_cipher_spec records from the output.
    pub drops_change_cipher_spec: bool,
    stream: TcpStream,
    input: Vec<u8>,
    output: Output,
}

/// The record for middleboxes (RFC 8446 §D.4); it is not part of the transcript.
const CHANGE_CIPHER_SPEC: &[u8] = &[20, 3, 3, 0, 1, 1];

/// A client's end.
pub type Client = End<ClientHandshake>;

/// A server's end.
pub type Server = End<ServerHandshake>;

impl Client {
    /// Connects, and sends the first flight.
    pub fn start(config: &ClientConfig, destination: Destination, address: SocketAddr) -> Self {
        Self::start_early(config, destination, address, b"")
    }

    /// Connects, and sends the first flight with this early data.
    pub fn start_early(
        config: &ClientConfig,
        mut destination: Destination,
        address: SocketAddr,
        early_data: &[u8],
    ) -> Self {
        destination.clock = Some(Arc::new(MachineClock));
        let mut output = Output::new();
        let config = config.clone().checked().expect("the client's configuration works");
        let mut connection = ClientConnection::start(config, destination, now(), &mut output)
            .expect("the client starts");
        if !early_data.is_empty() {
            let written = connection.write_early_data(early_data, &mut output);
            assert_eq!(written, Ok(early_data.len()), "there is room for the early data");
        }
        let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("the server listens");
        let mut end = Self::new(connection, stream, output);
        end.flush();
        end
    }
}

impl Server {
    /// Serves the peer of a socket.
    pub fn start(config: &ServerConfig, stream: TcpStream) -> Self {
        let config = config.clone().checked().expect("the server's configuration works");
        let connection = ServerConnection::start(config, now());
        Self::new(connection, stream, Output::new())
    }
}

impl<H: Handshake> End<H>
where
    H::Question: core::fmt::Debug,
{
    fn new(connection: Connection<H>, stream: TcpStream, output: Output) -> Self {
        stream.set_nonblocking(true).expect("sockets can be made nonblocking");
        stream.set_nodelay(true).expect("Nagle's algorithm can be switched off");
        Self {
            connection,
            told: ReceivedData::default(),
            drops_change_cipher_spec: false,
            stream,
            input: Vec::new(),
            output,
        }
    }

    /// Returns the facts of the connection.
    pub fn facts(&self) -> &Facts {
        self.connection.facts()
    }

    /// Carries bytes until `done`; an error of the connection fails the test.
    #[track_caller]
    pub fn until(&mut self, what: &str, done: impl Fn(&ReceivedData) -> bool) -> &mut Self {
        self.run(what, |told| done(told) || told.error.is_some());
        if let (false, Some(error)) = (done(&self.told), &self.told.error) {
            panic!("{what}: {error}");
        }
        self
    }

    /// Finishes the handshake.
    #[track_caller]
    pub fn handshake(&mut self) -> &mut Self {
        self.until("the handshake", |told| told.complete)
    }

    /// Carries bytes until the connection fails, and returns the error.
    #[track_caller]
    pub fn failure(&mut self) -> Error {
        self.run("an error", |told| told.error.is_some());
        self.told.error.clone().expect("there is one")
    }

    /// Waits until this text has arrived.
    #[track_caller]
    pub fn hear(&mut self, text: &str) -> &mut Self {
        self.until(text, |told| told.heard(text))
    }

    /// Sends application data, all of it.
    #[track_caller]
    pub fn send(&mut self, data: &[u8]) -> &mut Self {
        let mut rest = data;
        while !rest.is_empty() {
            let written = self.connection.write(rest, &mut self.output);
            rest = &rest[written.expect("data can be written")..];
            self.step();
        }
        wait_until("the peer reads", || {
            self.step();
            self.output.is_empty().then_some(())
        });
        self
    }

    /// Sends application data as soon as there are keys for it: a server may do so before the client's Finished.
    #[track_caller]
    pub fn send_first(&mut self, data: &[u8]) -> &mut Self {
        wait_until("keys for application data", || {
            self.step();
            self.connection.write(data, &mut self.output).ok()
        });
        assert!(!self.told.complete, "the handshake was not complete");
        self.flush();
        self
    }

    /// Exports keying material of 32 bytes.
    pub fn export(&mut self, label: &str) -> [u8; 32] {
        let mut out = [0; 32];
        self.connection
            .export_keying_material(label.as_bytes(), b"", &mut out)
            .expect("it exports");
        out
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own.
    pub fn update_keys(&mut self, request: bool) -> &mut Self {
        self.connection.update_keys(request, &mut self.output).expect("keys can change");
        self.step();
        self
    }

    /// Sends close_notify, and ends this direction of the stream.
    pub fn close(&mut self) -> &mut Self {
        self.connection.close(&mut self.output);
        wait_until("the peer reads", || {
            self.flush();
            self.output.is_empty().then_some(())
        });
        // Fails only if the peer is gone already.
        let _ = self.stream.shutdown(Shutdown::Write);
        self
    }

    /// Waits for the peer's close_notify.
    #[track_caller]
    pub fn closed(&mut self) -> &mut Self {
        self.until("close_notify", |told| told.closed)
    }

    #[track_caller]
    fn run(&mut self, what: &str, done: impl Fn(&ReceivedData) -> bool) {
        wait_until(what, || {
            while !done(&self.told) {
                if !self.step() {
                    return None;
                }
            }
            Some(())
        });
        self.flush();
        if self.told.error.is_some() {
            // The alert must arrive: unread input at the close of a socket would reset it.
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }

    /// Carries what can be carried now; returns whether anything moved.
    pub fn step(&mut self) -> bool {
        let sent = self.flush();
        let received = self.receive();
        self.read();
        self.flush() || sent || received
    }

    fn flush(&mut self) -> bool {
        let mut moved = false;
        while let bytes @ [_, ..] = self.output.as_slice() {
            let mut len = bytes.len();
            if let ([_, _, _, high, low, ..], true) = (bytes, self.drops_change_cipher_spec) {
                // One record at a time: handshake flights are small, and sockets accept them whole.
                len = len.min(5 + usize::from(u16::from_be_bytes([*high, *low])));
            }
            if self.drops_change_cipher_spec && bytes[..len] == *CHANGE_CIPHER_SPEC {
                self.output.consume(len);
                continue;
            }
            match self.stream.write(&bytes[..len]) {
                Ok(count) => self.output.consume(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // Reading will notice that the peer is gone.
                Err(_) => self.output.consume(len),
            }
            moved = true;
        }
        moved
    }

    fn receive(&mut self) -> bool {
        let mut bytes = [0; 20 * 1024];
        let count = match self.stream.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(_) => 0,
        };
        self.input.extend_from_slice(&bytes[..count]);
        let ends = count == 0 && !self.told.end_of_stream;
        if ends {
            self.told.end_of_stream = true;
            if let Err(error) = self.connection.end_of_stream() {
                self.told.error.get_or_insert(error);
            }
        }
        count > 0 || ends
    }

    fn read(&mut self) {
        let mut consumed = 0;
        while self.told.error.is_none() {
            match self.connection.read(now(), &mut self.input[consumed..], &mut self.output) {
                Err(error) => self.told.error = Some(error),
                Ok(progress) => {
                    let read = &self.input[consumed..];
                    consumed += progress.consumed;
                    if !self.told.read(progress.event, read) {
                        break;
                    }
                }
            }
        }
        self.input.drain(..consumed);
    }
}

/// Waits for peers on a port that the system chose.
pub struct Listener(TcpListener);

impl Listener {
    /// Listens on loopback.
    pub fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        listener.set_nonblocking(true).expect("sockets can be made nonblocking");
        Self(listener)
    }

    /// Returns where peers connect to.
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a listener has an address")
    }

    /// Returns the next peer.
    #[track_caller]
    pub fn accept(&self) -> TcpStream {
        wait_until("someone connects", || self.0.accept().ok()).0
    }

    /// Returns the next peer, served by Tessera.
    #[track_caller]
    pub fn serve(&self, config: &ServerConfig) -> Server {
        Server::start(config, self.accept())
    }
}

impl Default for Listener {
    fn default() -> Self {
        Self::new()
    }
}

/// The clock of the engine.
#[derive(Debug)]
struct MachineClock;

impl Clock for MachineClock {
    fn now(&self) -> Time {
        now()
    }
}

fn now() -> Time {
    static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    Time { monotonic: BEGINNING.elapsed() + Duration::from_secs(1), unix }
}
