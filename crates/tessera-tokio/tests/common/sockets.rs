//! Pipes that a test can inspect.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

/// A pipe that records each write.
pub struct Recording {
    pub io: DuplexStream,
    pub writes: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Recording {
    pub fn new(io: DuplexStream) -> (Self, Arc<Mutex<Vec<Vec<u8>>>>) {
        let writes = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        (Self { io, writes: writes.clone() }, writes)
    }
}

impl AsyncRead for Recording {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Recording {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { io, writes } = &mut *self;
        // Recorded before a reader on another thread sees it.
        let mut writes = writes.lock().unwrap();
        let written = Pin::new(io).poll_write(cx, data);
        if let Poll::Ready(Ok(count)) = written {
            writes.push(data[..count].to_vec());
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
