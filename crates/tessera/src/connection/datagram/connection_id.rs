//! Connection IDs: agreed in the hellos (RFC 9146 §3), and changed after the handshake (RFC 9147 §9).

use alloc::vec::Vec;

use super::Association;
use crate::connection_id::ConnectionId;
use crate::error::{Error, decode_error, unexpected_message};
use crate::handshake::Handshake;
use crate::wire::{
    ExtensionType, HandshakeMessage, HandshakeType, OpaqueExtension, Reader, Writer, write_message,
};

/// Returns the extension with which this side asks for its connection ID.
pub(super) fn extension(own: &ConnectionId) -> OpaqueExtension {
    let mut contents = Vec::with_capacity(1 + own.len());
    contents.vec8(|out| out.bytes(own.as_ref()));
    OpaqueExtension { typ: ExtensionType::CONNECTION_ID, contents }
}

/// Returns whether a message is about connection IDs: the handshake knows nothing of it.
pub(super) fn is_about_ids(typ: HandshakeType) -> bool {
    matches!(typ, HandshakeType::NEW_CONNECTION_ID | HandshakeType::REQUEST_CONNECTION_ID)
}

impl<H: Handshake> Association<H> {
    /// Uses the connection IDs once both sides have named theirs in the hellos.
    pub(super) fn agree_on_ids(&mut self) -> Result<(), Error> {
        let Some(peer) = self.core.take_extension(ExtensionType::CONNECTION_ID) else {
            return Ok(());
        };
        let Some(own) = self.own_id.take() else { return Ok(()) };
        let mut reader = Reader::new(&peer.contents);
        let peer = ConnectionId::new(reader.vec8()?);
        reader.finish()?;
        self.datagrams.outgoing.peer_ids.current =
            peer.ok_or(decode_error("a connection ID of more than 255 bytes"))?;
        self.datagrams.incoming.own_ids.agree(own);
        self.agree_on_path_checks()
    }

    /// Returns the connection ID of the newest record from the peer, if its records have one.
    #[must_use]
    pub fn connection_id(&self) -> Option<&ConnectionId> {
        self.datagrams.incoming.own_ids.newest()
    }

    /// Returns the connection IDs that the peer may use; before the hellos agree on connection IDs, or if they don't,
    /// the one of [`AssociationOptions`](crate::AssociationOptions).
    #[must_use]
    pub fn connection_ids(&self) -> &[ConnectionId] {
        match self.datagrams.incoming.own_ids.all() {
            [] => self.own_id.as_slice(),
            agreed => agreed,
        }
    }

    /// Gives the peer further connection IDs, with which it may name this association from now on, such as one for each
    /// address (RFC 9147 §11). They have the length of the first. Returns those that the peer has used before the one
    /// that it uses now: records with them don't open any more.
    ///
    /// # Errors
    /// [`Error::TooEarly`] before the handshake is complete, or while the peer has not acknowledged earlier ones or a
    /// KeyUpdate; [`Error::Misuse`] if records to this side have no connection ID, if there are more than
    /// [`room_for_connection_ids`](Self::room_for_connection_ids), or one is of another length or there already.
    pub fn give_connection_ids(
        &mut self,
        ids: &[ConnectionId],
        usage: ConnectionIdUsage,
    ) -> Result<Vec<ConnectionId>, Error> {
        self.check_may_change_ids()?;
        if self.connection_id().is_none() {
            return Err(Error::Misuse("records to this side have no connection ID"));
        }
        if usage == ConnectionIdUsage::Immediate && ids.is_empty() {
            return Err(Error::Misuse("no connection ID to use at once"));
        }
        let used_up = self.datagrams.incoming.own_ids.add(ids)?;
        let mut message = Vec::new();
        write_message(&mut message, HandshakeType::NEW_CONNECTION_ID, |out| {
            out.vec16(|out| ids.iter().for_each(|id| out.vec8(|out| out.bytes(id.as_ref()))));
            out.u8(usage as u8);
        });
        self.datagrams.send_after_handshake(&message)?;
        Ok(used_up)
    }

    /// Returns how many connection IDs the peer may still be given: it has at most eight that it can still use.
    #[must_use]
    pub fn room_for_connection_ids(&self) -> usize {
        self.datagrams.incoming.own_ids.room()
    }

