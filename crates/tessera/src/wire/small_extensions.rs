//! The extensions that are one small value each.
//!
//! A new one needs four edits: its code point, its value, its line in the table, and its value to send
//! (`small_extensions` of `ClientConfig` or `ServerConfig`).

use alloc::vec::Vec;

use super::code_points::{ExtensionType, HandshakeType};
use super::extensions::write_extension;
use super::reader::Reader;
use super::writer::Writer;
use crate::error::{Error, illegal_parameter};
use crate::limits::MAX_RECORD_SIZE_LIMIT;

macro_rules! small_extensions {
    ($($(#[$doc:meta])* $name:ident: $value:ty, in $($message:ident)|+;)*) => {
        /// The small extensions of one message; `None` for absent ones.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct SmallExtensions {
            $($(#[$doc])* pub $name: Option<$value>,)*
        }

        impl SmallExtensions {
            /// Reads an extension if it is one of these and may be in `message`; returns whether it was.
            pub fn read(
                &mut self,
                message: HandshakeType,
                typ: ExtensionType,
                body: Reader<'_>,
            ) -> Result<bool, Error> {
                match (typ, message) {
                    $((<$value as SmallExtension>::TYPE, $(HandshakeType::$message)|+) => {
                        self.$name = Some(read_whole(body)?);
                    })*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// Returns whether `message` has this extension.
            pub fn has(&self, message: HandshakeType, typ: ExtensionType) -> bool {
                match (typ, message) {
                    $((<$value as SmallExtension>::TYPE, $(HandshakeType::$message)|+) => {
                        self.$name.is_some()
                    })*
                    _ => false,
                }
            }

            /// Appends those that may be in `message`, in the order of the table.
            pub fn write(&self, message: HandshakeType, out: &mut Vec<u8>) {
                $(if matches!(message, $(HandshakeType::$message)|+) {
                    write_small_extension(self.$name, out);
                })*
            }
        }
    };
}

small_extensions! {
    /// record_size_limit (RFC 8449).
    record_size_limit: RecordSizeLimit, in CLIENT_HELLO | ENCRYPTED_EXTENSIONS;
    /// max_fragment_length (RFC 6066 §4), which older peers know.
    max_fragment_length: MaxFragmentLength, in CLIENT_HELLO | ENCRYPTED_EXTENSIONS;
    /// ticket_request: how many tickets the client asks for (RFC 9149).
    ticket_request: TicketRequest, in CLIENT_HELLO;
    /// ticket_request: the server's answer to it.
    expected_tickets: ExpectedTickets, in ENCRYPTED_EXTENSIONS;
    /// early_records: the client asks how many records of its early data arrived (docs/0rtt-fs.md).
    counts_early_records: CountEarlyRecords, in CLIENT_HELLO;
    /// early_records: the server's answer to it.
    early_records_taken: EarlyRecordsTaken, in ENCRYPTED_EXTENSIONS;
    /// early_data: how much of it, replayable, may come with a ticket (RFC 8446 §4.6.1).
    max_early_data_size: MaxEarlyDataSize, in NEW_SESSION_TICKET;
}

impl SmallExtensions {
    /// Returns the largest records that the peer and this side accept, in bytes of plaintext and content type, if these
    /// extensions of the peer's hello or answer and this side's `own` agree on any.
    pub fn records(&self, own: &Self) -> Option<[u16; 2]> {
        if let Some((peer, own)) = self.record_size_limit.zip(own.record_size_limit) {
            return Some([peer.0, own.0]);
        }
        // One value for both directions.
        let fragment = self.max_fragment_length.filter(|it| Some(*it) == own.max_fragment_length);
        fragment.map(|fragment| [fragment.record_size(); 2])
    }
}

/// An extension that is one small value.
pub trait SmallExtension: Copy {
    /// Its code point.
    const TYPE: ExtensionType;

    /// Reads the contents; the caller refuses bytes that are left over.
    fn read(body: &mut Reader<'_>) -> Result<Self, Error>;

    /// Appends the contents.
    fn write(self, out: &mut Vec<u8>);
}

/// Appends one small extension, if present.
pub fn write_small_extension<E: SmallExtension>(value: Option<E>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        write_extension(out, E::TYPE, |out| value.write(out));
    }
}

fn read_whole<E: SmallExtension>(mut body: Reader<'_>) -> Result<E, Error> {
    let value = E::read(&mut body)?;
    body.finish()?;
    Ok(value)
}

/// record_size_limit: the largest record that a side accepts, in bytes of plaintext and content type
/// (RFC 8449).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordSizeLimit(pub u16);

impl SmallExtension for RecordSizeLimit {
    const TYPE: ExtensionType = ExtensionType::RECORD_SIZE_LIMIT;

    /// Less than 64 is an error (RFC 8449 §4).
    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        match body.u16()? {
            limit @ 64.. => Ok(Self(limit)),
            _ => {
                // A malformed extension is decode_error, whatever its value.
                body.finish()?;
                Err(illegal_parameter("record_size_limit is below 64"))
            }
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u16(self.0);
    }
}

/// max_fragment_length: the most content of a record, in either direction, as a code (RFC 6066 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxFragmentLength(pub u8);

impl MaxFragmentLength {
    /// Returns the largest that a side may offer if it accepts only records of `limit`.
    pub fn within(limit: u16) -> Option<Self> {
        let codes = (1..=4).rev().map(Self).filter(|_| limit < MAX_RECORD_SIZE_LIMIT);
        codes.into_iter().find(|code| code.record_size() <= limit)
    }

    /// Returns whether the code has a meaning.
    pub fn is_known(self) -> bool {
        matches!(self.0, 1..=4)
    }

    /// Returns the size of records in the terms of record_size_limit, which count the content type.
    pub fn record_size(self) -> u16 {
        (256 << (self.0 & 7)) + 1
    }
}

impl SmallExtension for MaxFragmentLength {
    const TYPE: ExtensionType = ExtensionType::MAX_FRAGMENT_LENGTH;

    /// Reads any code: next to record_size_limit a server ignores it (RFC 8449 §5).
    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        body.u8().map(Self)
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u8(self.0);
    }
}

/// How many tickets a client asks for (RFC 9149).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketRequest {
    /// After a full handshake.
    pub new_session_count: u8,
    /// After a resumption.
    pub resumption_count: u8,
}

impl TicketRequest {
    /// Returns the request with at most `most` of either.
    pub(crate) fn at_most(self, most: u8) -> Self {
        Self {
            new_session_count: self.new_session_count.min(most),
            resumption_count: self.resumption_count.min(most),
        }
    }
}

impl SmallExtension for TicketRequest {
    const TYPE: ExtensionType = ExtensionType::TICKET_REQUEST;

    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self { new_session_count: body.u8()?, resumption_count: body.u8()? })
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u8(self.new_session_count);
        out.u8(self.resumption_count);
    }
}

/// How many tickets the server expects to send (RFC 9149).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedTickets(pub u8);

impl SmallExtension for ExpectedTickets {
    const TYPE: ExtensionType = ExtensionType::TICKET_REQUEST;

    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        body.u8().map(Self)
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u8(self.0);
    }
}

