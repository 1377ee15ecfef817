//! Sends ClientHello; reads ServerHello or HelloRetryRequest (RFC 8446 §4.1).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ClientState;
use super::config::{ClientConfig, Destination};
use super::encrypted_extensions::ReadEncryptedExtensions;
use super::offer::{Offer, OfferedPsk};
use super::progress::Progress;
use crate::crypto::{SharedSecret, Suite, equal};
use crate::error::{Error, illegal_parameter, protocol, unexpected_message};
use crate::handshake::below::{Direction, Epoch, Limit};
use crate::handshake::config::Checked;
use crate::handshake::context::{Context, same_hash};
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::lineage::Lineage;
use crate::handshake::secrets::handshake_secret;
use crate::limits::{Limits, MAX_COOKIE, copied};
use crate::resume::{Continuation, PskKind, Verdict};
use crate::schedule::{EarlySecret, Profile, Transcript};
use crate::wire::{
    AlertDescription, HandshakeMessage, HandshakeType, HelloAnswer, HelloRetryRequest,
    OpaqueExtension, ServerHello,
};

/// The room for a ClientHello in bytes, that fits most, without post-quantum shares and what is encapsulated to a known key.
pub(in crate::handshake) const HELLO_WITHOUT_SHARES: usize = 512;

/// The ClientHello was sent.
pub struct ReadServerHello(Box<Offer>);

impl ClientState {
    /// Sends the ClientHello.
    pub(in crate::handshake) fn start(
        config: Checked<ClientConfig>,
        destination: Destination,
        ctx: &mut Context<'_>,
    ) -> Result<Self, Error> {
        let mut offer = Offer::new(config, destination, ctx.profile, ctx.now)?;
        ctx.below.limit(Limit::Padding(offer.config.padding));
        // Classical shares have room.
        let shares = offer.ephemerals.iter().filter(|(group, _)| group.is_post_quantum());
        let shares = shares.map(|(_, it)| it.share().len()).sum::<usize>();
        let known_keys = offer.psks.iter().filter(|psk| psk.kind == PskKind::KnownKey);
        let known_keys = known_keys.map(|psk| psk.identity.len()).sum::<usize>();
        let mut hello = Vec::with_capacity(HELLO_WITHOUT_SHARES + shares + known_keys);
        offer.write(&mut hello, None);
        ctx.below.send(Epoch::Initial, &hello);
        ctx.facts.server_name = Some(offer.server_name.clone()).filter(|name| !name.is_empty());
        if let Some(limit) = offer.early_data
            && let Some(psk) = offer.psks.first()
        {
            ctx.facts.early_data = EarlyDataStatus::Offered;
            ctx.facts.flight = offer.flight;
            let secret = psk.early.client_early_traffic(&psk.suite.hash.hash(&hello));
            offer.secret_log().secret("CLIENT_EARLY_TRAFFIC_SECRET", secret.traffic().expose());
            ctx.install(Direction::Write, Epoch::EarlyData, psk.suite, secret.traffic())?;
            ctx.below.limit(Limit::EarlyData(*limit));
        }
        offer.progress = Progress::First(hello);
        Ok(Self::ReadServerHello(ReadServerHello(offer)))
    }
}

impl ReadServerHello {
    /// Creates the state as if this ClientHello had been sent for the offer.
    #[cfg(test)]
    pub(super) fn sent(mut offer: Box<Offer>, first_hello: Vec<u8>) -> Self {
        offer.progress = Progress::First(first_hello);
        Self(offer)
    }

    /// Returns what this side accepts.
    pub(super) fn limits(&self) -> &Limits {
        &self.0.config.limits
    }

