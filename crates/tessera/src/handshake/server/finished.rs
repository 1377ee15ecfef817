//! The client's Finished in; after it tickets out (RFC 8446 §4.4.4, §4.6.1).

use alloc::boxed::Box;

use super::ServerState;
use super::connected::Connected;
use super::part::ServerPart;
use super::tickets::TicketIssue;
use crate::error::Error;
use crate::handshake::context::Context;
use crate::handshake::finished::{ApplicationSecrets, Finished, LastSecrets};
use crate::handshake::handover::Handover;
use crate::wire::HandshakeMessage;

/// Only the client's Finished is missing.
pub struct ReadFinished(pub(super) Box<Handover<ServerPart, ApplicationSecrets>>);

impl ReadFinished {
    pub(crate) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Handover { own, secrets, mut codecs, mut lineage, .. } =
            self.0.after_second(Finished::In(message), ctx)?;
        let LastSecrets { application, resumption } = secrets;
        // A full handshake begins a chain, whether the client has a certificate or not.
        if own.is_full {
            lineage.authenticated_at = ctx.now.unix_secs();
            ctx.facts.authenticated_at = lineage.authenticated_at;
        }
        let (config, lineage) = (&own.config, &lineage);
        let issue = TicketIssue { config, application: &application, lineage };
        issue.send_tickets(&resumption, &own.tickets, &mut codecs, ctx)?;
        Ok(ServerState::Connected(Box::new(Connected { application })))
    }
}
