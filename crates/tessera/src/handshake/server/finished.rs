//! The client's Finished in; after it tickets out (RFC 8446 §4.4.4, §4.6.1).

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::ServerState;
use super::config::ServerConfig;
use super::connected::Connected;
use super::tickets::{TicketIssue, TicketPlan};
use crate::auth::ConnectionCodecs;
use crate::crypto::Suite;
use crate::error::Error;
use crate::handshake::context::Context;
use crate::handshake::finished::{ApplicationSecrets, Finished};
use crate::handshake::lineage::Lineage;
use crate::schedule::Transcript;
use crate::wire::HandshakeMessage;

/// Only the client's Finished is missing.
pub struct ReadFinished {
    pub(super) config: Arc<ServerConfig>,
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
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Self { config, suite, is_full, mut transcript, secrets, tickets, .. } = *self;
        let (codecs, mut lineage) = (self.codecs, self.lineage);
        let finished = Finished::In(message);
        let (application, resumption) =
            secrets.after_second(finished, suite, &mut transcript, ctx)?;
        codecs.learn(ctx.now);
        // A full handshake begins a chain, whether the client has a certificate or not.
        if is_full {
            lineage.authenticated_at = ctx.now.unix_secs();
            ctx.facts.authenticated_at = lineage.authenticated_at;
        }
        let issue = TicketIssue { config: &config, application: &application, lineage: &lineage };
        issue.send_tickets(&resumption, &tickets, ctx)?;
        Ok(ServerState::Connected(Box::new(Connected { application })))
    }
}
