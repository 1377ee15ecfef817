//! After the handshake: reads post-handshake messages (RFC 8446 §4.6).

use alloc::boxed::Box;

use super::ServerState;
use crate::error::Error;
use crate::handshake::application::Application;
use crate::handshake::context::Context;
use crate::wire::HandshakeMessage;

/// The handshake is complete.
pub struct Connected {
    pub(in crate::handshake) application: Application,
}

impl Connected {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        self.application.receive(message, ctx)?;
        Ok(ServerState::Connected(self))
    }
}
