//! Reading and writing.

use std::io::Result;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::FirstFlight;
use super::flight::State;
use crate::wakers::Half;

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncRead for FirstFlight<IO> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_verdict(Half::Read, cx))?;
        // A reader neither waits for the rest to be sent nor reports why it can't be.
        let _ = this.poll_rest(Half::Read, cx);
        Pin::new(&mut this.stream).poll_read(cx, buffer)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> AsyncWrite for FirstFlight<IO> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize>> {
        let this = self.get_mut();
        while let Some(flight) = &mut this.flight {
            match flight.state {
                State::Gathering => {
                    let room = this.stream.driver.machine.connection.early_data_room();
                    let room = flight.room().min(room.saturating_sub(flight.kept.bytes().len()));
                    let count = data.len().min(room);
                    flight.kept.add(&data[..count]);
                    if flight.is_whole() || count == room {
                        flight.depart();
                    }
                    if count > 0 || data.is_empty() {
                        this.go_on(cx);
                        return Poll::Ready(Ok(count));
                    }
                }
                State::UnderWay => {
                    let _ = this.poll_send_early(Half::Write, cx);
                    if let Some(count) = ready!(this.poll_write_more(data, cx)) {
                        return Poll::Ready(Ok(count));
                    }
                    ready!(this.poll_verdict(Half::Write, cx))?;
                }
                State::Answered => ready!(this.poll_rest(Half::Write, cx))?,
                State::Failed(ref error) => return Poll::Ready(Err(error.to_io())),
            }
        }
        Pin::new(&mut this.stream).poll_write(cx, data)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        while let Some(flight) = &mut this.flight {
            match flight.state {
                State::Gathering => {
                    // Data held for a request leaves later, when the wait expires if no request is
                    // written.
                    if !flight.kept.bytes().is_empty() {
                        this.go_on(cx);
                    }
                    if this.is_gathering() {
                        return Poll::Ready(Ok(()));
                    }
                }
                State::UnderWay => {
                    let _ = this.poll_send_early(Half::Write, cx);
                    let all = this.flight.as_ref().is_none_or(|flight| flight.unsent().is_empty());
                    if all && let Poll::Ready(Ok(())) = Pin::new(&mut this.stream).poll_flush(cx) {
                        return Poll::Ready(Ok(()));
                    }
                    // More data than may be early, or it can't be sent: continue the handshake.
                    ready!(this.poll_verdict(Half::Write, cx))?;
                }
                State::Answered => ready!(this.poll_rest(Half::Write, cx))?,
                State::Failed(ref error) => return Poll::Ready(Err(error.to_io())),
            }
        }
        Pin::new(&mut this.stream).poll_flush(cx)
    }

    /// Ends this side's direction once the handshake is complete and everything was sent.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_settled(cx))?;
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

impl<IO: AsyncRead + AsyncWrite + Unpin> FirstFlight<IO> {
    fn is_gathering(&self) -> bool {
        self.flight.as_ref().is_some_and(|flight| matches!(flight.state, State::Gathering))
    }

    /// Drives the handshake as far as possible after a write, so that waiting tasks are woken. A failure is
    /// kept and reported by the next call.
    fn go_on(&mut self, cx: &mut Context<'_>) {
        let _ = self.poll_verdict(Half::Write, cx);
    }

    /// Writes more early data while the flight is in progress; `None` if no more can be sent early.
    fn poll_write_more(&mut self, data: &[u8], cx: &mut Context<'_>) -> Poll<Option<usize>> {
        let Some(flight) = &mut self.flight else { return Poll::Ready(None) };
        let data = &data[..data.len().min(flight.room())];
        if data.is_empty() || !flight.unsent().is_empty() {
            return Poll::Ready(None);
        }
        match ready!(self.stream.poll_write_early(Half::Write, data, cx)) {
            Ok(count @ 1..) => {
                flight.kept.add(&data[..count]);
                flight.sent += count;
                Poll::Ready(Some(count))
            }
            // The handshake reports the reason.
            _ => Poll::Ready(None),
        }
    }
}