    pub(crate) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let reader = message.reader_for(HandshakeType::SERVER_HELLO)?;
        let Profile { versions, server_hello_extensions: owners, .. } = ctx.profile;
        match HelloAnswer::read(reader, versions, owners, |typ| self.0.has(typ))? {
            HelloAnswer::Hello(hello) => self.hello(hello, message, ctx),
            HelloAnswer::Retry(retry) => self.retry(retry, message, ctx),
        }
    }

    /// RFC 8446 §4.1.4: changes what the server asks for, and sends ClientHello again.
    fn retry(
        self,
        retry: HelloRetryRequest<'_>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let Self(mut offer) = self;
        let Progress::First(first_hello) = core::mem::take(&mut offer.progress) else {
            return Err(unexpected_message("a second HelloRetryRequest"));
        };
        ctx.below.flight_ended()?;
        let suite = chosen_suite(&offer, retry.cipher_suite, retry.session_id)?;
        if let Some(group) = retry.group {
            let sent = offer.ephemerals.iter().any(|(sent, _)| *sent == group);
            let agreement = offer.config.group(group).filter(|_| !sent);
            let agreement = agreement.ok_or(illegal_parameter(
                "HelloRetryRequest wants a group that was not offered, or whose share was sent",
            ))?;
            offer.ephemerals = alloc::vec![(group, agreement.generate()?)];
            offer.greases_share = false;
        } else if retry.cookie.is_none() {
            return Err(illegal_parameter("HelloRetryRequest changes nothing"));
        }
        if retry.cookie.is_some_and(|cookie| cookie.len() > MAX_COOKIE) {
            return Err(illegal_parameter("a cookie that no ClientHello has room for"));
        }
        offer.cookie = retry.cookie.map(copied).transpose()?;

        ctx.facts.hello_retry = true;
        if offer.early_data.take().is_some() {
            // §4.2.10: refused. The verdict comes with EncryptedExtensions.
            ctx.facts.early_data = EarlyDataStatus::Rejected(Verdict::Unknown);
            ctx.below.withdraw_early_data();
        }
        offer.keep_psks_of(suite);

        let mut transcript = Transcript::after_retry(suite.hash, &suite.hash.hash(&first_hello));
        transcript.add(message.bytes);
        let room = first_hello.len() + 6 + retry.cookie.map_or(0, <[u8]>::len);
        *ctx.scratch = first_hello;
        ctx.scratch.clear();
        if ctx.scratch.capacity() < room {
            *ctx.scratch = Vec::with_capacity(room);
        }
        offer.write(ctx.scratch, Some(&mut transcript));
        ctx.below.send(Epoch::Initial, ctx.scratch);
        offer.progress = Progress::Retried(suite, transcript);
        Ok(ClientState::ReadServerHello(Self(offer)))
    }

    fn hello(
        self,
        hello: ServerHello<'_>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let Self(mut offer) = self;
        let suite = chosen_suite(&offer, hello.cipher_suite, hello.session_id)?;
        let mut transcript = match core::mem::take(&mut offer.progress) {
            Progress::First(first_hello) => Transcript::start(suite.hash, &first_hello),
            Progress::Retried(retried, _) if retried != suite => {
                return Err(illegal_parameter("the suite changed after HelloRetryRequest"));
            }
            Progress::Retried(_, transcript) => transcript,
        };
        transcript.add(message.bytes);

        let psk = chosen_psk(&mut offer, hello.selected_identity, suite)?;
        check_mode(&offer, psk.as_ref(), hello.key_share.is_some())?;
        let shared = agree(&mut offer, &hello)?;

        let external = psk.as_ref().filter(|psk| psk.kind.is_agreed_outside());
        let mut lineage = Lineage {
            server_name: Some(offer.server_name.clone()).filter(|name| !name.is_empty()),
            external_psk: external.map(|psk| psk.identity.clone()),
            accepted_by: psk.as_ref().and_then(|psk| psk.digest),
            is_monotonic: offer.is_monotonic,
            ..Lineage::over(ctx.profile.carrier)
        };
        let psk_kind = psk.as_ref().map(|psk| psk.kind);
        if let (Some(PskKind::KnownKey), Some(server)) = (psk_kind, offer.known_server.take()) {
            lineage.peer = Some(server.into_inner());
            lineage.authenticated_at = ctx.now.on(offer.is_monotonic).map(|now| now.as_secs());
        }
        let early = psk.map_or_else(|| EarlySecret::without_psk(ctx.kdf(suite)), |psk| psk.early);
        let shared_secret = shared.as_ref().map(|(_, secret)| secret);
        let secrets = handshake_secret(early, shared_secret, &transcript, offer.secret_log());
        ctx.install(Direction::Read, Epoch::Handshake, suite, secrets.server_handshake_traffic())?;
        if offer.early_data.is_none() {
            // With early data under way, the keys change only after EncryptedExtensions, which answers it.
            ctx.install(
                Direction::Write,
                Epoch::Handshake,
                suite,
                secrets.client_handshake_traffic(),
            )?;
        }

        ctx.facts.peer_extensions =
            OpaqueExtension::of_peer(&offer.extensions, hello.opaque.iter().copied())?;
        let group = shared.as_ref().map(|(group, _)| *group);
        let one_time_key = offer.one_time_kind.filter(|_| psk_kind == Some(PskKind::ForwardSecret));
        ctx.facts.suite = Some(suite.id);
        ctx.facts.group = group;
        ctx.facts.psk = psk_kind;
        ctx.facts.one_time_key = one_time_key;
        ctx.facts.continuation = one_time_key.map(|_| Continuation::with_share(group.is_some()));
        Ok(ClientState::ReadEncryptedExtensions(Box::new(ReadEncryptedExtensions {
            offer,
            suite,
            psk: psk_kind,
            group,
            one_time_key,
            first_identity: hello.selected_identity == Some(0),
            transcript,
            secrets,
            lineage,
        })))
    }
}

