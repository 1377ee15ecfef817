//! Connection IDs: agreed in the hellos (RFC 9146 §3), and changed after the handshake (RFC 9147 §9).

use alloc::vec::Vec;

use super::Association;
use crate::connection_id::ConnectionId;
use crate::error::{Error, decode_error, unexpected_message};
use crate::handshake::Handshake;
use crate::wire::{
    ExtensionType, HandshakeMessage, HandshakeType, OpaqueExtension, Reader, Writer,
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
        let named = |it: &&OpaqueExtension| it.typ == ExtensionType::CONNECTION_ID;
        let Some(peer) = self.core.facts().peer_extensions.iter().find(named) else {
            return Ok(());
        };
        let Some(own) = self.own_id.take() else { return Ok(()) };
        let mut reader = Reader::new(&peer.contents);
        let peer = ConnectionId::new(reader.vec8()?);
        reader.finish()?;
        self.datagrams.outgoing.peer_id =
            peer.ok_or(decode_error("a connection ID of more than 255 bytes"))?;
        self.datagrams.incoming.own_ids = alloc::vec![own];
        Ok(())
    }

    /// Handles NewConnectionId and RequestConnectionId.
    pub(super) fn receive_about_ids(&mut self, message: HandshakeMessage<'_>) -> Result<(), Error> {
        let (incoming, outgoing) = (&self.datagrams.incoming, &self.datagrams.outgoing);
        let mut reader = Reader::new(message.body);
        match message.typ {
            HandshakeType::NEW_CONNECTION_ID => {
                if !self.core.is_complete() || outgoing.peer_id.is_empty() {
                    return Err(unexpected_message("NewConnectionId without connection IDs"));
                }
                let mut ids = Reader::new(reader.vec16()?);
                let usage = reader.u8()?;
                reader.finish()?;
                let mut first = None;
                while !ids.is_empty() {
                    let id = ConnectionId::new(ids.vec8()?);
                    first = first.or(id.filter(|id| !id.is_empty()));
                }
                match usage {
                    IMMEDIATE => {
                        let id = first.ok_or(decode_error("NewConnectionId without one to use"))?;
                        self.datagrams.outgoing.peer_id = id;
                    }
                    // RFC 9147 §9: spare ones may be discarded.
                    SPARE => (),
                    _ => return Err(decode_error("NewConnectionId for an unknown use")),
                }
            }
            _ => {
                if !self.core.is_complete() || incoming.own_ids.iter().all(ConnectionId::is_empty) {
                    return Err(unexpected_message("RequestConnectionId without connection IDs"));
                }
                let _count = reader.u8()?;
                reader.finish()?;
                // RFC 9147 §9: with fewer than asked for, or none at all.
                let mut answer = alloc::vec![HandshakeType::NEW_CONNECTION_ID.0, 0, 0, 3];
                answer.vec16(|_| ());
                answer.u8(SPARE);
                self.datagrams.send_after_handshake(&answer)?;
            }
        }
        Ok(())
    }
}

/// The uses of NewConnectionId.
const IMMEDIATE: u8 = 0;
const SPARE: u8 = 1;
