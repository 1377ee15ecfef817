//! What server and client have in common: protocol, suite, group, PSK and mode.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::ServerState;
use super::config::ServerConfig;
use super::decision::Decided;
use super::hello::{ReadClientHello, Received};
use super::identities::Found;
use crate::crypto::{KeyAgreement, Suite};
use crate::error::{self, Error, handshake_failure, illegal_parameter};
use crate::handshake::context::{Context, same_hash};
use crate::handshake::transport::{Epoch, SkipEarlyData};
use crate::resume::PskKind;
use crate::schedule::Transcript;
use crate::wire::{
    AlertDescription, ClientHello, HelloRetryRequest, NamedGroup, OpaqueExtension, PskModes,
};

/// A handshake between ClientHello and ServerHello.
pub(crate) struct Negotiation {
    pub(super) config: Arc<ServerConfig>,
    pub(super) retried: Option<Retried>,
    pub(super) protocol: Option<Vec<u8>>,
    /// The group to agree a key in, if there is one in common.
    pub(super) group: Option<Group>,
    pub(super) found: Option<Found>,
}

/// A HelloRetryRequest was sent.
pub(crate) struct Retried {
    pub(super) first_hello: Vec<u8>,
    pub(super) suite: &'static Suite,
    group: NamedGroup,
    pub(super) transcript: Transcript,
    /// The first ClientHello had early data.
    pub(super) early_data: bool,
    /// The place of the PSK that was found in the first ClientHello.
    pub(super) found: Option<usize>,
}

/// A group in common.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) agreement: &'static dyn KeyAgreement,
    pub(super) has_share: bool,
}

impl Negotiation {
    /// Chooses what depends on nothing else, then looks for a PSK.
    pub(super) fn begin(
        config: Arc<ServerConfig>,
        retried: Option<Retried>,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        ctx.transport.pad_records(config.padding);
        let hello = &received.hello;
        let sent = hello.extensions.iter();
        ctx.facts.peer_extensions = OpaqueExtension::of_peer(&config.extensions, sent)?;
        let negotiation = Self {
            protocol: choose_protocol(&config, hello)?,
            group: choose_group(&config, retried.as_ref(), hello)?,
            config,
            retried,
            found: None,
        };
        negotiation.find_psk(0, received, ctx)
    }

    /// Decides on suite and mode, and whether the client has to say hello again.
    pub(super) fn decide(
        self,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let hello = &received.hello;
        let suite = match (&self.found, &self.retried) {
            (_, Some(retried)) => Some(retried.suite),
            (Some(found), None) => {
                self.config.provider.suite(found.psk.suite()).and_then(|s| self.suite_for(hello, s))
            }
            (None, None) => self.common_suites(hello).next(),
        };
        let suite = suite.ok_or(handshake_failure("no suite in common"))?;
        // HelloRetryRequest is decided before any one-time key is taken.
        if self.needs_share(hello) && self.group.is_none_or(|group| !group.has_share) {
            return self.retry(suite, received, ctx);
        }

        Decided::new(self, suite, received)?.judge(received, ctx)
    }

    /// Whether the client offered early data, in this hello or before a HelloRetryRequest.
    pub(super) fn early_data_was_offered(&self, hello: &ClientHello<'_>) -> bool {
        hello.early_data || self.retried.as_ref().is_some_and(|retried| retried.early_data)
    }

