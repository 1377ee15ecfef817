//! After the handshake: key updates in (RFC 8446 §4.6.3).

use alloc::boxed::Box;

use super::ServerState;
use crate::error::{Error, unexpected_message};
use crate::handshake::application::Application;
use crate::handshake::context::Context;
use crate::wire::{HandshakeMessage, HandshakeType};

/// The handshake is complete.
pub struct Connected {
    pub(super) application: Application,
}

impl Connected {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        match message.typ {
            HandshakeType::KEY_UPDATE => self.application.read_key_update(message, ctx)?,
            _ => return Err(unexpected_message("a handshake message after the handshake")),
        }
        Ok(ServerState::Connected(self))
    }
}
