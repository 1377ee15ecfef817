//! An HTTP/2 stream that carries bytes after Extended CONNECT (RFC 8441 §5).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h2::{Reason, RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Both directions of an HTTP/2 stream. END_STREAM is the end of a direction, RST_STREAM an error. The peer's window
/// opens as bytes are read; bytes are written as far as the peer's window allows. Dropped before its end, it resets the
/// stream with CANCEL.
pub(in crate::http) struct Http2Stream {
    receive: RecvStream,
    /// The rest of a frame.
    frame: Bytes,
    send: SendStream<Bytes>,
}

impl Http2Stream {
    pub(in crate::http) fn new(receive: RecvStream, send: SendStream<Bytes>) -> Self {
        Self { receive, frame: Bytes::new(), send }
    }

    /// Ready when the peer has reset the stream, or the connection has ended: a direction that waits for neither a read
    /// nor a write doesn't notice.
    pub(in crate::http) fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.send.poll_reset(cx).map(drop)
    }
}

impl AsyncRead for Http2Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.frame.is_empty() {
            match ready!(this.receive.poll_data(cx)) {
                Some(Ok(data)) => this.frame = data,
                Some(Err(error)) => return Poll::Ready(Err(failure(error))),
                None => return Poll::Ready(Ok(())),
            }
        }
        let count = this.frame.len().min(buffer.remaining());
        buffer.put_slice(&this.frame[..count]);
        this.frame.advance(count);
        // On an error the stream is closed, and needs no window.
        let _ = this.receive.flow_control().release_capacity(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Http2Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let send = &mut self.get_mut().send;
        if data.is_empty() {
            return Poll::Ready(Ok(0));
        }
        send.reserve_capacity(data.len());
        while send.capacity() == 0 {
            match ready!(send.poll_capacity(cx)) {
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(failure(error))),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
        let count = send.capacity().min(data.len());
        send.send_data(Bytes::copy_from_slice(&data[..count]), false).map_err(failure)?;
        Poll::Ready(Ok(count))
    }

    /// The connection sends by itself.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().send.send_data(Bytes::new(), true).map_err(failure))
    }
}

fn failure(error: h2::Error) -> io::Error {
    match error.reason() {
        _ if error.is_io() => match error.into_io() {
            Some(error) => error,
            None => io::ErrorKind::ConnectionReset.into(),
        },
        // RFC 8441 §5: as TCP's RST.
        Some(Reason::CANCEL | Reason::NO_ERROR) => io::ErrorKind::ConnectionReset.into(),
        _ => io::Error::new(io::ErrorKind::ConnectionReset, error),
    }
}
