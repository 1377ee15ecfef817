//! A connection's stream, and what it tells of its first flight.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Connection;
use crate::http::client::connect::Stream;
use crate::http::client::flight::Progress;

/// A stream that tells its connection's record what becomes of its first flight, and that it reads and writes.
pub(in crate::http::client) struct Watched {
    stream: Stream,
    connection: Arc<Connection>,
    /// The first flight isn't answered for.
    in_flight: bool,
}

impl Watched {
    pub(super) fn new(stream: Stream, connection: Arc<Connection>) -> Self {
        let mut watched = Self { stream, connection, in_flight: true };
        watched.look();
        watched
    }

    /// After each use of the stream, until the flight is answered for.
    fn look(&mut self) {
        let progress = match &self.stream {
            Stream::Tls(stream) => self.connection.flight.look(stream),
            Stream::Plain(_) => Progress::Settled,
        };
        match progress {
            Progress::UnderWay => return,
            Progress::Settled => self.connection.settle(),
            Progress::Failed => self.connection.retire(),
        }
        self.in_flight = false;
    }

    fn used<T>(&mut self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if self.in_flight {
            self.look();
        }
        result
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = match &mut this.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
            Stream::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
        };
        if result.is_ready() {
            this.connection.note_read();
        }
        this.used(result)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.connection.note_write();
        let result = match &mut this.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, data),
            Stream::Plain(socket) => Pin::new(socket).poll_write(cx, data),
        };
        this.used(result)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.connection.note_write();
        let result = match &mut this.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, slices),
            Stream::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, slices),
        };
        this.used(result)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Tls(stream) => stream.is_write_vectored(),
            Stream::Plain(socket) => socket.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = match &mut this.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Plain(socket) => Pin::new(socket).poll_flush(cx),
        };
        this.used(result)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let result = match &mut this.stream {
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
        };
        this.used(result)
    }
}
