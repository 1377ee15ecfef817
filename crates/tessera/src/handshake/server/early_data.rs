//! Whether early data is accepted; EndOfEarlyData in (RFC 8446 §4.2.10, §4.5, §8).

use alloc::boxed::Box;
use core::time::Duration;

use super::ServerState;
use super::decision::Decided;
use super::finished::ReadFinished;
use super::hello::Received;
use super::server_hello::EarlyDataAnswer;
use crate::error::Error;
use crate::handshake::context::Context;
use crate::handshake::event::Event;
use crate::handshake::transport::Epoch;
use crate::resume::{Companion, FsIdentity, KnownPsk, PskKind};
use crate::wire::{HandshakeMessage, HandshakeType, OfferedPsks, PskIdentity};

impl Decided {
    /// Decides on the early data: forward-secret through the vault, replayable through the register.
    pub(super) fn settle_early_data(
        self,
        allowed: bool,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let hello = &received.hello;
        let first = hello.psks.and_then(|psks: OfferedPsks<'_>| psks.identities().next());
        let vouched = match self.negotiation.found.as_ref().map(|found| &found.psk) {
            Some(KnownPsk::Vouching(session)) => session.companion,
            _ => first
                .filter(|first| self.negotiation.is_forward_secret(hello, first.identity))
                .and_then(|first| FsIdentity::read(first.identity))
                .and_then(|identity| self.vouched(&identity)),
        };
        if let Some(companion) = vouched {
            return self.take_secret(companion, allowed, received, ctx);
        }
        let answer = if !self.negotiation.early_data_was_offered(hello) {
            EarlyDataAnswer::NotOffered
        } else if let Some(limit) = self.accept_replayable(allowed, first, received, ctx) {
            EarlyDataAnswer::Accepted { limit }
        } else {
            EarlyDataAnswer::Rejected { rejection: None }
        };
        self.answer_found(answer, received, ctx)
    }

    /// The sealed ticket, whose binder was right, names the forward-secret ticket: no client can burn
    /// another's key.
    fn vouched(&self, identity: &FsIdentity<'_>) -> Option<Companion> {
        let session = self.negotiation.found.as_ref().and_then(|found| found.psk.session());
        let companion = session.and_then(|session| session.companion);
        companion.filter(|companion| companion.id == *identity.id)
    }

    /// RFC 8446 §8: the first identity, fresh, and never seen by the register. Gives the size limit.
    fn accept_replayable(
        &self,
        allowed: bool,
        first: Option<PskIdentity<'_>>,
        received: &Received<'_>,
        ctx: &Context<'_>,
    ) -> Option<u32> {
        let guard = self
            .negotiation
            .config
            .policy
            .early_data
            .replayable_without_forward_secrecy
            .as_ref()?;
        let found = self.negotiation.found.as_ref().filter(|found| found.index == 0)?;
        let session = found.psk.session().filter(|_| found.psk.kind() == PskKind::Resumption)?;
        let unix = ctx.now.unix?;
        if !allowed || !received.hello.early_data || !self.fits_early_data() {
            return None;
        }
        let limit = session.max_early_data_size.min(guard.max_early_data_size);
        let claimed = u64::from(first?.obfuscated_ticket_age.wrapping_sub(session.age_add));
        if limit == 0 || claimed.abs_diff(session.age_millis(unix)) > FRESHNESS_MILLIS {
            return None;
        }
        let digest = self.suite.hash.hash(first?.identity);
        let key = digest.as_ref().first_chunk()?;
        let issued_at = Duration::from_millis(session.issued_at);
        let expires_at = issued_at + Duration::from_secs(session.lifetime.into());
        guard.register.claim(key, issued_at, expires_at, unix).ok()?;
        Some(limit)
    }
}

/// How far the client's and the server's idea of a ticket's age may differ (RFC 8446 §8.3).
const FRESHNESS_MILLIS: u64 = 10_000;

/// Early data is being received.
pub(crate) struct ReadEndOfEarlyData {
    pub(super) then: Box<ReadFinished>,
}

impl ReadEndOfEarlyData {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        message.reader_for(HandshakeType::END_OF_EARLY_DATA)?.finish()?;
        let mut then = self.then;
        then.transcript.add(message.bytes);
        ctx.transport.install_read(Epoch::Handshake, then.suite, &then.client_handshake)?;
        ctx.transport.event(Event::EarlyDataEnd);
        Ok(ServerState::ReadFinished(then))
    }
}
