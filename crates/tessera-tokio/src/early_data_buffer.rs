//! Early data that waits to be read.

use zeroize::Zeroizing;

/// Bytes in order of arrival; wiped when released.
#[derive(Default)]
pub(crate) struct EarlyDataBuffer {
    bytes: Zeroizing<Vec<u8>>,
    /// How many of them were read.
    read: usize,
}

impl EarlyDataBuffer {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let len = self.bytes.len() + bytes.len();
        if len > self.bytes.capacity() {
            // A vector that grows by itself leaves a copy behind.
            let mut larger = Zeroizing::new(Vec::with_capacity(2 * len));
            larger.extend_from_slice(&self.bytes);
            self.bytes = larger;
        }
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    pub(crate) fn consume(&mut self, count: usize) {
        self.read += count;
        if self.read == self.bytes.len() {
            *self = Self::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_data_comes_out_of_its_buffer_in_order_and_leaves_no_memory() {
        let mut buffer = EarlyDataBuffer::default();
        buffer.add(b"one");
        buffer.add(b" two");
        buffer.consume(2);
        buffer.add(b" three");
        assert_eq!(buffer.bytes(), b"e two three");
        buffer.consume(11);
        assert!(buffer.bytes().is_empty());
        assert_eq!(buffer.bytes.capacity(), 0);
    }
}
