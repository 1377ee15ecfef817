//! The extensions that are one small value each.
//!
//! A new one needs four edits: its code point, its value (`small_values.rs`), its line in the table below,
//! and its value to send (`handshake/small_extensions.rs`).

use alloc::vec::Vec;

use super::code_points::{ExtensionType, HandshakeType};
use super::reader::Reader;
use super::small_extension::{SmallExtension, write_small_extension};
use super::small_values::*;
use crate::error::Error;

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
    /// ticket_request: how many tickets the client asks for (RFC 9149).
    ticket_request: TicketRequest, in CLIENT_HELLO;
    /// ticket_request: the server's answer to it.
    expected_tickets: ExpectedTickets, in ENCRYPTED_EXTENSIONS;
    /// early_data: how much of it, replayable, may come with a ticket (RFC 8446 §4.6.1).
    max_early_data_size: MaxEarlyDataSize, in NEW_SESSION_TICKET;
}

fn read_whole<E: SmallExtension>(mut body: Reader<'_>) -> Result<E, Error> {
    let value = E::read(&mut body)?;
    body.finish()?;
    Ok(value)
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
            max_early_data_size: Some(MaxEarlyDataSize(0x0102_0304)),
            ..SmallExtensions::default()
        };
        let all = SmallExtensions {
            record_size_limit: Some(RecordSizeLimit(64)),
            ticket_request: Some(TicketRequest { new_session_count: 2, resumption_count: 1 }),
            ..of_servers
        };
        let expected = [
            (HELLO, vec![0, 28, 0, 2, 0, 64, 0, 58, 0, 2, 2, 1]),
            (ANSWER, vec![0, 28, 0, 2, 0, 64, 0, 58, 0, 1, 3]),
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
