//! Reading without a buffer per idle connection, and without copies left in memory.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt};
use zeroize::optimization_barrier;

/// Plaintext received or to be sent; wiped on drop. It never grows: a growing vector leaves a copy behind.
#[derive(Default)]
pub(crate) struct Plaintext(Vec<u8>);

impl Plaintext {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for Plaintext {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Plaintext {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Like `Zeroize`, but not byte by byte, which would cost as much as decrypting.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// Receives what is available, at most [`ROOM`] bytes; empty at the end. It holds no buffer while it waits: most
/// connections are idle.
pub(crate) async fn receive<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Plaintext> {
    poll_fn(|cx| {
        // Read in place, so that no copy stays on the stack.
        let mut bytes = Vec::with_capacity(ROOM);
        ready!(pin!(reader.read_buf(&mut bytes)).poll(cx))?;
        Poll::Ready(Ok(Plaintext::new(bytes)))
    })
    .await
}

/// One full record (RFC 8446 §5.1).
pub(crate) const ROOM: usize = 1 << 14;
