//! The sockets of a program, each with a thread that waits for its datagrams, and standard input.

use std::collections::HashMap;
use std::io::{self, BufRead};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::lines::StepLine;
use crate::clock;

/// What a program waits for.
pub(super) enum Input {
    /// A datagram came to a socket.
    Datagram {
        socket: usize,
        from: SocketAddr,
        bytes: Vec<u8>,
    },
    Step(StepLine),
    /// Standard input has ended.
    End,
}

/// Sockets by number.
pub(super) struct Sockets {
    sockets: HashMap<usize, Arc<UdpSocket>>,
    sender: Sender<Input>,
    receiver: Receiver<Input>,
}

impl Sockets {
    /// Begins to read standard input.
    pub(super) fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        let lines = sender.clone();
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                // What isn't known is for later programs.
                if let Ok(line) = serde_json::from_str(&line) {
                    let _ = lines.send(Input::Step(line));
                }
            }
            let _ = lines.send(Input::End);
        });
        Self { sockets: HashMap::new(), sender, receiver }
    }

    /// Opens a socket, if it isn't open; returns its address, if it is new.
    ///
    /// # Errors
    /// If the machine has no such address now.
    pub(super) fn open(&mut self, number: usize, at: SocketAddr) -> io::Result<Option<SocketAddr>> {
        if self.sockets.contains_key(&number) {
            return Ok(None);
        }
        let socket = Arc::new(UdpSocket::bind(at)?);
        let address = socket.local_addr()?;
        self.sockets.insert(number, socket.clone());
        let sender = self.sender.clone();
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                // An error is of an earlier datagram, or of an interface that is down.
                let Ok((len, from)) = socket.recv_from(&mut buffer) else { continue };
                let bytes = buffer[..len].to_vec();
                if sender.send(Input::Datagram { socket: number, from, bytes }).is_err() {
                    return;
                }
            }
        });
        Ok(Some(address))
    }

    /// Sends a datagram; what can't be sent is lost.
    pub(super) fn send(&self, number: usize, to: SocketAddr, datagram: &[u8]) {
        if let Some(socket) = self.sockets.get(&number) {
            let _ = socket.send_to(datagram, to);
        }
    }

    /// Waits until a moment at most.
    pub(super) fn wait(&self, until: Option<Duration>) -> io::Result<Option<Input>> {
        let Some(until) = until else {
            return Ok(self.receiver.recv().ok());
        };
        match self.receiver.recv_timeout(until.saturating_sub(clock::monotonic()?)) {
            Ok(input) => Ok(Some(input)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(error @ RecvTimeoutError::Disconnected) => Err(io::Error::other(error)),
        }
    }
}

/// Any port of an address.
pub(super) fn any_port(address: IpAddr) -> SocketAddr {
    SocketAddr::new(address, 0)
}
