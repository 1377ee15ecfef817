//! Two ends over memory, of which one is on the heap that counts.

use std::time::Duration;

use tessera::handshake::{Checked, Handshake};
use tessera::resume::ClientSession;
use tessera::{
    ClientConfig, ClientConnection, Connection, Destination, Error, Event, Output, ReadEvent, Role,
    ServerConfig, ServerConnection, Time,
};
use tessera_heap_tests::{Heap, heap, on_heap, set_heap};

pub const NOW: Time =
    Time { monotonic: Duration::ZERO, unix: Some(Duration::from_secs(1_800_000_000)) };

/// One end.
pub struct End<H: Handshake> {
    connection: Connection<H>,
    pub output: Output,
    pub input: Vec<u8>,
    pub is_complete: bool,
    pub sessions: Vec<ClientSession>,
    pub error: Option<Error>,
    counts: bool,
}

impl<H: Handshake> End<H> {
    fn new(connection: Connection<H>, output: Output, counts: bool) -> Self {
        let (input, sessions) = (Vec::new(), Vec::new());
        Self { connection, output, input, is_complete: false, sessions, error: None, counts }
    }

    fn on<R>(&mut self, step: impl FnOnce(&mut Connection<H>, &mut Output, &mut [u8]) -> R) -> R {
        let Self { connection, output, input, counts, .. } = self;
        let step = || step(connection, output, input);
        if *counts { on_heap(step) } else { step() }
    }

    /// Reads what has arrived.
    pub fn read(&mut self) {
        while self.error.is_none() {
            let read = self.on(|it, output, input| it.read(NOW, input, output));
            let progress = match read {
                Ok(progress) => progress,
                Err(error) => return self.error = Some(error),
            };
            let mut goes_on = true;
            match progress.event {
                ReadEvent::Handshake(Event::HandshakeComplete) => self.is_complete = true,
                ReadEvent::Handshake(Event::NewSession(session)) => {
                    // What the owner keeps doesn't count.
                    let kept = ClientSession::import(&session.export()).unwrap();
                    self.sessions.push(kept);
                    self.on(|_, _, _| drop(session));
                }
                ReadEvent::NeedInput
                | ReadEvent::OutputFull
                | ReadEvent::WaitingForAnswer
                | ReadEvent::PeerClosed => goes_on = false,
                _ => (),
            }
            self.input.drain(..progress.consumed);
            if !goes_on {
                return;
            }
        }
    }

    /// Returns whether the peer's certificates came encoded.
    pub fn has_decoded(&self) -> bool {
        let came = self.connection.facts().peer_certificate;
        came.is_some_and(|it| it.encoded_with.is_some())
    }

    /// Returns what was written.
    pub fn sent(&mut self) -> Vec<u8> {
        let bytes = self.output.as_slice().to_vec();
        self.output.consume(bytes.len());
        bytes
    }
}

pub struct Ends {
    pub client: Checked<ClientConfig>,
    pub server: Checked<ServerConfig>,
}

pub struct Pair {
    pub client: End<tessera::handshake::ClientHandshake>,
    pub server: End<tessera::handshake::ServerHandshake>,
}

impl Ends {
    /// Starts both, with `counted` on a heap of `limit` bytes.
    pub fn start_with(
        &self,
        destination: Destination,
        counted: Role,
        limit: isize,
    ) -> Result<Pair, Error> {
        set_heap(Heap::with_limit(limit));
        self.start(destination, counted)
    }

    /// Starts both, with `counted` on the heap as it is set.
    pub fn start(&self, destination: Destination, counted: Role) -> Result<Pair, Error> {
        let mut output = Output::new();
        let start = || ClientConnection::start(self.client.clone(), destination, NOW, &mut output);
        let client = if counted == Role::Client { on_heap(start) } else { start() }?;
        let client = End::new(client, output, counted == Role::Client);
        let start = || ServerConnection::start(self.server.clone(), NOW);
        let server = if counted == Role::Server { on_heap(start) } else { start() };
        let server = End::new(server, Output::new(), counted == Role::Server);
        Ok(Pair { client, server })
    }
}

impl Pair {
    /// Carries bytes both ways until nothing moves, in pieces of `piece` bytes.
    pub fn run(&mut self, piece: usize) -> Heap {
        loop {
            let (to_server, to_client) = (self.client.sent(), self.server.sent());
            if to_server.is_empty() && to_client.is_empty() {
                return heap();
            }
            for bytes in to_server.chunks(piece) {
                self.server.input.extend_from_slice(bytes);
                self.server.read();
            }
            for bytes in to_client.chunks(piece) {
                self.client.input.extend_from_slice(bytes);
                self.client.read();
            }
        }
    }
}
