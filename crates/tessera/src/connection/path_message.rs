//! The messages of return routability checks (RFC 9853 §4).

use alloc::vec::Vec;

use crate::error::Error;
use crate::wire::Reader;

/// A return_routability_check message with its cookie (RFC 9853 §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathMessage {
    /// path_challenge: asks for an answer from the address to which this was sent.
    Challenge(PathCookie),
    /// path_response: the challenge has arrived, on the path that its receiver uses.
    Response(PathCookie),
    /// path_drop: the challenge has arrived, on a path that its receiver no longer uses.
    Drop(PathCookie),
}

/// What an answer repeats of a challenge: random, and new in each challenge.
pub type PathCookie = [u8; 8];

impl PathMessage {
    /// The length of a message, in bytes: [`Association::datagram_len`](crate::Association::datagram_len) makes that of a
    /// datagram of it.
    pub const LEN: usize = 1 + size_of::<PathCookie>();

    /// Reads a message; `None` if it is of a type that later versions define: it is ignored.
    pub(super) fn read(content: &[u8]) -> Result<Option<Self>, Error> {
        let mut reader = Reader::new(content);
        let message = match reader.u8()? {
            0 => Self::Challenge,
            1 => Self::Response,
            2 => Self::Drop,
            _ => return Ok(None),
        };
        let cookie = *reader.array()?;
        reader.finish()?;
        Ok(Some(message(cookie)))
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        let (typ, cookie) = match self {
            Self::Challenge(cookie) => (0, cookie),
            Self::Response(cookie) => (1, cookie),
            Self::Drop(cookie) => (2, cookie),
        };
        out.push(typ);
        out.extend_from_slice(&cookie);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_path_message_comes_back_as_it_was_and_others_are_ignored() {
        for message in [PathMessage::Challenge, PathMessage::Response, PathMessage::Drop] {
            let message = message([7; 8]);
            let mut bytes = Vec::new();
            message.write(&mut bytes);
            assert_eq!(bytes.len(), PathMessage::LEN);
            assert_eq!(PathMessage::read(&bytes), Ok(Some(message)));
            assert!(PathMessage::read(&bytes[..8]).is_err(), "short");
            bytes.push(0);
            assert!(PathMessage::read(&bytes).is_err(), "long");
        }
        assert_eq!(PathMessage::read(&[3]), Ok(None));
        assert_eq!(PathMessage::read(&vec![255; 400]), Ok(None));
        assert!(PathMessage::read(&[]).is_err());
    }
}
