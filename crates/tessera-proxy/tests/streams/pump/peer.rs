//! Streams with scripted behaviour.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

pub(crate) async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (near, listener.accept().await.unwrap().0)
}

/// The result of one call.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    Bytes(Vec<u8>),
    /// Pending, and wakes the task at once.
    NotYet,
    /// Pending forever.
    Never,
    End,
    Error(io::ErrorKind),
}

/// A stream with scripted reads, whose writes end after some bytes.
#[derive(Clone, Default)]
pub(crate) struct ScriptedStream {
    pub(crate) reads: VecDeque<Turn>,
    /// What was written, shared with the test.
    pub(crate) written: Arc<Mutex<WriteLog>>,
    /// How many bytes it accepts, and what it does then.
    pub(crate) takes: Option<(usize, Turn)>,
}

#[derive(Debug, Default)]
pub(crate) struct WriteLog {
    pub(crate) bytes: Vec<u8>,
    /// How many of them were flushed.
    pub(crate) flushed: usize,
    pub(crate) flushes: usize,
    pub(crate) is_shut_down: bool,
}

impl ScriptedStream {
    pub(crate) fn reading(reads: impl IntoIterator<Item = Turn>) -> Self {
        Self { reads: reads.into_iter().collect(), ..Self::default() }
    }

    pub(crate) fn taking(mut self, bytes: usize, then: Turn) -> Self {
        self.takes = Some((bytes, then));
        self
    }
}

fn without_bytes(turn: &Turn, cx: &Context<'_>) -> Poll<io::Result<()>> {
    match turn {
        Turn::NotYet => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        Turn::Never => Poll::Pending,
        Turn::Error(kind) => Poll::Ready(Err((*kind).into())),
        Turn::End | Turn::Bytes(_) => Poll::Ready(Ok(())),
    }
}

impl AsyncRead for ScriptedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.reads.front_mut() {
            Some(Turn::Bytes(bytes)) => {
                let count = bytes.len().min(buffer.remaining());
                buffer.put_slice(&bytes[..count]);
                bytes.drain(..count);
                if bytes.is_empty() {
                    self.reads.pop_front();
                }
                Poll::Ready(Ok(()))
            }
            Some(Turn::NotYet) => {
                self.reads.pop_front();
                without_bytes(&Turn::NotYet, cx)
            }
            Some(turn) => without_bytes(turn, cx),
            None => without_bytes(&Turn::End, cx),
        }
    }
}

impl AsyncWrite for ScriptedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut written = self.written.lock().unwrap();
        let mut room = data.len();
        if let Some((takes, then)) = &self.takes {
            room = room.min(takes - written.bytes.len());
            if room == 0 && !matches!(then, Turn::End) {
                return without_bytes(then, cx).map_ok(|()| 0);
            }
        }
        written.bytes.extend_from_slice(&data[..room]);
        Poll::Ready(Ok(room))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut written = self.written.lock().unwrap();
        written.flushed = written.bytes.len();
        written.flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.written.lock().unwrap().is_shut_down = true;
        Poll::Ready(Ok(()))
    }
}
