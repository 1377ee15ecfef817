//! The client's PSK identities: which of them this server knows, and may use.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

use super::known_key::KnownKeyPsk;
use super::negotiation::Negotiation;
use super::psk_candidate::PskCandidate;
use super::stop::{Stop, answer};
use crate::crypto::equal;
use crate::error::{Error, decrypt_error};
use crate::handshake::context::{Context, same_hash};
use crate::limits::MAX_IDENTITIES;
use crate::resume::{
    ExternalPsk, FsIdentity, KnownPsk, LoneIdentity, OpenTicket, SessionAuthentication,
    SessionState, TicketKeys,
};

/// The state of the search for a PSK.
#[derive(Default)]
pub(super) struct PskSearch {
    next: usize,
    /// The session behind the identity at `next`.
    pub(super) opened: Option<Option<SessionState>>,
    found: Option<PskCandidate>,
    /// The first PSK that may not be used, but under which its client sent a flight.
    unusable: Option<PskCandidate>,
    is_over: bool,
}

impl Negotiation<'_> {
    /// Searches the identities for the first that is known and usable. Without one, returns the PSK that names
    /// the one-time key of the client's flight, if any: the key is burned, and the client learns that the flight
    /// was not executed.
    pub(super) fn find_psk<'s>(
        &self,
        search: &'s mut PskSearch,
        known_key: Option<&KnownKeyPsk>,
        ctx: &Context<'_>,
    ) -> Result<Option<&'s PskCandidate>, Stop<OpenTicket>> {
        if search.is_over {
            return Ok(search.found.as_ref());
        }
        let identities = self.hello.parsed.psks.into_iter().flat_map(|psks| psks.identities());
        for (index, identity) in identities.enumerate().take(MAX_IDENTITIES).skip(search.next) {
            search.next = index;
            // A forward-secret identity is opened after the sealed ticket that vouches for it.
            if index == 0 && self.is_forward_secret(identity.identity) {
                continue;
            }
            let of_key = known_key.filter(|known| known.index == index).map(|known| &known.psk);
            let mut external = self.config.external_psks.iter();
            let external = external.find(|psk| equal(&psk.identity, identity.identity));
            let known = match of_key.or(external) {
                Some(psk) => Some(KnownPsk::External(psk.clone())),
                None => match &self.config.tickets {
                    Some(tickets) => self.open(tickets, index, identity.identity, search, ctx)?,
                    None => None,
                },
            };
            let Some(psk) = known.filter(|psk| self.can_be_proved(psk)) else { continue };
            let is_usable = self.is_usable(&psk);
            // A lone identity (docs/0rtt-fs.md §15.2) keeps its key, which remains usable elsewhere.
            let names_flight = matches!(psk, KnownPsk::Session(_)) && self.vouched(&psk).is_some();
            let candidate = PskCandidate { index, psk, is_usable };
            if is_usable {
                search.found = Some(candidate);
                break;
            }
            if names_flight && search.unusable.is_none() {
                search.unusable = Some(candidate);
            }
        }
        search.is_over = true;
        search.found = search.found.take().or(search.unusable.take());
        Ok(search.found.as_ref())
    }

    /// Returns whether this is a forward-secret identity, and this server issues such tickets.
    pub(super) fn is_forward_secret(&self, identity: &[u8]) -> bool {
        self.forward_secret.kinds.is_some() && FsIdentity::read(identity).is_some()
    }

    /// Returns the identity at `index` if it is a lone forward-secret one, and this server accepts those.
    fn lone_identity<'i>(&self, index: usize, identity: &'i [u8]) -> Option<LoneIdentity<'i>> {
        let guard = self.config.policy.early_data.forward_secret.as_ref()?;
        // Early data belongs to the first identity (RFC 8446 §4.2.10).
        if index != 0 || !guard.lone_identities {
            return None;
        }
        LoneIdentity::read(identity)
    }

    /// Returns the PSK behind an identity if a ticket key opens it, and its own proof, if it has one, is right.
    fn open(
        &self,
        tickets: &Arc<dyn TicketKeys>,
        index: usize,
        identity: &[u8],
        search: &mut PskSearch,
        ctx: &Context<'_>,
    ) -> Result<Option<KnownPsk>, Stop<OpenTicket>> {
        let lone = self.lone_identity(index, identity);
        let ticket = lone.as_ref().map_or(identity, |lone| lone.ticket);
        let ask = || {
            let server_name = self.hello.parsed.server_name.map(String::from);
            let question =
                OpenTicket { identity: ticket.to_vec(), unix: self.now.unix, server_name };
            let reply = tickets.open(&question);
            (question, reply)
        };
        let opened = answer(&mut search.opened, ask)?;
        let opened = opened.take().map(Box::new);
        search.opened = None;
        match (opened, lone) {
            (None, _) => Ok(None),
            (Some(session), None) => Ok(Some(KnownPsk::Session(session))),
            (Some(session), Some(lone)) => Ok(self.vouching(session, &lone, ctx)?),
        }
    }

    /// Handles the ticket inside a lone forward-secret identity, which vouches for it.
    fn vouching(
        &self,
        session: Box<SessionState>,
        lone: &LoneIdentity<'_>,
        ctx: &Context<'_>,
    ) -> Result<Option<KnownPsk>, Error> {
        let suite = self.config.provider.suite(session.suite);
        let is_named = session.companion.is_some_and(|companion| companion.id == *lone.key.id);
        let Some(suite) = suite.filter(|_| is_named) else { return Ok(None) };
        // The proof replaces the sealed ticket's binder: a wrong one is forged.
        if !lone.is_proved(ctx.kdf(suite), session.psk.expose()) {
            return Err(decrypt_error("the proof of a forward-secret identity is wrong"));
        }
        Ok(Some(KnownPsk::Vouching(session)))
    }

    /// Returns whether its binder can be checked in this handshake.
    fn can_be_proved(&self, psk: &KnownPsk) -> bool {
        let Some(suite) = self.config.provider.suite(psk.suite()) else { return false };
        let fits_retry = self.retry.is_none_or(|retry| same_hash(retry.suite, suite));
        fits_retry && self.has_mode(psk.kind()) && self.suite_for(suite).is_some()
    }

    /// Returns whether the PSK may be used; checks again everything that a resumption must not widen.
    fn is_usable(&self, psk: &KnownPsk) -> bool {
        let config = &self.config;
        let Some(session) = psk.session() else { return true };
        let longest = config.policy.max_authentication_age;
        let fresh = self.now.unix.is_some_and(|unix| session.is_fresh(unix, longest));
        // A withdrawn PSK, or one with a changed secret, withdraws every ticket that began with it.
        let began = |psk: &ExternalPsk| psk.began(session, &config.provider);
        let known = session.external_psk.is_none() || config.external_psks.iter().any(began);
        // A resumption asks no verifier, so the session's verifier must be that of the configuration chosen
        // for this client. Whether it requires certificates doesn't matter to a peer that it has accepted; an
        // unauthenticated session doesn't suffice where a certificate is required.
        let authenticated = match config.authentication().weigh(session) {
            SessionAuthentication::Here => true,
            SessionAuthentication::Nobody => !config.client_authentication.is_required(),
            SessionAuthentication::Elsewhere => false,
        };
        config.policy.resumption
            && fresh
            && known
            && authenticated
            && session.carrier == self.profile.carrier
            && session.scope == config.scope
            && session.server_name.as_deref() == self.hello.parsed.server_name
    }
}
