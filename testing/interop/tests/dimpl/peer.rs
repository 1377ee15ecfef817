//! An association with one end of dimpl's, and the datagrams between them.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dimpl::{Config, Dtls, DtlsCertificate, Output};
use tessera::handshake::Handshake;
use tessera::{Association, Event, ReadEvent, Time};
use tessera_interop::Identity;

/// One end of dimpl's.
pub struct Peer {
    dtls: Dtls,
    pub is_connected: bool,
    pub received: Vec<u8>,
    pub is_closed: bool,
}

impl Peer {
    pub fn new(config: Config, identity: &Identity, is_client: bool) -> Self {
        let certificate = DtlsCertificate {
            certificate: identity.chain[0].clone(),
            private_key: identity.key.clone(),
        };
        let mut dtls = Dtls::new_13(Arc::new(config), certificate, Instant::now());
        dtls.set_active(is_client);
        Self { dtls, is_connected: false, received: Vec::new(), is_closed: false }
    }

    pub fn send(&mut self, data: &[u8]) {
        self.dtls.send_application_data(data).unwrap();
    }

    pub fn close(&mut self) {
        self.dtls.close().unwrap();
    }

    fn take(&mut self, datagram: &[u8]) {
        self.dtls.handle_packet(datagram).unwrap();
    }

    /// Returns what it sends now.
    fn output(&mut self) -> Vec<Vec<u8>> {
        let mut buffer = vec![0; 4096];
        let mut sent = Vec::new();
        loop {
            match self.dtls.poll_output(&mut buffer) {
                Output::Packet(packet) => sent.push(packet.to_vec()),
                Output::Timeout(_) => return sent,
                Output::Connected => self.is_connected = true,
                Output::ApplicationData(data) => self.received.extend_from_slice(data),
                Output::CloseNotify => self.is_closed = true,
                _ => (),
            }
        }
    }
}

/// Both ends.
pub struct Meeting<H: Handshake> {
    pub ours: Association<H>,
    pub theirs: Peer,
    pub is_complete: bool,
    pub received: Vec<u8>,
    pub is_closed: bool,
    began: Instant,
    /// How much time was skipped.
    skipped: Duration,
    /// Which datagrams are lost, by their number.
    pub loses: fn(usize) -> bool,
    number: usize,
}

impl<H: Handshake> Meeting<H> {
    pub fn new(ours: Association<H>, theirs: Peer) -> Self {
        Self {
            ours,
            theirs,
            is_complete: false,
            received: Vec::new(),
            is_closed: false,
            began: Instant::now(),
            skipped: Duration::ZERO,
            loses: |_| false,
            number: 0,
        }
    }

    pub fn now(&self) -> Time {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Time { monotonic: self.began.elapsed() + self.skipped, unix }
    }

    /// Carries datagrams until nothing moves; then lets timers expire, at most ten times.
    pub fn run(&mut self) {
        self.theirs.dtls.handle_timeout(Instant::now()).unwrap();
        for _ in 0..10 {
            while self.exchange() {}
            if self.is_complete && self.theirs.is_connected && self.ours.is_acknowledged() {
                return;
            }
            self.skipped += Duration::from_secs(1);
            let later = Instant::now() + self.skipped;
            self.ours.handle_timeout(self.now()).unwrap();
            self.theirs.dtls.handle_timeout(later).unwrap();
        }
    }

    /// Carries what both ends have to send; returns whether there was anything.
    pub fn exchange(&mut self) -> bool {
        let mut moved = false;
        let mut datagram = Vec::new();
        while self.ours.transmit(self.now(), &mut datagram) {
            moved = true;
            self.carry(std::mem::take(&mut datagram), true);
        }
        for datagram in self.theirs.output() {
            moved = true;
            self.carry(datagram, false);
        }
        moved
    }

    /// Carries one datagram.
    pub fn carry(&mut self, mut datagram: Vec<u8>, is_ours: bool) {
        self.number += 1;
        if (self.loses)(self.number - 1) {
            return;
        }
        if is_ours {
            return self.theirs.take(&datagram);
        }
        let mut consumed = 0;
        loop {
            let now = self.now();
            let progress = self.ours.read(now, &mut datagram[consumed..]).unwrap();
            let rest = &datagram[consumed..];
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(range) => self.received.extend_from_slice(&rest[range]),
                ReadEvent::Handshake(Event::HandshakeComplete) => self.is_complete = true,
                ReadEvent::PeerClosed => {
                    self.is_closed = true;
                    return;
                }
                ReadEvent::NeedInput => return,
                _ => (),
            }
        }
    }

    /// Checks that data passes both ways.
    #[track_caller]
    pub fn is_connected(&mut self, what: &str) {
        assert!(self.is_complete && self.theirs.is_connected, "{what}");
        // Data is sent once.
        self.loses = |_| false;
        let mut datagram = Vec::new();
        self.ours.write(b"from us", &mut datagram).unwrap();
        self.carry(datagram, true);
        self.theirs.send(b"from them");
        while self.exchange() {}
        assert!(self.theirs.received.ends_with(b"from us"), "{what}");
        assert!(self.received.ends_with(b"from them"), "{what}");
    }
}
