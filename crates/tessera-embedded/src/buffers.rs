//! The memory that a caller lends to a connection.

use core::fmt;

use tessera::crypto::TAG_LEN;
use tessera::{ClientConnection, Padding};

/// The memory of one connection's records, lent for as long as its stream lives and wiped at its end.
///
/// Arrays in a `static`, on the stack or in a task; all that is longer than a record is on the heap.
#[derive(Debug)]
pub struct Buffers<'b> {
    /// Where records of the peer arrive and are decrypted: at least [`input_len`] bytes, and the peer's hello must fit. A
    /// ServerHello with X25519MLKEM768 has 1.2 KB, a ClientHello with it up to 2 KB; no record_size_limit applies to them.
    pub input: &'b mut [u8],
    /// Where data waits until it fills a record or is flushed, and is encrypted: at least [`output_len`]`(64)` bytes, and for
    /// one record as the configuration pads it. Records are as long as it is, and as the peer allows.
    pub output: &'b mut [u8],
}

/// Returns how long the input must be for records of up to this record_size_limit (RFC 8449), in bytes: with the record's
/// header and its tag. For a configuration without a limit it is 16,406 ([`LARGEST_INPUT`]).
#[must_use]
pub const fn input_len(record_size_limit: u16) -> usize {
    HEADER_LEN + record_size_limit as usize + TAG_LEN
}

/// Returns how long the output must be for records with this many bytes of data.
#[must_use]
pub const fn output_len(data: usize) -> usize {
    // The content's type is one byte.
    HEADER_LEN + data + 1 + TAG_LEN
}

/// The length of an input for records of any length that TLS 1.3 allows, in bytes.
pub const LARGEST_INPUT: usize = input_len(LARGEST_RECORD);

impl Buffers<'_> {
    /// Checks that they are large enough for the records that a configuration allows, and as long as it pads them.
    pub(crate) fn check(&self, records: Records) -> Result<(), BufferTooSmall> {
        let input = input_len(records.limit.unwrap_or(LARGEST_RECORD));
        let padded = match records.padding {
            Padding::MultipleOf(multiple) => multiple.get().min(LARGEST_RECORD - 1).into(),
            _ => 0,
        };
        let output = output_len(LEAST_DATA.max(padded));
        let buffers =
            [(Buffer::Input, self.input.len(), input), (Buffer::Output, self.output.len(), output)];
        for (buffer, len, needed) in buffers {
            if len < needed {
                return Err(BufferTooSmall { buffer, missing: needed - len });
            }
        }
        Ok(())
    }
}

/// What a configuration determines of records.
#[derive(Clone, Copy)]
pub(crate) struct Records {
    /// Its record_size_limit.
    pub(crate) limit: Option<u16>,
    pub(crate) padding: Padding,
}

/// A buffer is too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferTooSmall {
    /// Which one.
    pub buffer: Buffer,
    /// How many bytes it lacks.
    pub missing: usize,
}

impl fmt::Display for BufferTooSmall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing;
        match self.buffer {
            Buffer::Input => write!(
                f,
                "the input buffer lacks {missing} bytes: lengthen it, or lower record_size_limit"
            ),
            Buffer::Output => write!(f, "the output buffer lacks {missing} bytes: lengthen it"),
        }
    }
}

impl core::error::Error for BufferTooSmall {}

/// One of the [`Buffers`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// [`Buffers::input`].
    Input,
    /// [`Buffers::output`].
    Output,
}

const HEADER_LEN: usize = ClientConnection::DATA_AT;

/// RFC 8449 §4: the protocol's own limit.
const LARGEST_RECORD: u16 = 16_385;

/// Records with less would be mostly headers and tags.
const LEAST_DATA: usize = 64;