fn chosen_suite(
    offer: &Offer,
    id: crate::wire::CipherSuite,
    session_id: &[u8],
) -> Result<&'static Suite, Error> {
    if !equal(session_id, offer.legacy_session_id()) {
        return Err(illegal_parameter("the server did not echo legacy_session_id"));
    }
    offer.config.suite(id).ok_or(illegal_parameter("the server chose a suite that was not offered"))
}

fn chosen_psk(
    offer: &mut Offer,
    selected: Option<u16>,
    suite: &Suite,
) -> Result<Option<OfferedPsk>, Error> {
    // Drops the PSKs that weren't chosen.
    let mut psks = core::mem::take(&mut offer.psks);
    let Some(index) = selected else { return Ok(None) };
    if usize::from(index) >= psks.len() {
        return Err(illegal_parameter("the server selected an identity that was not offered"));
    }
    let psk = psks.swap_remove(index.into());
    if !same_hash(psk.suite, suite) {
        return Err(illegal_parameter("the selected PSK has another hash than the suite"));
    }
    Ok(Some(psk))
}

/// Checks the key exchange mode against the kind of PSK. The client must enforce it too: an attacker who could
/// make it use a PSK alone would remove its forward secrecy.
fn check_mode(offer: &Offer, psk: Option<&OfferedPsk>, with_share: bool) -> Result<(), Error> {
    match (psk, with_share) {
        (None, false) => Err(protocol(
            AlertDescription::MISSING_EXTENSION,
            "ServerHello has neither a PSK nor a key share",
        )),
        (None, true) => Ok(()),
        (Some(psk), false) if offer.modes.psk_ke && offer.config.psk_modes(psk.kind).psk_ke => {
            Ok(())
        }
        (Some(_), true) if offer.modes.psk_dhe_ke => Ok(()),
        _ => Err(illegal_parameter("the PSK may not be used in the mode that the server chose")),
    }
}

fn agree(
    offer: &mut Offer,
    hello: &ServerHello<'_>,
) -> Result<Option<(crate::wire::NamedGroup, SharedSecret)>, Error> {
    // Drops the ephemeral keys, whatever the result.
    let ephemerals = core::mem::take(&mut offer.ephemerals);
    let Some(reply) = hello.key_share else { return Ok(None) };
    let (group, ephemeral) = ephemerals
        .into_iter()
        .find(|(group, _)| *group == reply.group)
        .ok_or(illegal_parameter("a key share for a group whose share was not sent"))?;
    Ok(Some((group, ephemeral.decapsulate(reply.key_exchange)?)))
}
