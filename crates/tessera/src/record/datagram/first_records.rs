//! The records of a ClientHello, before there is an association.

use alloc::vec::Vec;

use super::fragment::{FRAGMENT_HEADER_LEN, Fragment};
use super::fragments::{Arrival, Fragments};
use super::header::{PLAINTEXT_HEADER_LEN, RecordHeader, write_plaintext_header};
use super::record_number::RecordNumber;
use crate::error::{Error, unexpected_message};
use crate::limits::MAX_PLAINTEXT;
use crate::wire::{ContentType, HandshakeType, Reader};

/// The fragments of one ClientHello.
#[derive(Default)]
pub(crate) struct FirstRecords {
    fragments: Fragments,
    /// Which message it is: the first ClientHello, or the second, with a cookie.
    message_seq: Option<u16>,
}

impl FirstRecords {
    /// Reads the plaintext records at the beginning of a datagram; returns the number of the ClientHello and the
    /// message once it is whole.
    pub(crate) fn read(
        &mut self,
        datagram: &[u8],
        longest: usize,
    ) -> Result<Option<(u16, Vec<u8>)>, Error> {
        let mut rest = datagram;
        let mut has_any = false;
        while let Some(RecordHeader::Plaintext { typ, content, .. }) = RecordHeader::read(rest, &[])
            && typ == ContentType::HANDSHAKE
            && content.len() <= MAX_PLAINTEXT
        {
            let mut reader = Reader::new(&rest[content.clone()]);
            while !reader.is_empty() {
                self.add(Fragment::read(&mut reader)?, longest)?;
                has_any = true;
            }
            rest = &rest[content.end..];
        }
        if !has_any {
            return Err(NO_HELLO);
        }
        Ok(self.message_seq.zip(self.fragments.next().map(|(_, message)| message)))
    }

    fn add(&mut self, fragment: Fragment<'_>, longest: usize) -> Result<(), Error> {
        let seq = fragment.message_seq;
        if fragment.typ != HandshakeType::CLIENT_HELLO || seq > 1 {
            return Err(NO_HELLO);
        }
        match self.message_seq {
            Some(begun) if begun != seq => return Err(NO_HELLO),
            Some(_) => (),
            None => {
                self.message_seq = Some(seq);
                self.fragments.skip_to(seq);
            }
        }
        match self.fragments.insert(fragment, 0, longest)? {
            Arrival::Kept => Ok(()),
            Arrival::Old | Arrival::Dropped => Err(NO_HELLO),
        }
    }

    /// Returns how many bytes are kept.
    pub(crate) fn kept(&self) -> usize {
        self.fragments.kept()
    }
}

/// Appends a plaintext record with the whole message, both of them number 0; `None` if the message has no frame.
pub(crate) fn write_lone_message(message: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (frame, body) = message.split_first_chunk::<4>()?;
    let number = RecordNumber { epoch: 0, sequence: 0 };
    out.reserve(PLAINTEXT_HEADER_LEN + FRAGMENT_HEADER_LEN + body.len());
    write_plaintext_header(out, ContentType::HANDSHAKE, number, FRAGMENT_HEADER_LEN + body.len());
    Fragment::write_header(out, (HandshakeType(frame[0]), body.len(), 0), 0..body.len());
    out.extend_from_slice(body);
    Some(())
}

const NO_HELLO: Error = unexpected_message("no ClientHello");

#[cfg(test)]
mod tests {
    use core::ops::Range;

    use super::*;

    /// Returns a plaintext record with this part of a message of two bytes, a number of times.
    fn record(typ: HandshakeType, seq: u16, range: Range<usize>, count: usize) -> Vec<u8> {
        let mut fragment = Vec::new();
        Fragment::write_header(&mut fragment, (typ, 2, seq), range.clone());
        fragment.extend_from_slice(&b"ab"[range]);
        let content = fragment.repeat(count);
        let mut record = Vec::new();
        let number = RecordNumber { epoch: 0, sequence: 0 };
        write_plaintext_header(&mut record, ContentType::HANDSHAKE, number, content.len());
        record.extend(content);
        record
    }

    #[test]
    fn the_records_of_one_client_hello_are_read_and_no_others() {
        let hello = |seq, range, count| record(HandshakeType::CLIENT_HELLO, seq, range, count);
        let parts = |seqs: [u16; 2]| [hello(seqs[0], 0..1, 1), hello(seqs[1], 1..2, 1)].concat();
        let fragment_len = FRAGMENT_HEADER_LEN + 2;
        for (what, datagram, expected) in [
            ("the first", hello(0, 0..2, 1), Ok(Some(0))),
            ("that with a cookie", hello(1, 0..2, 1), Ok(Some(1))),
            ("a third", hello(2, 0..2, 1), Err(NO_HELLO)),
            ("another message", record(HandshakeType::FINISHED, 0, 0..2, 1), Err(NO_HELLO)),
            ("both parts of one", parts([1, 1]), Ok(Some(1))),
            ("parts of two", parts([0, 1]), Err(NO_HELLO)),
            (
                "as often as a record holds",
                hello(0, 0..2, MAX_PLAINTEXT / fragment_len),
                Ok(Some(0)),
            ),
            ("too long a record", hello(0, 0..2, MAX_PLAINTEXT / fragment_len + 1), Err(NO_HELLO)),
        ] {
            let read = FirstRecords::default().read(&datagram, 1000);
            assert_eq!(read.map(|it| it.map(|(seq, _)| seq)), expected, "{what}");
        }
    }
}
