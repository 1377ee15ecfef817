//! Reading without a buffer that waits, and without a copy that stays.

use std::future::{Future, poll_fn};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::task::{Poll, ready};

use tokio::io::{AsyncRead, AsyncReadExt};
use zeroize::optimization_barrier;

/// Plaintext that was received or is to be sent; wiped when it is dropped. It never grows: a vector that
/// does leaves a copy behind.
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

/// As `Zeroize` does, but not byte by byte, which would cost as much as decrypting.
pub(crate) fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// Receives what is there, as soon as there is something, at most [`ROOM`]; nothing at the end. While it
/// waits it holds no buffer: idle connections are many.
pub(crate) async fn receive<R: AsyncRead + Unpin>(reader: &mut R) -> io::Result<Plaintext> {
    poll_fn(|cx| {
        // Where it stays: nothing is left on the stack.
        let mut bytes = Vec::with_capacity(ROOM);
        ready!(pin!(reader.read_buf(&mut bytes)).poll(cx))?;
        Poll::Ready(Ok(Plaintext::new(bytes)))
    })
    .await
}

/// One full record (RFC 8446 §5.1).
pub(crate) const ROOM: usize = 1 << 14;
