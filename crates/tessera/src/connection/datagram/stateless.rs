//! What a server does before there is an association: it reads a ClientHello, and asks for a cookie (RFC 9147 §5.1).

use alloc::vec::Vec;

use crate::connection_id::ConnectionId;
use crate::error::Error;
use crate::limits::MAX_CLIENT_HELLO_OF_DATAGRAMS;
use crate::record::{FirstRecords, write_lone_message};
use crate::wire::{ClientHello, ExtensionType, HandshakeMessage, HandshakeType, Versions};

/// Joins the fragments of a ClientHello from an address without an association.
#[derive(Default)]
pub struct HelloReader {
    records: FirstRecords,
}

/// What a datagram is to a [`HelloReader`].
#[derive(Debug, PartialEq, Eq)]
pub enum HelloPart {
    /// The ClientHello is whole.
    Whole {
        /// 0 for the first ClientHello, and 1 for that with a cookie.
        message_seq: u16,
        /// The message with its frame.
        message: Vec<u8>,
    },
    /// More is missing.
    Partial,
    /// It begins with no fragment of a ClientHello, or with one that contradicts an earlier one.
    Other,
}

impl HelloReader {
    /// Reads a datagram. It isn't changed: the association reads it again.
    pub fn read(&mut self, datagram: &[u8]) -> HelloPart {
        match self.records.read(datagram, MAX_CLIENT_HELLO_OF_DATAGRAMS) {
            Ok(Some((message_seq, message))) => HelloPart::Whole { message_seq, message },
            Ok(None) => HelloPart::Partial,
            Err(_) => HelloPart::Other,
        }
    }

    /// Returns how many bytes are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.records.kept()
    }
}

/// Returns whether a ClientHello of DTLS 1.3 has an extension of this type.
#[must_use]
pub fn offers_extension(hello: HandshakeMessage<'_>, typ: ExtensionType) -> bool {
    let read = |reader| ClientHello::read(reader, &Versions::DTLS_1_3);
    let hello = hello.reader_for(HandshakeType::CLIENT_HELLO).and_then(read);
    hello.is_ok_and(|hello| hello.extensions.iter().any(|(it, _)| it == typ))
}

/// Appends the datagram with the HelloRetryRequest that
/// [`RetryState::request`](crate::face::RetryState::request) made.
///
/// # Errors
/// [`Error::Misuse`] if it is no message.
pub fn write_retry(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    write_lone_message(request, out).ok_or(Error::Misuse("a HelloRetryRequest that is no message"))
}

/// Returns the connection ID in the first record of a datagram, if that has one of `len` bytes: where the datagram
/// belongs, whatever address it comes from.
#[must_use]
pub fn connection_id_of(datagram: &[u8], len: usize) -> Option<ConnectionId> {
    let (first, rest) = datagram.split_first()?;
    // RFC 9147 §4: 001C, with the C bit.
    (first & 0b1111_0000 == 0b0011_0000 && len > 0)
        .then(|| rest.get(..len))
        .flatten()
        .and_then(ConnectionId::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_client_hello_is_kept_and_no_longer_one() {
        let longest = MAX_CLIENT_HELLO_OF_DATAGRAMS as u32 - 4;
        for (len, expected) in [(longest, HelloPart::Partial), (longest + 1, HelloPart::Other)] {
            // Its first byte.
            let [_, len @ ..] = len.to_be_bytes();
            let fragment = [&[1][..], &len, &[0, 0, 0, 0, 0, 0, 0, 1, 7]].concat();
            let part = [&[22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 0, 13][..], &fragment].concat();
            assert_eq!(HelloReader::default().read(&part), expected, "{len:?}");
        }
    }
}
