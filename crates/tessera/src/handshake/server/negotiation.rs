//! What server and client have in common: protocol, group, suite, and the modes of PSKs.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::arrival::Arrival;
use super::config::ServerConfig;
use super::hello::Hello;
use super::psk_candidate::PskCandidate;
use super::retry_state::RetryState;
use crate::crypto::{KeyAgreement, Suite};
use crate::error::{self, Error, handshake_failure, illegal_parameter};
use crate::handshake::config::Checked;
use crate::handshake::context::{Context, same_hash};
use crate::resume::PskKind;
use crate::schedule::Profile;
use crate::time::Time;
use crate::wire::{
    AlertDescription, CipherSuite, ClientHello, ForwardSecretOffer, OpaqueExtension,
};

/// The input of every step of the decision: configuration and ClientHello, and what follows from them alone.
pub(super) struct Negotiation<'n> {
    pub(super) config: &'n Checked<ServerConfig>,
    pub(super) retry: Option<&'n RetryState>,
    pub(super) hello: &'n Hello<'n>,
    pub(super) profile: &'static Profile,
    pub(super) now: Time,
    pub(super) protocol: Option<&'n Vec<u8>>,
    /// The group to agree on a key in, if the two have one in common.
    pub(super) group: Option<Group>,
    /// The owner's extensions: the connection's, and the configuration's of other types.
    pub(super) extensions: Cow<'n, [OpaqueExtension]>,
    /// The client's offer of forward-secret 0-RTT; empty if this server doesn't support it.
    pub(super) forward_secret: ForwardSecretOffer<'n>,
}

/// A group in common.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) agreement: &'static dyn KeyAgreement,
    pub(super) has_share: bool,
}

impl<'n> Negotiation<'n> {
    pub(super) fn new(
        config: &'n Checked<ServerConfig>,
        arrival: &'n Arrival,
        hello: &'n Hello<'n>,
        ctx: &mut Context<'_>,
    ) -> Result<Self, Error> {
        let retry = arrival.retry.as_ref();
        let extensions = own_extensions(&arrival.extensions, &config.extensions);
        let sent = hello.parsed.extensions.iter();
        ctx.facts.peer_extensions = OpaqueExtension::of_peer(&extensions, sent)?;
        let protocol = choose_protocol(config, &hello.parsed)?;
        let group = choose_group(config, retry, &hello.parsed)?;
        let guard = config.policy.early_data.forward_secret.as_ref();
        let forward_secret = guard.map_or(Ok(ForwardSecretOffer::default()), |guard| {
            ForwardSecretOffer::read(&hello.parsed, guard.receipts.is_some())
        })?;
        let (profile, now) = (ctx.profile, ctx.now);
        Ok(Self { config, retry, hello, profile, now, protocol, group, extensions, forward_secret })
    }

    /// Returns the suite of the connection: the PSK's, or one of the same hash.
    pub(super) fn choose_suite(&self, psk: Option<&PskCandidate>) -> Result<&'static Suite, Error> {
        let suite = match (psk, self.retry) {
            (_, Some(retry)) => self.config.suite(retry.suite.id),
            (Some(found), None) => {
                let suite = self.config.provider.suite(found.psk.suite());
                suite.and_then(|suite| self.suite_for(suite))
            }
            (None, None) => common_suites(self.config, &self.hello.parsed).next(),
        };
        suite.ok_or(handshake_failure("no suite in common"))
    }

    /// Returns the suite in which a PSK of `psk_suite` can be used: the same, or one of the same hash.
    pub(super) fn suite_for(&self, psk_suite: &'static Suite) -> Option<&'static Suite> {
        let accepted = self.config.suite(psk_suite.id);
        accepted.filter(|suite| self.hello.parsed.offers_suite(suite.id)).or_else(|| {
            let mut common = common_suites(self.config, &self.hello.parsed);
            common.find(|suite| same_hash(suite, psk_suite))
        })
    }

    /// Returns whether a PSK of this kind can be used in a mode that both sides allow.
    pub(super) fn has_mode(&self, kind: PskKind) -> bool {
        self.goes_without_share(kind) || self.goes_with_share(kind)
    }

    fn goes_with_share(&self, kind: PskKind) -> bool {
        let offered = self.hello.parsed.psk_modes.unwrap_or_default();
        self.config.psk_modes(kind).psk_dhe_ke && offered.psk_dhe_ke && self.group.is_some()
    }

    /// Returns whether a PSK of this kind may be used without a key exchange (psk_ke).
    pub(super) fn goes_without_share(&self, kind: PskKind) -> bool {
        let offered = self.hello.parsed.psk_modes.unwrap_or_default();
        self.config.psk_modes(kind).psk_ke && offered.psk_ke
    }

    /// Returns whether the handshake needs a key share: psk_ke is used only if nothing better is in common.
    pub(super) fn needs_share(&self, psk: Option<&PskCandidate>) -> bool {
        psk.is_none_or(|found| {
            let kind = found.psk.kind();
            self.goes_with_share(kind) || !self.goes_without_share(kind)
        })
    }

    /// Returns the client's legacy_session_id, if the protocol echoes it (RFC 8446 §4.1.3).
    pub(super) fn session_id_to_echo(&self) -> &'n [u8] {
        self.profile.session_id(self.hello.parsed.session_id)
    }

    /// Returns whether the handshake needs another ClientHello.
    pub(super) fn lacks_share(&self, psk: Option<&PskCandidate>) -> bool {
        self.needs_share(psk) && !self.has_share()
    }

    /// Returns whether the client sent a share that the server can answer.
    pub(super) fn has_share(&self) -> bool {
        self.group.is_some_and(|group| group.has_share)
    }
}

