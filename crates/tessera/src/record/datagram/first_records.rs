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
