//! Carries standard input to the server, and the server's data to standard output.

use std::future::poll_fn;
use std::io::{self, ErrorKind, IsTerminal};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tessera_kit::report::Report;
use tessera_tokio::ClientStream;
use tessera_tokio::fast_open::FastOpenStream;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::standard::{Input, Output};
use crate::counted::CountedStream;
use crate::receive::{Plaintext, receive};

type Stream = ClientStream<CountedStream<FastOpenStream>>;

/// Carries data between a connection and standard input and output.
pub(super) struct Carrier<'a> {
    pub(super) stream: &'a mut Stream,
    pub(super) report: &'a Report,
    /// Leave it to the server to end the connection after the end of standard input.
    pub(super) keep_open: bool,
    /// Discard what the server sends.
    pub(super) silent: bool,
}

impl Carrier<'_> {
    /// Carries data until both directions have ended. A server that has closed its direction may go on reading (RFC
    /// 8446 §6.1).
    ///
    /// `first` is sent before standard input.
    pub(super) async fn carry(&mut self, first: &[u8]) -> io::Result<()> {
        let (mut input, mut output) = (Input::open()?, Output::open()?);
        let mut open = Directions { sending: true, receiving: true };
        self.send(&mut output, first, &mut open).await?;
        while open.sending || open.receiving {
            tokio::select! {
                read = receive(self.stream), if open.receiving => {
                    self.show(&mut output, read?, &mut open).await?;
                }
                read = input.read(), if open.sending => {
                    let read = read?;
                    self.send(&mut output, &read, &mut open).await?;
                    if read.is_empty() {
                        open.sending = false;
                        // Flushed: the system has everything, so a close_notify that fails loses nothing.
                        self.push(&mut output, &mut open, |stream, cx| stream.poll_flush(cx)).await?;
                        if !self.keep_open {
                            let _ = self.stream.shutdown().await;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends all of it.
    async fn send(
        &mut self,
        output: &mut Output,
        mut data: &[u8],
        open: &mut Directions,
    ) -> io::Result<()> {
        while !data.is_empty() {
            let count = self.push(output, open, |stream, cx| stream.poll_write(cx, data)).await?;
            data = data.get(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Writes or flushes, and receives meanwhile: two peers that only wrote would deadlock.
    async fn push<T>(
        &mut self,
        output: &mut Output,
        open: &mut Directions,
        mut push: impl FnMut(Pin<&mut Stream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> io::Result<T> {
        loop {
            let moved = poll_fn(|cx| match push(Pin::new(&mut *self.stream), cx) {
                Poll::Ready(pushed) => Poll::Ready(TransferEvent::Pushed(pushed)),
                Poll::Pending if open.receiving => {
                    pin!(receive(self.stream)).poll(cx).map(TransferEvent::Received)
                }
                Poll::Pending => Poll::Pending,
            });
            match moved.await {
                TransferEvent::Pushed(Ok(pushed)) => return Ok(pushed),
                TransferEvent::Pushed(Err(error)) => {
                    return Err(self.explain(output, error, open).await);
                }
                TransferEvent::Received(read) => self.show(output, read?, open).await?,
            }
        }
    }

    /// Writes received data to standard output; empty data ends that direction.
    async fn show(
        &mut self,
        output: &mut Output,
        read: Plaintext,
        open: &mut Directions,
    ) -> io::Result<()> {
        if read.is_empty() {
            open.receiving = false;
            if open.sending && io::stdin().is_terminal() {
                // The server has closed, so further input is pointless; earlier input was sent.
                open.sending = false;
            } else if open.sending {
                self.report.line(&"the server has ended its side; standard input goes on to it");
            }
            return Ok(());
        }
        if self.silent { Ok(()) } else { output.write(read).await }
    }

    /// Explains a failed write: the alert that the server sent before it closed matters more than the close. Data that
    /// it sent before is still shown.
    async fn explain(
        &mut self,
        output: &mut Output,
        failed: io::Error,
        open: &mut Directions,
    ) -> io::Error {
        if !matches!(failed.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) {
            return failed;
        }
        let last_words = async {
            while open.receiving {
                let read = receive(self.stream).await?;
                self.show(output, read, open).await?;
            }
            io::Result::Ok(())
        };
        match timeout(LAST_WORDS, last_words).await {
            Ok(Err(error)) if is_alert(&error) => error,
            _ => io::Error::new(
                failed.kind(),
                format!("the server closed before everything was sent ({failed})"),
            ),
        }
    }
}

fn is_alert(error: &io::Error) -> bool {
    let of_engine = error.get_ref().and_then(|error| error.downcast_ref());
    matches!(of_engine, Some(tessera::Error::AlertReceived(_)))
}

/// The directions that are still open.
struct Directions {
    sending: bool,
    receiving: bool,
}

enum TransferEvent<T> {
    Pushed(io::Result<T>),
    Received(io::Result<Plaintext>),
}

/// How long to wait, after a failed write, for what the server sent last: it has arrived or is in flight.
const LAST_WORDS: Duration = Duration::from_secs(1);
