//! Return routability checks (RFC 9853): whether the peer receives what is sent to an address.
//!
//! An association reads and writes their messages. Which address is checked, and when, is decided by what owns the
//! sockets: an endpoint, or a client that has several.

use alloc::vec::Vec;
use core::time::Duration;

use super::Association;
use crate::error::Error;
use crate::handshake::Handshake;
use crate::record::APPLICATION_EPOCH;
use crate::wire::{ExtensionType, OpaqueExtension, Reader};

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

/// Returns the extension with which this side offers to answer checks.
pub(super) fn extension() -> OpaqueExtension {
    OpaqueExtension { typ: ExtensionType::RRC, contents: Vec::new() }
}

impl PathMessage {
    /// The length of a message, in bytes: [`Association::datagram_len`] makes that of a datagram of it.
    pub const LEN: usize = 1 + size_of::<PathCookie>();

    /// Reads a message; `None` if it is of a type that later versions define: it is ignored.
    fn read(content: &[u8]) -> Result<Option<Self>, Error> {
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

    fn write(self, out: &mut Vec<u8>) {
        let (typ, cookie) = match self {
            Self::Challenge(cookie) => (0, cookie),
            Self::Response(cookie) => (1, cookie),
            Self::Drop(cookie) => (2, cookie),
        };
        out.push(typ);
        out.extend_from_slice(&cookie);
    }
}

impl<H: Handshake> Association<H> {
    /// Agrees on checks together with connection IDs: without those no address changes.
    pub(super) fn agree_on_path_checks(&mut self) -> Result<(), Error> {
        if let Some(rrc) = self.core.take_extension(ExtensionType::RRC) {
            Reader::new(&rrc.contents).finish()?;
            self.can_check_paths = true;
        }
        Ok(())
    }

    /// Returns whether the peer answers challenges: both sides have offered it (RFC 9853 §3).
    #[must_use]
    pub fn can_check_paths(&self) -> bool {
        self.can_check_paths
    }

    /// Returns how long to wait for the answer to a challenge: three round trips if one was measured, otherwise twice
    /// the time after which a flight is sent again (RFC 9853 §5.5).
    #[must_use]
    pub fn path_timeout(&self) -> Duration {
        self.datagrams.answer_timeout() * 2
    }

    /// Appends a datagram with this message alone to `out`. A challenge goes to the address that is checked, an answer
    /// to the one from which its challenge came (RFC 9853 §5.4).
    ///
    /// # Errors
    /// [`Error::Misuse`] unless [both sides check paths](Self::can_check_paths), and those of [`write`](Self::write).
    pub fn write_path_message(
        &mut self,
        message: PathMessage,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.check_writable()?;
        if !self.can_check_paths {
            return Err(Error::Misuse("no return routability checks are agreed"));
        }
        if !self.datagrams.has_application_keys() || self.datagrams.outgoing.is_at_limit() {
            return Err(Error::TooEarly("no keys for a path message"));
        }
        self.wake();
        self.datagrams.write_path_message(|out| message.write(out), out);
        Ok(())
    }

    /// Reads a record of type return_routability_check; `None`: nothing to report.
    pub(super) fn receive_path_message(
        &mut self,
        content: &[u8],
        epoch: u64,
    ) -> Result<Option<PathMessage>, Error> {
        if !self.can_check_paths || epoch < APPLICATION_EPOCH {
            return Err(super::reading::UNEXPECTED_TYPE);
        }
        PathMessage::read(content)
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