/// The client asks how many records of its early data arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountEarlyRecords;

impl SmallExtension for CountEarlyRecords {
    const TYPE: ExtensionType = ExtensionType::EARLY_RECORDS;

    fn read(_: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self)
    }

    fn write(self, _: &mut Vec<u8>) {}
}

/// How many records of early data the server has taken: those with the lowest numbers. It takes no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlyRecordsTaken(pub u32);

impl SmallExtension for EarlyRecordsTaken {
    const TYPE: ExtensionType = ExtensionType::EARLY_RECORDS;

    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        body.u32().map(Self)
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u32(self.0);
    }
}

/// early_data of a ticket: how much replayable early data the server accepts, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxEarlyDataSize(pub u32);

impl SmallExtension for MaxEarlyDataSize {
    const TYPE: ExtensionType = ExtensionType::EARLY_DATA;

    fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        body.u32().map(Self)
    }

    fn write(self, out: &mut Vec<u8>) {
        out.u32(self.0);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::alert::AlertDescription;

    const HELLO: HandshakeType = HandshakeType::CLIENT_HELLO;
    const ANSWER: HandshakeType = HandshakeType::ENCRYPTED_EXTENSIONS;
    const TICKET: HandshakeType = HandshakeType::NEW_SESSION_TICKET;

    fn read(
        message: HandshakeType,
        typ: ExtensionType,
        body: &[u8],
    ) -> Result<Option<SmallExtensions>, Option<AlertDescription>> {
        let mut small = SmallExtensions::default();
        let read = small.read(message, typ, Reader::new(body)).map_err(|error| error.alert())?;
        Ok(read.then_some(small))
    }

    /// A message reads exactly the small extensions that it writes, and none of other messages.
    #[test]
    fn each_message_writes_and_reads_its_own_small_extensions() {
        let of_servers = SmallExtensions {
            expected_tickets: Some(ExpectedTickets(3)),
            early_records_taken: Some(EarlyRecordsTaken(0x0506_0708)),
            max_early_data_size: Some(MaxEarlyDataSize(0x0102_0304)),
            ..SmallExtensions::default()
        };
        let all = SmallExtensions {
            record_size_limit: Some(RecordSizeLimit(64)),
            max_fragment_length: Some(MaxFragmentLength(4)),
            ticket_request: Some(TicketRequest { new_session_count: 2, resumption_count: 1 }),
            counts_early_records: Some(CountEarlyRecords),
            ..of_servers
        };
        let expected = [
            (HELLO, vec![0, 28, 0, 2, 0, 64, 0, 1, 0, 1, 4, 0, 58, 0, 2, 2, 1, 0xff, 0x5e, 0, 0]),
            (
                ANSWER,
                vec![
                    0, 28, 0, 2, 0, 64, 0, 1, 0, 1, 4, 0, 58, 0, 1, 3, 0xff, 0x5e, 0, 4, 5, 6, 7, 8,
                ],
            ),
            (TICKET, vec![0, 42, 0, 4, 1, 2, 3, 4]),
            (HandshakeType::CERTIFICATE_REQUEST, vec![]),
        ];
        for (message, bytes) in expected {
            let mut out = Vec::new();
            all.write(message, &mut out);
            assert_eq!(out, bytes, "{message:?}");
            let mut reader = Reader::new(&out);
            let mut small = SmallExtensions::default();
            while !reader.is_empty() {
                let typ = ExtensionType(reader.u16().expect("a type"));
                let body = Reader::new(reader.vec16().expect("contents"));
                assert!(all.has(message, typ) && !small.has(message, typ), "{typ:?}");
                assert_eq!(small.read(message, typ, body), Ok(true), "{typ:?}");
                assert!(small.has(message, typ), "{typ:?}");
            }
            let mut again = Vec::new();
            small.write(message, &mut again);
            assert_eq!(again, out);
        }
    }

    #[test]
    fn a_max_fragment_length_fits_the_record_size_limit_next_to_it() {
        let expected = [
            (64, None),
            (512, None),
            (513, Some(1)),
            (1_024, Some(1)),
            (2_048, Some(2)),
            (4_097, Some(4)),
            (16_384, Some(4)),
            (16_385, None),
        ];
        for (limit, code) in expected {
            assert_eq!(MaxFragmentLength::within(limit).map(|it| it.0), code, "{limit}");
        }
    }

    #[test]
    fn small_extensions_leave_other_extensions_to_the_message() {
        for message in [HELLO, ANSWER, TICKET] {
            assert_eq!(read(message, ExtensionType::COOKIE, &[]), Ok(None));
        }
        assert_eq!(read(TICKET, ExtensionType::RECORD_SIZE_LIMIT, &[0, 64]), Ok(None));
        assert_eq!(read(HELLO, ExtensionType::EARLY_DATA, &[]), Ok(None));
    }

    #[test]
    fn malformed_small_extensions_are_refused() {
        let limit = ExtensionType::RECORD_SIZE_LIMIT;
        for message in [HELLO, ANSWER] {
            let illegal = Err(Some(AlertDescription::ILLEGAL_PARAMETER));
            assert_eq!(read(message, limit, &[0, 63]), illegal);
            for body in [&[][..], &[64], &[0, 64, 0], &[0, 63, 0]] {
                assert_eq!(read(message, limit, body), Err(Some(AlertDescription::DECODE_ERROR)));
            }
            let both = ExtensionType::TICKET_REQUEST;
            let malformed = Err(Some(AlertDescription::DECODE_ERROR));
            assert_eq!(read(message, both, &[0, 0, 0]), malformed);
            let (short, long) = (&[0][..], &[0, 0][..]);
            let wrong = if message == HELLO { short } else { long };
            assert_eq!(read(message, both, wrong), malformed);
        }
    }
}
