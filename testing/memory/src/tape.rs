//! Records connections like an adversary on the path.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tessera_lab::Capture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A recording in progress.
#[derive(Clone, Default)]
pub struct Tape(Arc<Mutex<Capture>>);

impl Tape {
    /// Returns the recording of a connection that has ended.
    pub fn end(&self) -> Recording {
        let capture = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Recording { ended: Instant::now(), capture }
    }

    fn record(&self, into: impl Fn(&mut Capture) -> &mut Vec<u8>, bytes: &[u8]) {
        let mut capture = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tape = into(&mut capture);
        let room = LENGTH.saturating_sub(tape.len());
        tape.extend(bytes.iter().take(room));
    }
}

/// The recording of a connection.
pub struct Recording {
    ended: Instant,
    capture: Capture,
}

/// Returns the recordings of the connections that ended last: their traces are on the threads' stacks.
pub fn last(mut recordings: Vec<Recording>) -> Vec<Capture> {
    recordings.sort_unstable_by_key(|recording| recording.ended);
    let first = recordings.len().saturating_sub(LAST);
    recordings.drain(first..).map(|recording| recording.capture).collect()
}

/// How many recordings to try.
const LAST: usize = 40;

/// A socket whose bytes are recorded, by either end.
pub struct RecordedSocket {
    pub socket: TcpStream,
    pub tape: Tape,
    /// Whether this end is the client.
    pub is_client: bool,
}

impl AsyncRead for RecordedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buffer))?;
        let by_server = self.is_client;
        self.tape.record(|it| direction(it, by_server), &buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for RecordedSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes))?;
        let by_server = !self.is_client;
        self.tape.record(|it| direction(it, by_server), &bytes[..written]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

fn direction(capture: &mut Capture, by_server: bool) -> &mut Vec<u8> {
    if by_server { &mut capture.received } else { &mut capture.sent }
}

/// How much is recorded of each direction, in bytes: the flights of a handshake and some data.
const LENGTH: usize = 16 * 1024;
