//! Memory of the bytes that a pump carries.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};
use zeroize::optimization_barrier;

/// How much is read at once: four of the largest records (RFC 8446 §5.1).
pub(super) const SIZE: usize = 64 * 1024;

/// The buffer of the thread, for as long as a poll takes. All of it is zero before and after.
pub(super) struct Scratch {
    /// Empty until somebody reads.
    bytes: Vec<u8>,
    /// So much of it was used.
    used: usize,
}

impl Scratch {
    pub(super) fn take() -> Self {
        // Whoever polls a pump inside of a pump's poll gets another.
        Self { bytes: SPARE.try_with(Cell::take).unwrap_or_default(), used: 0 }
    }

    /// Reads once; gives how many bytes came, which are [`filled`](Self::filled). 0 is the end.
    pub(super) fn poll_read<R: AsyncRead + Unpin>(
        &mut self,
        from: &mut R,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if self.bytes.is_empty() {
            self.bytes = vec![0; SIZE];
        }
        let mut buffer = ReadBuf::new(&mut self.bytes);
        ready!(Pin::new(from).poll_read(cx, &mut buffer))?;
        let count = buffer.filled().len();
        self.used = self.used.max(count);
        Poll::Ready(Ok(count))
    }

    /// The first `count` bytes, which were read.
    pub(super) fn filled(&self, count: usize) -> &[u8] {
        &self.bytes[..count]
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        wipe(&mut self.bytes[..self.used]);
        // A thread that ends keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.bytes)));
    }
}

thread_local! {
    /// Bytes are here for the time of one poll alone, so a thread needs one buffer for all its connections.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What was read and could not be written. It is as large as it has to be, and wiped at the end.
pub(super) struct Rest {
    bytes: Box<[u8]>,
    written: usize,
}

impl Rest {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.into(), written: 0 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
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

/// `Zeroize` of a slice writes byte by byte, which would cost as much as decrypting. This costs less than a hundredth
/// of the processor time of a bulk transfer through TLS, so it is done after each poll: whoever waited until the end of
/// the connection would have to find the threads that it ran in.
fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}
