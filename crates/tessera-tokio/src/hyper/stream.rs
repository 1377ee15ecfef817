//! A connection of a client, as hyper reads and writes it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;

use super::report::FlightReport;
use crate::first_flight::FirstFlight;

/// What an [`HttpsConnector`](super::HttpsConnector) connects: TLS, or plaintext where it is allowed.
pub struct HttpsStream<IO>(Kind<IO>);

enum Kind<IO> {
    Tls(Box<Tls<IO>>),
    Plain(IO),
}

struct Tls<IO> {
    stream: TokioIo<FirstFlight<TokioIo<IO>>>,
    report: FlightReport,
    /// The report already has the server's answer.
    is_answered: bool,
}

impl<IO> HttpsStream<IO> {
    pub(super) fn plain(io: IO) -> Self {
        Self(Kind::Plain(io))
    }

    pub(super) fn tls(stream: FirstFlight<TokioIo<IO>>, report: FlightReport) -> Self {
        let stream = TokioIo::new(stream);
        Self(Kind::Tls(Box::new(Tls { stream, report, is_answered: false })))
    }
}

impl<IO: Read + Write + Unpin> Tls<IO> {
    /// Passes the result through, and copies the outcome of the first flight to the report.
    fn told<T>(&mut self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &result {
            self.report.failed(error, self.stream.inner().early_data());
        }
        result
    }
}

impl<IO: Connection + Read + Write + Unpin> Connection for HttpsStream<IO> {
    fn connected(&self) -> Connected {
        match &self.0 {
            Kind::Plain(io) => io.connected(),
            Kind::Tls(tls) => {
                let stream = tls.stream.inner();
                let connected = stream.get_ref().inner().connected().extra(tls.report.clone());
                if stream.protocol() == Some(b"h2") { connected.negotiated_h2() } else { connected }
            }
        }
    }
}

impl<IO: Read + Write + Unpin> Read for HttpsStream<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Plain(io) => Pin::new(io).poll_read(cx, buffer),
            Kind::Tls(tls) => {
                let read = Pin::new(&mut tls.stream).poll_read(cx, buffer);
                if !tls.is_answered && matches!(read, Poll::Ready(Ok(()))) {
                    tls.is_answered = true;
                    tls.report.answered(tls.stream.inner().early_data());
                }
                tls.told(read)
            }
        }
    }
}

impl<IO: Read + Write + Unpin> Write for HttpsStream<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Kind::Plain(io) => Pin::new(io).poll_write(cx, data),
            Kind::Tls(tls) => {
                let written = Pin::new(&mut tls.stream).poll_write(cx, data);
                tls.told(written)
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Plain(io) => Pin::new(io).poll_flush(cx),
            Kind::Tls(tls) => {
                let flushed = Pin::new(&mut tls.stream).poll_flush(cx);
                tls.told(flushed)
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Kind::Tls(tls) => {
                let ended = Pin::new(&mut tls.stream).poll_shutdown(cx);
                tls.told(ended)
            }
        }
    }
}
