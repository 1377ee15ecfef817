//! Whether early data is accepted; reads EndOfEarlyData (RFC 8446 §4.2.10, §4.5, §8).

use alloc::boxed::Box;
use core::time::Duration;

use super::ServerState;
use super::negotiation::Negotiation;
use super::one_time_key::OneTimeKey;
use super::part::ServerPart;
use super::psk_candidate::{PskCandidate, PskInUse};
use crate::error::Error;
use crate::handshake::below::{Direction, Epoch};
use crate::handshake::context::Context;
use crate::handshake::event::Event;
use crate::handshake::handover::Handover;
use crate::limits::MAX_PLAINTEXT;
use crate::resume::PskKind;
use crate::schedule::MasterSecret;
use crate::wire::{HandshakeMessage, HandshakeType, Rejection};

/// The answer to the client's early data.
#[derive(Clone, Copy)]
pub(super) enum EarlyDataAnswer {
    NotOffered,
    Accepted { limit: u32 },
    Rejected { rejection: Option<Rejection> },
}

impl Negotiation<'_> {
    /// Decides on the early data: forward-secret by the vault's answer, replayable by the register.
    pub(super) fn answer_early_data(
        &self,
        in_use: PskInUse<'_>,
        one_time_key: &OneTimeKey,
    ) -> EarlyDataAnswer {
        match one_time_key {
            OneTimeKey::Opened(opened) if self.hello.parsed.early_data => {
                EarlyDataAnswer::Accepted { limit: opened.companion.max_early_data_size }
            }
            OneTimeKey::Opened(_) => EarlyDataAnswer::NotOffered,
            _ if !self.early_data_was_offered() => EarlyDataAnswer::NotOffered,
            OneTimeKey::Rejected(rejection) => {
                // RFC 8446 §4.2: don't send an extension that the client didn't ask for.
                let asked = self.forward_secret.kinds.is_some();
                EarlyDataAnswer::Rejected { rejection: Some(*rejection).filter(|_| asked) }
            }
            OneTimeKey::None => match self.accept_replayable(in_use) {
                Some(limit) => EarlyDataAnswer::Accepted { limit },
                None => EarlyDataAnswer::Rejected { rejection: None },
            },
        }
    }

    /// Returns whether the client offered early data, in this hello or before a HelloRetryRequest.
    fn early_data_was_offered(&self) -> bool {
        self.hello.parsed.early_data || self.retry.is_some_and(|retry| retry.early_data)
    }

    /// Returns whether early data could be accepted with this PSK (RFC 8446 §4.2.10).
    pub(super) fn fits_early_data(&self, PskInUse { psk, suite, .. }: PskInUse<'_>) -> bool {
        let session = psk.and_then(|found| found.psk.session());
        self.retry.is_none()
            && session.is_some_and(|session| {
                session.suite == suite.id && session.protocol.as_ref() == self.protocol
            })
    }

    /// Returns the size limit if the early data is acceptable by RFC 8446 §8: for the first identity, fresh, and new to
    /// the register.
    fn accept_replayable(&self, in_use: PskInUse<'_>) -> Option<u32> {
        let guard = self.config.policy.early_data.replayable_without_forward_secrecy.as_ref()?;
        let found = in_use.psk.filter(|found| found.index == 0)?;
        let session = found.psk.session().filter(|_| found.psk.kind() == PskKind::Resumption)?;
        let unix = self.now.unix?;
        let allowed = in_use.early_data && self.hello.parsed.early_data;
        if !allowed || !self.fits_early_data(in_use) {
            return None;
        }
        let first = self.hello.parsed.psks?.identities().next()?;
        let limit = session.max_early_data_size.min(guard.max_early_data_size);
        let claimed = u64::from(first.obfuscated_ticket_age.wrapping_sub(session.age_add));
        if limit == 0 || claimed.abs_diff(session.age_millis(unix)) > FRESHNESS_MILLIS {
            return None;
        }
        let digest = in_use.suite.hash.hash(first.identity);
        let key = digest.as_ref().first_chunk()?;
        let issued_at = Duration::from_millis(session.issued_at);
        let expires_at = issued_at + Duration::from_secs(session.lifetime.into());
        guard.register.claim(key, issued_at, expires_at, unix).ok()?;
        Some(limit)
    }

    /// Returns how much refused early data is dropped, in bytes: what this server allows, what the ticket
    /// allowed, and at least one record, since clients may hold tickets of other servers.
    pub(super) fn refused_early_data_limit(&self, psk: Option<&PskCandidate>) -> usize {
        let accept = &self.config.policy.early_data;
        let forward_secret = accept.forward_secret.as_ref().map(|guard| guard.max_early_data_size);
        let replayable = accept.replayable_without_forward_secrecy.as_ref();
        let replayable = replayable.map(|guard| guard.max_early_data_size);
        let session = psk.and_then(|found| found.psk.session());
        let ticket = session.map(|session| session.max_early_data_size);
        let companion = session.and_then(|session| session.companion);
        let companion = companion.map(|companion| companion.max_early_data_size);
        let most = [forward_secret, replayable, ticket, companion].into_iter().flatten().max();
        usize::try_from(most.unwrap_or(0)).unwrap_or(usize::MAX).max(MAX_PLAINTEXT)
    }
}

/// How far the client's and the server's notion of a ticket's age may differ (RFC 8446 §8.3).
const FRESHNESS_MILLIS: u64 = 10_000;

/// The server is receiving early data.
pub struct ReadEndOfEarlyData(pub(super) Box<Handover<ServerPart, MasterSecret>>);

impl ReadEndOfEarlyData {
    pub(super) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        message.reader_for(HandshakeType::END_OF_EARLY_DATA)?.finish()?;
        let mut handover = self.0;
        handover.transcript.add(message.bytes);
        let secret = handover.secrets.client_handshake_traffic();
        ctx.install(Direction::Read, Epoch::Handshake, handover.suite, secret)?;
        ctx.event(Event::EarlyDataEnd);
        Ok(handover.into())
    }
}
