//! The client's Finished in; after it tickets out (RFC 8446 §4.4.4, §4.6.1).

use alloc::boxed::Box;

use super::ServerState;
use super::config::ServerConfig;
use super::connected::Connected;
use super::tickets::{TicketIssue, TicketPlan};
use crate::auth::ConnectionCodecs;
use crate::crypto::Suite;
use crate::error::Error;
use crate::handshake::config::Checked;
use crate::handshake::context::Context;
use crate::handshake::finished::{ApplicationSecrets, Finished};
use crate::handshake::lineage::Lineage;
use crate::schedule::Transcript;
use crate::wire::HandshakeMessage;

/// Only the client's Finished is missing.
pub struct ReadFinished {
    pub(super) config: Checked<ServerConfig>,
    pub(super) suite: &'static Suite,
    /// No PSK is used.
    pub(super) is_full: bool,
    pub(super) transcript: Transcript,
    pub(super) secrets: ApplicationSecrets,
    pub(super) codecs: ConnectionCodecs,
    pub(super) tickets: TicketPlan,
    pub(super) lineage: Lineage,
}

impl ReadFinished {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let (finished, transcript) = (Finished::In(message), &mut self.transcript);
        let (application, resumption) =
            self.secrets.after_second(finished, self.suite, transcript, ctx)?;
        let missed = self.codecs.ended(self.lineage.peer.as_ref(), ctx.now, &|context, out| {
            resumption.certificate_ticket(context, out)
        });
        ctx.facts.note_missed(missed);
        // A full handshake begins a chain, whether the client has a certificate or not.
        if self.is_full {
            self.lineage.authenticated_at = ctx.now.unix_secs();
            ctx.facts.authenticated_at = self.lineage.authenticated_at;
        }
        let (config, lineage) = (&self.config, &self.lineage);
        let issue = TicketIssue { config, application: &application, lineage };
        issue.send_tickets(&resumption, &self.tickets, &mut self.codecs, ctx)?;
        Ok(ServerState::Connected(Box::new(Connected { application })))
    }
}