    /// The suite in which a PSK of `psk_suite` can be used: the same, or one of the same hash.
    pub(super) fn suite_for(
        &self,
        hello: &ClientHello<'_>,
        psk_suite: &'static Suite,
    ) -> Option<&'static Suite> {
        let accepted = self.config.suite(psk_suite.id);
        accepted
            .filter(|suite| hello.offers_suite(suite.id))
            .or_else(|| self.common_suites(hello).find(|suite| same_hash(suite, psk_suite)))
    }

    fn common_suites<'n>(
        &'n self,
        hello: &'n ClientHello<'_>,
    ) -> impl Iterator<Item = &'static Suite> + 'n {
        let suites = self.config.suites.iter().filter_map(|id| self.config.provider.suite(*id));
        suites.filter(|suite| hello.offers_suite(suite.id))
    }

    /// Whether the handshake, as it stands, needs a key share: psk_ke only where nothing better is
    /// in common.
    pub(super) fn needs_share(&self, hello: &ClientHello<'_>) -> bool {
        let Some(found) = &self.found else { return true };
        let allowed = self.config.psk_modes(found.psk.kind());
        let offered = hello.psk_modes.unwrap_or_default();
        let with_share = allowed.psk_dhe_ke && offered.psk_dhe_ke && self.group.is_some();
        with_share || !(allowed.psk_ke && offered.psk_ke)
    }

    /// Whether a forward-secret PSK goes on without another key exchange.
    pub(super) fn continues_without_share(&self, offered: PskModes) -> bool {
        self.config.psk_modes(PskKind::ForwardSecret).psk_ke && offered.psk_ke
    }

    /// Whether a forward-secret PSK can go on at all: alone, or with a share in a mode that the client
    /// offers.
    pub(super) fn can_continue(&self, offered: PskModes) -> bool {
        let with_share = offered.psk_dhe_ke && self.group.is_some_and(|group| group.has_share);
        with_share || self.continues_without_share(offered)
    }

    /// Sends a HelloRetryRequest (RFC 8446 §4.1.4).
    pub(super) fn retry(
        self,
        suite: &'static Suite,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let group = self.group.ok_or(handshake_failure("no group in common"))?.agreement.group();
        if self.retried.is_some() {
            return Err(illegal_parameter("the second ClientHello has no share for the group"));
        }
        let hello = &received.hello;
        let mut transcript = Transcript::restart_after_retry(suite.hash, received.bytes);
        ctx.send(Epoch::Initial, &mut transcript, |out| {
            let retry = HelloRetryRequest {
                session_id: hello.session_id,
                cipher_suite: suite.id,
                group: Some(group),
                cookie: None,
            };
            retry.write(out);
        });
        ctx.facts.hello_retry = true;
        ctx.transport.change_cipher_spec();
        if hello.early_data {
            let limit = self.early_data_to_skip();
            ctx.transport.skip_early_data(SkipEarlyData::UntilSecondHello, limit);
        }
        let retried = Retried {
            first_hello: received.bytes.to_vec(),
            suite,
            group,
            transcript,
            early_data: hello.early_data,
            found: self.found.as_ref().map(|found| found.index),
        };
        Ok(ServerState::ReadClientHello(ReadClientHello::second(self.config, retried)))
    }

    /// How much refused early data is passed over, in bytes: what this server allows, what the ticket
    /// allowed, and at least one record, since clients may hold tickets of other servers.
    pub(super) fn early_data_to_skip(&self) -> usize {
        let accept = &self.config.policy.early_data;
        let forward_secret = accept.forward_secret.as_ref().map(|guard| guard.max_early_data_size);
        let replayable = accept.replayable_without_forward_secrecy.as_ref();
        let replayable = replayable.map(|guard| guard.max_early_data_size);
        let session = self.found.as_ref().and_then(|found| found.psk.session());
        let ticket = session.map(|session| session.max_early_data_size);
        let companion = session.and_then(|session| session.companion);
        let companion = companion.map(|companion| companion.max_early_data_size);
        let most = [forward_secret, replayable, ticket, companion].into_iter().flatten().max();
        let most = most.unwrap_or(0);
        usize::try_from(most).unwrap_or(usize::MAX).max(crate::limits::MAX_PLAINTEXT)
    }
}

/// The first protocol of the server's that the client offers; RFC 7301 §3.2 if there is none.
fn choose_protocol(
    config: &ServerConfig,
    hello: &ClientHello<'_>,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(offered) = hello.protocols.filter(|_| !config.protocols.is_empty()) else {
        return Ok(None);
    };
    let common = config.protocols.iter().find(|ours| offered.iter().any(|theirs| theirs == **ours));
    match common {
        Some(protocol) => Ok(Some(protocol.clone())),
        None => Err(error::protocol(
            AlertDescription::NO_APPLICATION_PROTOCOL,
            "no application protocol in common",
        )),
    }
}

/// The first group of the server's for which the client sent a share, or else the first that the
/// client supports: a round trip costs more than a preference is worth.
fn choose_group(
    config: &ServerConfig,
    retried: Option<&Retried>,
    hello: &ClientHello<'_>,
) -> Result<Option<Group>, Error> {
    let share = |group: NamedGroup| hello.key_shares.and_then(|shares| shares.get(group));
    if let Some(retried) = retried {
        // §4.1.2: exactly the share that was asked for.
        let shares = hello.key_shares.into_iter().flat_map(|shares| shares.iter());
        if !shares.map(|entry| entry.group).eq([retried.group]) {
            return Err(illegal_parameter(
                "the second ClientHello has another share than asked for",
            ));
        }
    }
    let ours = || config.groups.iter().filter_map(|group| config.provider.group(*group));
    let with_share = ours().find(|group| share(group.group()).is_some());
    let chosen = with_share.or_else(|| ours().find(|group| hello.supports_group(group.group())));
    Ok(chosen.map(|agreement| Group { agreement, has_share: with_share.is_some() }))
}
