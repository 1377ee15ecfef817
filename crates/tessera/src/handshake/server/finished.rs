//! Reads the client's Finished, then sends tickets (RFC 8446 §4.4.4, §4.6.1).

use alloc::boxed::Box;

use super::ServerState;
use super::connected::Connected;
use super::part::ServerPart;
use crate::error::Error;
use crate::handshake::context::Context;
use crate::handshake::finished::{Finished, LastSecrets};
use crate::handshake::handover::Handover;
use crate::schedule::MasterSecret;
use crate::wire::HandshakeMessage;

/// Only the client's Finished is missing.
pub struct ReadFinished(pub(super) Box<Handover<ServerPart, MasterSecret>>);

impl From<Box<Handover<ServerPart, MasterSecret>>> for ServerState {
    fn from(handover: Box<Handover<ServerPart, MasterSecret>>) -> Self {
        Self::ReadFinished(ReadFinished(handover))
    }
}

impl ReadFinished {
    pub(crate) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        connected(self.0.after_second(Finished::In(message), ctx)?, ctx)
    }
}

/// The handshake is complete: sends tickets. Inlined: the handover is large, and would be moved.
#[inline(always)]
pub(super) fn connected(
    mut done: Handover<ServerPart, LastSecrets>,
    ctx: &mut Context<'_>,
) -> Result<ServerState, Error> {
    // A full handshake begins a chain, with or without a client certificate.
    if done.own.is_full {
        done.lineage.authenticated_at = ctx.now.unix_secs();
        ctx.facts.authenticated_at = done.lineage.authenticated_at;
    }
    done.send_tickets(ctx)?;
    let application = done.secrets.application;
    Ok(ServerState::Connected(Box::new(Connected { application })))
}
