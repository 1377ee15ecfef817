//! The client's PSK identities: which of them this server knows, and may use.

use alloc::boxed::Box;
use alloc::string::String;

use super::ServerState;
use super::hello::Received;
use super::negotiation::{Negotiation, Paused};
use crate::auth::equal;
use crate::error::{Error, decrypt_error};
use crate::handshake::context::Context;
use crate::handshake::question::{Reply, Waiting};
use crate::limits::MAX_IDENTITIES;
use crate::resume::{
    AcceptResumption, FsIdentity, KnownPsk, OpenTicket, PskKind, ResumptionVerdict, SessionState,
};
use crate::schedule::EarlySecret;
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
                let question =
                    OpenTicket { identity: identity.identity.to_vec(), unix: ctx.now.unix };
                let answer = match tickets.open(&question) {
                    Reply::Now(answer) => answer,
                    Reply::Later => {
                        let paused = (self.pause(received), index);
                        return Ok(ServerState::OpeningTicket(Waiting::new(question, paused)));
                    }
                };
                if let Some(found) = self.usable_session(index, answer, received, ctx) {
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

    fn usable_session(
        &self,
        index: usize,
        session: Option<SessionState>,
        received: &Received<'_>,
        ctx: &Context<'_>,
    ) -> Option<Found> {
        let psk = KnownPsk::Session(Box::new(session?));
        self.is_usable(&psk, received, ctx).then_some(Found { index, psk })
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
        config.policy.resumption
            && fresh
            && known
            && session.scope == config.scope
            && session.server_name.as_deref() == hello.server_name
            && (session.peer.is_some() || !config.client_authentication.is_required())
    }

    /// The binder of the found PSK. A wrong one is forged: fatal (RFC 8446 §4.2.11).
    pub(super) fn check_binder(
        &self,
        received: &Received<'_>,
        index: usize,
        kind: PskKind,
        early: &EarlySecret,
    ) -> Result<(), Error> {
        let binder = received.hello.psks.and_then(|psks| psks.binder(index)).unwrap_or_default();
        if !equal(early.binder(kind, &self.binder_hash()).as_ref(), binder) {
            return Err(decrypt_error("a PSK binder is wrong"));
        }
        Ok(())
    }

    /// Asks the owner whether the PSK whose binder was right may be used.
    pub(super) fn judge(
        self,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let (Some(judge), Some(found)) = (self.config.judge.clone(), &self.found) else {
            return self.judged(ResumptionVerdict::Accept, received, ctx);
        };
        let identity = received.hello.psks.and_then(|psks| psks.identities().nth(found.index));
        let binder = received.hello.psks.and_then(|psks| psks.binder(found.index));
        let session = found.psk.session();
        let question = AcceptResumption {
            kind: found.psk.kind(),
            identity: identity.map(|psk| psk.identity.to_vec()).unwrap_or_default(),
            binder: binder.unwrap_or_default().to_vec(),
            peer: session.and_then(|session| session.peer.clone()),
            authenticated_at: session.map(|session| session.authenticated_at),
            server_name: received.hello.server_name.map(String::from),
            early_data: received.hello.early_data,
        };
        match judge.judge(&question) {
            Reply::Now(answer) => self.judged(answer, received, ctx),
            Reply::Later => {
                let paused = self.pause(received);
                Ok(ServerState::AcceptingResumption(Waiting::new(question, paused)))
            }
        }
    }
}

impl Paused {
    /// Someone opened the identity at `index`, or tried.
    pub(super) fn opened(
        self,
        index: usize,
        answer: Option<SessionState>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Self { mut negotiation, hello } = self;
        let received = Received::again(&hello)?;
        negotiation.found = negotiation.usable_session(index, answer, &received, ctx);
        match negotiation.found {
            Some(_) => negotiation.decide(&received, ctx),
            None => negotiation.find_psk(index + 1, &received, ctx),
        }
    }

    /// Someone judged the resumption.
    pub(super) fn judged(
        self,
        answer: ResumptionVerdict,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        self.negotiation.judged(answer, &Received::again(&self.hello)?, ctx)
    }
}
