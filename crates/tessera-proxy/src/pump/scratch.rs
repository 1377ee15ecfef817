//! The memory for bytes that a pump carries.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use zeroize::optimization_barrier;

/// How much is read at once: four of the largest records (RFC 8446 §5.1).
pub(super) const SIZE: usize = 64 * 1024;

/// The thread's buffer, for the time of a poll. All zeros before and after.
pub(crate) struct Scratch {
    /// Empty until the first read.
    bytes: Vec<u8>,
    /// How much of it was used.
    used: usize,
}

impl Scratch {
    pub(crate) fn take() -> Self {
        // A pump polled within another pump's poll gets a new one.
        Self { bytes: SPARE.try_with(Cell::take).unwrap_or_default(), used: 0 }
    }

    /// Reads once; returns the number of bytes, now in [`filled`](Self::filled). 0 is the end.
    pub(super) fn poll_read<R: AsyncRead + Unpin>(
        &mut self,
        from: &mut R,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(self.buffer());
        ready!(Pin::new(from).poll_read(cx, &mut buffer))?;
        let count = buffer.filled().len();
        self.used = self.used.max(count);
        Poll::Ready(Ok(count))
    }

    /// Reads once by a call; returns a copy of what was read, and what the call returned with its length.
    pub(crate) fn read_with<T>(
        &mut self,
        read: impl FnOnce(&mut [u8]) -> io::Result<(usize, T)>,
    ) -> io::Result<(Rest, T)> {
        let (count, of) = read(self.buffer())?;
        self.used = self.used.max(count);
        Ok((Rest::new(self.filled(count)), of))
    }

    fn buffer(&mut self) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = vec![0; SIZE];
        }
        &mut self.bytes
    }

    /// Returns the first `count` bytes, which were read.
    pub(super) fn filled(&self, count: usize) -> &[u8] {
        &self.bytes[..count]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        wipe(&mut self.bytes[..self.used]);
        // An ending thread keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.bytes)));
    }
}

thread_local! {
    /// Bytes stay here only during a poll, so a thread needs one buffer for all its connections.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What was read and could not be written, in a buffer of exactly its size, wiped at the end.
pub(crate) struct Rest {
    bytes: Box<[u8]>,
    written: usize,
}

impl Rest {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), written: 0 }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    pub(super) fn consume(&mut self, count: usize) {
        self.written += count;
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        wipe(&mut self.bytes);
    }
}

/// `Zeroize` of a slice writes byte by byte, which would cost as much as decrypting. This takes less than a hundredth
/// of the processor time of a bulk transfer through TLS, so it runs after each poll; at the end of a connection it
/// would have to find the buffers of all threads that the connection ran on.
fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}
