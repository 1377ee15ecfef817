//! Futures that are dropped each time they wait.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use embedded_io::{ErrorKind, ErrorType, Read as _, Write as _};
use embedded_io_async::{Read, Write};

use crate::ends::{Memory, Pki, by_psk, connector, psk_client, psk_server};
use crate::peer::Peer;

/// Waits once before each call that does anything, and moves a few bytes then.
struct Waiting {
    peer: Peer,
    may_go: bool,
}

impl Waiting {
    async fn wait(&mut self) {
        std::future::poll_fn(|_| {
            self.may_go = !self.may_go;
            if self.may_go { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }
}

impl ErrorType for Waiting {
    type Error = ErrorKind;
}

impl Read for Waiting {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        self.wait().await;
        self.peer.read(buffer)
    }
}

impl Write for Waiting {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.wait().await;
        self.peer.write(bytes)
    }
    async fn flush(&mut self) -> Result<(), ErrorKind> {
        self.wait().await;
        self.peer.flush()
    }
}

/// Polls once; `None` if it waits.
fn once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

#[test]
fn dropped_futures_lose_nothing() {
    let mut memory = Memory::new();
    let connector = connector(psk_client(&Pki::new()));
    let peer = Peer { at_once: 61, ..Peer::new(&psk_server().checked().unwrap()) };
    let io = Waiting { peer, may_go: false };
    let mut stream = connector.start(by_psk(), io, memory.lend()).unwrap();
    let mut drops = 0;
    loop {
        match once(stream.handshake()) {
            Some(result) => break result.unwrap(),
            None => drops += 1,
        }
    }
    let sent: Vec<u8> = (0..5000).map(|at| (at / 3) as u8).collect();
    let mut at = 0;
    while at < sent.len() {
        match once(stream.write(&sent[at..])) {
            Some(count) => at += count.unwrap(),
            None => drops += 1,
        }
    }
    // What waits is sent by a call of another kind.
    stream.get_mut().peer.send(&sent);
    stream.get_mut().peer.close();
    let (mut received, mut some) = (Vec::new(), [0; 100]);
    loop {
        match once(stream.read(&mut some)) {
            Some(Ok(0)) => break,
            Some(count) => received.extend_from_slice(&some[..count.unwrap()]),
            None => drops += 1,
        }
    }
    loop {
        match once(stream.close()) {
            Some(result) => break result.unwrap(),
            None => drops += 1,
        }
    }
    assert!(received == sent && stream.get_ref().peer.data == sent);
    assert!(stream.get_ref().peer.is_closed && drops > 100, "{drops}");
}
