//! The client's PSK identities: which of them this server knows, and may use.

use alloc::boxed::Box;

use super::ServerState;
use super::hello::{Paused, Received};
use super::negotiation::Negotiation;
use crate::auth::equal;
use crate::carrier::Carrier;
use crate::error::{Error, decrypt_error};
use crate::handshake::context::Context;
use crate::handshake::question::{Reply, Waiting};
use crate::limits::MAX_IDENTITIES;
use crate::resume::{FsIdentity, KnownPsk, LoneIdentity, OpenTicket, SessionState};
use crate::schedule::{KeyDerivation, STREAM};
use crate::wire::ClientHello;

/// A PSK that the client offered and this server knows.
pub(crate) struct Found {
    pub(crate) index: usize,
    pub(crate) psk: KnownPsk,
}

impl Negotiation {
    /// Goes through the identities from `index` on, until one is known and usable.
    pub(super) fn find_psk(
        mut self,
        mut index: usize,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Some(psks) = received.hello.psks else { return self.decide(received, ctx) };
        for identity in psks.identities().take(MAX_IDENTITIES).skip(index) {
            // A forward-secret identity is opened after the sealed ticket that vouches for it.
            if index == 0 && self.is_forward_secret(&received.hello, identity.identity) {
                index += 1;
                continue;
            }
            let mut external = self.config.external_psks.iter();
            if let Some(psk) = external.find(|psk| equal(&psk.identity, identity.identity)) {
                let psk = KnownPsk::External(psk.clone());
                if self.is_usable(&psk, received, ctx) {
                    self.found = Some(Found { index, psk });
                    return self.decide(received, ctx);
                }
            } else if let Some(tickets) = self.config.tickets.clone() {
                let lone = self.lone_identity(index, received);
                let ticket = lone.map_or(identity.identity, |lone| lone.ticket);
                let question = OpenTicket { identity: ticket.to_vec(), unix: ctx.now.unix };
                let answer = match tickets.open(&question) {
                    Reply::Now(answer) => answer,
                    Reply::Later => {
                        let paused = (Paused::new(self, received), index);
                        return Ok(ServerState::OpeningTicket(Waiting::new(question, paused)));
                    }
                };
                if let Some(found) = self.usable_session(index, answer, received, ctx)? {
                    self.found = Some(found);
                    return self.decide(received, ctx);
                }
            }
            index += 1;
        }
        self.decide(received, ctx)
    }

    /// The forward-secret identity that a client may put first, where this server issues such tickets.
    pub(super) fn is_forward_secret(&self, hello: &ClientHello<'_>, identity: &[u8]) -> bool {
        self.config.policy.early_data.forward_secret.is_some()
            && hello.one_time_kinds.is_some()
            && FsIdentity::read(identity).is_some()
    }

    /// The identity at `index`, if it is a forward-secret one that comes alone, and such are taken.
    fn lone_identity<'h>(&self, index: usize, received: &Received<'h>) -> Option<LoneIdentity<'h>> {
        let guard = self.config.policy.early_data.forward_secret.as_ref()?;
        // Early data belongs to the first identity (RFC 8446 §4.2.10).
        let first = received.hello.psks?.identities().next();
        let first = first.filter(|_| index == 0 && guard.lone_identities)?;
        LoneIdentity::read(first.identity)
    }

    fn usable_session(
        &self,
        index: usize,
        session: Option<SessionState>,
        received: &Received<'_>,
        ctx: &Context<'_>,
    ) -> Result<Option<Found>, Error> {
        let Some(session) = session.map(Box::new) else { return Ok(None) };
        let Some(lone) = self.lone_identity(index, received) else {
            let psk = KnownPsk::Session(session);
            return Ok(self.is_usable(&psk, received, ctx).then_some(Found { index, psk }));
        };
        let suite = self.config.provider.suite(session.suite);
        let named = session.companion.is_some_and(|companion| companion.id == *lone.key.id);
        let Some(suite) = suite.filter(|_| named) else { return Ok(None) };
        // It stands for the sealed ticket's binder: a wrong one is forged.
        let kdf = KeyDerivation { hash: suite.hash, profile: &STREAM };
        if !lone.is_proved(kdf, session.psk.expose()) {
            return Err(decrypt_error("the proof of a forward-secret identity is wrong"));
        }
        let psk = KnownPsk::Vouching(session);
        Ok(self.is_usable(&psk, received, ctx).then_some(Found { index, psk }))
    }

    /// Everything that a resumption must not widen is checked here again.
    fn is_usable(&self, psk: &KnownPsk, received: &Received<'_>, ctx: &Context<'_>) -> bool {
        let Received { hello, .. } = received;
        let config = &self.config;
        let Some(suite) = config.provider.suite(psk.suite()) else { return false };
        let fits_retry = self
            .retried
            .as_ref()
            .is_none_or(|retried| crate::handshake::context::same_hash(retried.suite, suite));
        let allowed = config.psk_modes(psk.kind());
        let offered = hello.psk_modes.unwrap_or_default();
        let has_mode = (allowed.psk_ke && offered.psk_ke)
            || (allowed.psk_dhe_ke && offered.psk_dhe_ke && self.group.is_some());
        if !fits_retry || !has_mode || self.suite_for(hello, suite).is_none() {
            return false;
        }
        let Some(session) = psk.session() else { return true };
        let fresh = ctx
            .now
            .unix
            .is_some_and(|unix| session.is_fresh(unix, config.policy.max_authentication_age));
        // A PSK that was withdrawn withdraws every ticket that began with it.
        let known = session.external_psk.as_ref().is_none_or(|identity| {
            config.external_psks.iter().any(|psk| psk.identity == *identity)
        });
        // What carries this connection: the one place of the server's that says so.
        let same_carrier = session.carrier == Carrier::STREAM;
        config.policy.resumption
            && fresh
            && same_carrier
            && known
            && session.scope == config.scope
            && session.server_name.as_deref() == hello.server_name
            && (session.peer.is_some() || !config.client_authentication.is_required())
    }
}

impl Paused<Negotiation> {
    /// Someone opened the identity at `index`, or tried.
    pub(super) fn opened(
        self,
        index: usize,
        answer: Option<SessionState>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Self { then: mut negotiation, hello } = self;
        let received = Received::again(&hello)?;
        negotiation.found = negotiation.usable_session(index, answer, &received, ctx)?;
        match negotiation.found {
            Some(_) => negotiation.decide(&received, ctx),
            None => negotiation.find_psk(index + 1, &received, ctx),
        }
    }
}
