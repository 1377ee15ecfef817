//! A client whose stream hyper drives while handlers read its facts.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::client::Client;

/// A client, shared by the HTTP server and the handlers.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Inner>>);

pub(super) struct Inner {
    client: Client,
    /// Change the keys of both sides before the next write.
    changes_keys: bool,
    /// Something was read from it.
    has_asked: bool,
}

impl Shared {
    pub(super) fn new(client: Client) -> Self {
        Self(Arc::new(Mutex::new(Inner { client, changes_keys: false, has_asked: false })))
    }

    /// Waits until something was read. Only the task that reads may call this: no other task is woken.
    pub(super) async fn has_asked(&self) {
        poll_fn(|_| if self.lock().has_asked { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Never waits long: no poll of the stream blocks.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Changes the keys of both sides before the next answer (RFC 8446 §4.6.3).
    pub(super) fn change_keys(&mut self) {
        self.changes_keys = true;
    }

    fn poll_change_keys(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.changes_keys {
            // Flushed: the first poll makes the change, and the KeyUpdate leaves with the answer.
            ready!(Pin::new(&mut self.client.stream).poll_flush(cx))?;
            self.changes_keys = false;
            if let Poll::Ready(changed) = pin!(self.client.stream.update_keys(true)).poll(cx) {
                return Poll::Ready(changed);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl std::ops::Deref for Inner {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl std::ops::DerefMut for Inner {
    fn deref_mut(&mut self) -> &mut Client {
        &mut self.client
    }
}

impl AsyncRead for Shared {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut client = self.lock();
        let before = buffer.filled().len();
        let read = Pin::new(&mut client.stream).poll_read(cx, buffer);
        client.has_asked |= buffer.filled().len() > before;
        client.note_handshake();
        read
    }
}

impl AsyncWrite for Shared {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut client = self.lock();
        ready!(client.poll_change_keys(cx))?;
        Pin::new(&mut client.stream).poll_write(cx, data)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.lock().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut client = self.lock();
        let ended = Pin::new(&mut client.stream).poll_shutdown(cx);
        // If early data was answered, this completes the handshake.
        client.note_handshake();
        ended
    }
}
