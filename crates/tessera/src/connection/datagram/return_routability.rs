//! Return routability checks (RFC 9853): whether the peer receives what is sent to an address.
//!
//! An association reads and writes their messages. Which address is checked, and when, is decided by what owns the
//! sockets: an endpoint, or a client that has several.

use alloc::vec::Vec;
use core::time::Duration;

use super::Association;
use crate::connection::PathMessage;
use crate::error::Error;
use crate::handshake::Handshake;
use crate::wire::{ExtensionType, OpaqueExtension, Reader};

/// Returns the extension with which this side offers to answer checks.
pub(super) fn extension() -> OpaqueExtension {
    OpaqueExtension { typ: ExtensionType::RRC, contents: Vec::new() }
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
    /// the time after which a flight is sent again (RFC 9853 §5.5); 6 s at most.
    #[must_use]
    pub fn path_timeout(&self) -> Duration {
        (self.datagrams.answer_timeout() * 2).min(MAX_PATH_TIMEOUT)
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

    /// As [`write_path_message`](Self::write_path_message), under the connection ID that is
    /// [used next](Self::use_next_connection_id), if there is one: for a path that is not in use yet, so that an observer
    /// of it and the one in use can't link them by the connection ID (RFC 9147 §11).
    ///
    /// # Errors
    /// Those of [`write_path_message`](Self::write_path_message).
    pub fn write_path_message_under_next_id(
        &mut self,
        message: PathMessage,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        // A peer that is about to give others takes all before the newest back.
        if self.awaits_ids {
            return self.write_path_message(message, out);
        }
        self.datagrams.outgoing.peer_ids.swap_next();
        let written = self.write_path_message(message, out);
        self.datagrams.outgoing.peer_ids.swap_next();
        written
    }

    /// Reads a record of type return_routability_check; `None`: nothing to report.
    pub(super) fn receive_path_message(
        &mut self,
        content: &[u8],
        epoch: u64,
    ) -> Result<Option<PathMessage>, Error> {
        if !self.can_check_paths || epoch < self.datagrams.numbering.application() {
            return Err(super::reading::UNEXPECTED_TYPE);
        }
        PathMessage::read(content)
    }
}

/// Losses double the time for an answer, and say nothing about the round trip.
const MAX_PATH_TIMEOUT: Duration = Duration::from_secs(6);
