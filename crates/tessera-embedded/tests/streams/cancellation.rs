//! Futures that are dropped each time they wait.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use embedded_io::{ErrorKind, ErrorType, Read as _, Write as _};
use embedded_io_async::{Read, Write};
use tessera_embedded::Error;
use tessera_harness::{Numbers, each_seed};

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

/// Moves few bytes or many, waits before it moves any, and fails now and then.
struct Fickle {
    peer: Peer,
    numbers: Numbers,
    waits: bool,
    fails: bool,
}

impl Fickle {
    async fn wait(&mut self) -> Result<(), ErrorKind> {
        if self.waits {
            std::future::poll_fn(|_| match self.numbers.happens(60) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            })
            .await;
        }
        self.peer.at_once =
            1 + self.numbers.below(*[3, 90, 3000].get(self.numbers.0 as usize % 3).unwrap());
        match self.fails && self.numbers.happens(10) {
            true => Err(ErrorKind::Interrupted),
            false => Ok(()),
        }
    }
}

impl ErrorType for Fickle {
    type Error = ErrorKind;
}

impl Read for Fickle {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ErrorKind> {
        self.wait().await?;
        self.peer.read(buffer)
    }
}

impl Write for Fickle {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, ErrorKind> {
        self.wait().await?;
        self.peer.write(bytes)
    }
    async fn flush(&mut self) -> Result<(), ErrorKind> {
        self.wait().await?;
        self.peer.flush()
    }
}

/// Calls of all kinds, dropped at any time, of a transport that also fails: data arrives whole, once and in order, and the
/// peer opens every record, so no number is used twice.
#[test]
fn fuzz_calls_in_any_order_lose_nothing_and_double_nothing() {
    let (client, server) = (psk_client(&Pki::new()), psk_server().checked().unwrap());
    let connector = connector(client);
    let mut totals = [0; 4];
    each_seed(100, |numbers| {
        let mut memory = Memory::new();
        memory.output.truncate(tessera_embedded::output_len(64 + numbers.below(1000)));
        let io = Fickle {
            peer: Peer::new(&server),
            numbers: Numbers(numbers.next()),
            waits: numbers.happens(80),
            fails: numbers.happens(50),
        };
        let mut stream = connector.start(by_psk(), io, memory.lend()).unwrap();
        let (mut written, mut received, mut sent) = (Vec::new(), Vec::new(), Vec::new());
        let mut count = 0_u8;
        let mut data = |len: usize| -> Vec<u8> {
            (0..len)
                .map(|_| {
                    count = count.wrapping_add(1);
                    count
                })
                .collect()
        };
        for _ in 0..400 {
            let result = match numbers.below(7) {
                0 => once(stream.handshake()).map(|it| it.map(drop)),
                1 | 2 => {
                    let bytes = data(numbers.below(3000));
                    let result = once(stream.write(&bytes));
                    let taken = result.as_ref().and_then(|it| it.as_ref().ok()).copied();
                    written.extend_from_slice(&bytes[..taken.unwrap_or(0)]);
                    result.map(|it| it.map(drop))
                }
                3 => once(stream.flush()),
                4 if stream.is_handshake_complete() => {
                    let bytes = data(numbers.below(2000));
                    let peer = &mut stream.get_mut().peer;
                    if peer.connection.can_write() && peer.output.as_slice().len() < 20_000 {
                        peer.send(&bytes);
                        sent.extend(bytes);
                        if peer.connection.deadline().is_none() && numbers.happens(20) {
                            peer.update_keys();
                            totals[3] += 1;
                        }
                    }
                    None
                }
                _ => {
                    let mut some = vec![0; numbers.below(2000)];
                    let result = once(stream.read(&mut some));
                    let count = result.as_ref().and_then(|it| it.as_ref().ok()).copied();
                    received.extend_from_slice(&some[..count.unwrap_or(0)]);
                    result.map(|it| it.map(drop))
                }
            };
            match result {
                None => totals[0] += 1,
                Some(Ok(())) => totals[1] += 1,
                Some(Err(Error::Transport(ErrorKind::Interrupted | ErrorKind::TimedOut))) => {
                    totals[2] += 1
                }
                Some(Err(error)) => {
                    panic!("{error:?}, the peer: {:?}", stream.get_ref().peer.error)
                }
            }
        }
        let io = stream.get_mut();
        (io.waits, io.fails) = (false, false);
        once(stream.handshake()).unwrap().unwrap();
        stream.get_mut().peer.close();
        let mut some = [0; 500];
        loop {
            match once(stream.read(&mut some)).unwrap().unwrap() {
                0 => break,
                count => received.extend_from_slice(&some[..count]),
            }
        }
        once(stream.close()).unwrap().unwrap();
        let peer = &stream.get_ref().peer;
        assert_eq!(peer.error, None);
        assert!(peer.data == written && received == sent && peer.is_closed);
    });
    println!(
        "dropped {}, done {}, failed {}, key updates {}",
        totals[0], totals[1], totals[2], totals[3]
    );
    assert!(totals.iter().all(|it| *it > 100), "{totals:?}");
}