/// Returns the connection's extensions, and the configuration's of other types.
fn own_extensions<'n>(
    of_connection: &'n [OpaqueExtension],
    of_all: &'n [OpaqueExtension],
) -> Cow<'n, [OpaqueExtension]> {
    if of_connection.is_empty() {
        return Cow::Borrowed(of_all);
    }
    let rest = of_all.iter().filter(|own| !OpaqueExtension::names(of_connection, own.typ));
    of_connection.iter().chain(rest).cloned().collect()
}

/// Iterates over the suites in common, by the preference that the configuration states.
pub(super) fn common_suites(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
) -> impl Iterator<Item = &'static Suite> {
    let (own, offered) = (config.suites.iter().copied(), hello.cipher_suites.iter());
    let by_client = config.suites_by_the_clients_preference;
    let own = (!by_client).then_some(own).into_iter().flatten();
    let offered = by_client.then_some(offered.map(CipherSuite)).into_iter().flatten();
    let suites = own.filter(|id| hello.offers_suite(*id)).chain(offered);
    suites.filter_map(|id| config.suite(id))
}

/// Returns the server's first protocol that the client offers; otherwise fails as RFC 7301 §3.2 requires.
fn choose_protocol<'c>(
    config: &'c ServerConfig,
    hello: &ClientHello<'_>,
) -> Result<Option<&'c Vec<u8>>, Error> {
    let Some(offered) = hello.protocols.filter(|_| !config.protocols.is_empty()) else {
        return Ok(None);
    };
    let common = config.protocols.iter().find(|ours| offered.iter().any(|theirs| theirs == **ours));
    common.map(Some).ok_or(error::protocol(
        AlertDescription::NO_APPLICATION_PROTOCOL,
        "no application protocol in common",
    ))
}

/// Chooses a group that both support: a post-quantum one before a classical one, then one with a share
/// before one that costs a round trip, then the server's order. Recordings of a classical exchange
/// become readable when discrete logarithms fall; a round trip is spent once, and the session remembers the
/// group. Go chooses alike.
pub(super) fn choose_group(
    config: &ServerConfig,
    retry: Option<&RetryState>,
    hello: &ClientHello<'_>,
) -> Result<Option<Group>, Error> {
    if let Some(asked) = retry.and_then(|retry| retry.group) {
        // RFC 8446 §4.1.2: exactly the share that the server asked for.
        let shares = hello.key_shares.into_iter().flat_map(|shares| shares.iter());
        if !shares.map(|entry| entry.group).eq([asked]) {
            return Err(illegal_parameter(
                "the second ClientHello has another share than asked for",
            ));
        }
    }
    let ours = config.groups.iter().filter_map(|group| config.provider.group(*group));
    let common =
        ours.filter(|agreement| hello.supports_group(agreement.group())).map(|agreement| {
            let group = agreement.group();
            let has_share = hello.key_shares.is_some_and(|shares| shares.get(group).is_some());
            Group { agreement, has_share }
        });
    let post_quantum_first = !config.classical_key_exchange_to_save_a_round_trip;
    Ok(common.min_by_key(|Group { agreement, has_share }| {
        // The client sends no third ClientHello.
        let is_too_late = retry.is_some() && !has_share;
        (is_too_late, post_quantum_first && !agreement.group().is_post_quantum(), !has_share)
    }))
}
