//! The client's Finished in; after it tickets out and key updates in (RFC 8446 §4.4.4, §4.6).

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::ServerState;
use super::config::ServerConfig;
use super::tickets::send_tickets;
use crate::auth::{ConnectionCodecs, read_finished};
use crate::crypto::Suite;
use crate::error::{Error, unexpected_message};
use crate::handshake::application::Application;
use crate::handshake::context::Context;
use crate::handshake::event::Event;
use crate::handshake::secrets::ApplicationSecrets;
use crate::handshake::transport::Epoch;
use crate::limits::MAX_POST_HANDSHAKE_IN_A_ROW;
use crate::resume::one_time_keys;
use crate::schedule::{TrafficSecret, Transcript};
use crate::wire::{ClientHello, HandshakeMessage, HandshakeType, NamedGroup};

/// Only the client's Finished is missing.
pub(crate) struct ReadFinished {
    pub(super) config: Arc<ServerConfig>,
    pub(super) suite: &'static Suite,
    pub(super) transcript: Transcript,
    /// Under which the client's Finished is computed.
    pub(super) client_handshake: TrafficSecret,
    pub(super) secrets: ApplicationSecrets,
    pub(super) codecs: ConnectionCodecs,
    pub(super) tickets: TicketWish,
}

/// Which tickets a client can use.
pub(super) struct TicketWish {
    /// How many.
    pub(super) count: u8,
    /// The kind of one-time key, if forward-secret tickets are to come with them.
    pub(super) one_time_kind: Option<NamedGroup>,
}

impl TicketWish {
    /// RFC 9149: what the client asks for, up to what the server gives. A client that can't use a
    /// ticket with psk_dhe_ke gets none, unless psk_ke is allowed.
    pub(super) fn of(hello: &ClientHello<'_>, resumed: bool, config: &ServerConfig) -> Self {
        let modes = hello.psk_modes.unwrap_or_default();
        let usable =
            modes.psk_dhe_ke || (modes.psk_ke && config.policy.psk_only_without_forward_secrecy);
        let most = config.policy.tickets.at_most(MAX_POST_HANDSHAKE_IN_A_ROW);
        let wish = hello.ticket_request.unwrap_or(most);
        let count = match (usable, resumed) {
            (false, _) => 0,
            (true, false) => wish.new_session_count.min(most.new_session_count),
            (true, true) => wish.resumption_count.min(most.resumption_count),
        };
        let guard = config.policy.early_data.forward_secret.as_ref();
        let one_time_kind = guard.zip(hello.one_time_kinds).and_then(|(guard, offered)| {
            let known =
                guard.kinds.iter().filter(|kind| one_time_keys(&config.provider, **kind).is_some());
            known.copied().find(|kind| offered.contains(kind.0))
        });
        Self { count, one_time_kind }
    }
}

impl ReadFinished {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        read_finished(message, &mut self.transcript, &self.client_handshake)?;
        self.codecs.learn(ctx.now);
        let ApplicationSecrets { client, server, exporter, master } = self.secrets;
        ctx.transport.install_read(Epoch::Application, self.suite, &client)?;
        ctx.facts.handshake_complete = true;
        if ctx.facts.psk.is_none() {
            ctx.facts.authenticated_at = ctx.now.unix_secs();
        }
        ctx.transport.event(Event::HandshakeComplete);

        let resumption = master.into_resumption(&self.transcript.hash());
        let application = Application::new(self.suite, server, client, exporter);
        send_tickets(&self.config, &application, &resumption, &self.tickets, ctx)?;
        Ok(ServerState::Connected(Box::new(Connected { application })))
    }
}

/// The handshake is complete.
pub(crate) struct Connected {
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