    /// Asks the peer for `count` connection IDs. It may give fewer.
    ///
    /// # Errors
    /// [`Error::TooEarly`] before the handshake is complete, or while an earlier request is unanswered or other
    /// messages unacknowledged; [`Error::Misuse`] if records to the peer have no connection ID.
    pub fn request_connection_ids(&mut self, count: u8) -> Result<(), Error> {
        self.check_may_change_ids()?;
        if self.datagrams.outgoing.peer_ids.current.is_empty() {
            return Err(Error::Misuse("records to the peer have no connection ID"));
        }
        // RFC 9147 §9: one request at a time.
        if self.awaits_ids {
            return Err(Error::TooEarly("the peer has not answered the earlier request"));
        }
        let message = [HandshakeType::REQUEST_CONNECTION_ID.0, 0, 0, 1, count];
        self.datagrams.send_after_handshake(&message)?;
        self.awaits_ids = true;
        Ok(())
    }

    /// Names the association by the next connection ID that the peer has given from now on, so that an observer can't
    /// link its records to earlier ones by it (RFC 9147 §11); returns whether there is one.
    pub fn use_next_connection_id(&mut self) -> bool {
        self.datagrams.outgoing.peer_ids.advance()
    }

    /// Returns how many connection IDs of the peer are left for
    /// [`use_next_connection_id`](Self::use_next_connection_id).
    #[must_use]
    pub fn spare_connection_ids(&self) -> usize {
        self.datagrams.outgoing.peer_ids.spare()
    }

    fn check_may_change_ids(&self) -> Result<(), Error> {
        self.check_writable()?;
        // RFC 9147 §9: one NewConnectionId at a time; and a flood of requests causes none.
        if !self.core.is_complete() || !self.datagrams.is_acknowledged() {
            return Err(Error::TooEarly("the peer has not acknowledged earlier messages"));
        }
        self.datagrams.may_send_after_handshake()
    }

    /// Returns how many connection IDs the peer asks for, once it can be given some.
    pub(super) fn next_request_for_ids(&mut self) -> Option<u8> {
        let may_answer = self.requested_ids.is_some() && self.check_may_change_ids().is_ok();
        if may_answer { self.requested_ids.take() } else { None }
    }

    /// Handles NewConnectionId and RequestConnectionId.
    pub(super) fn receive_about_ids(&mut self, message: HandshakeMessage<'_>) -> Result<(), Error> {
        let mut reader = Reader::new(message.body);
        let peer_ids = &mut self.datagrams.outgoing.peer_ids;
        match message.typ {
            HandshakeType::NEW_CONNECTION_ID => {
                if !self.core.is_complete() || peer_ids.current.is_empty() {
                    return Err(unexpected_message("NewConnectionId without connection IDs"));
                }
                let mut ids = Reader::new(reader.vec16()?);
                let usage = reader.u8()?;
                reader.finish()?;
                if usage > ConnectionIdUsage::Spare as u8 {
                    return Err(decode_error("NewConnectionId for an unknown use"));
                }
                let is_immediate = usage == ConnectionIdUsage::Immediate as u8;
                if is_immediate {
                    // Those of the same message come next.
                    peer_ids.discard_spare();
                }
                while !ids.is_empty() {
                    let id = ConnectionId::new(ids.vec8()?).filter(|id| !id.is_empty());
                    peer_ids.keep(id.ok_or(decode_error("an empty connection ID"))?);
                }
                if is_immediate && !peer_ids.advance() {
                    return Err(decode_error("NewConnectionId without one to use"));
                }
                self.awaits_ids = false;
            }
            _ => {
                if !self.core.is_complete() || self.connection_id().is_none() {
                    return Err(unexpected_message("RequestConnectionId without connection IDs"));
                }
                self.requested_ids = Some(reader.u8()?);
                reader.finish()?;
            }
        }
        Ok(())
    }
}

/// When the peer uses new connection IDs (RFC 9147 §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionIdUsage {
    /// The first of them at once, and those from before no longer.
    Immediate = 0,
    /// When it likes.
    Spare = 1,
}
