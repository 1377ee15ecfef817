//! Sends the server's flight: ServerHello to Finished (RFC 8446 §4.1.3, §4.3, §4.4).

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::ServerState;
use super::authentication::{Authentication, codecs_for, server_type};
use super::binder::ProvedHello;
use super::certificate::ReadCertificate;
use super::early_data::{EarlyDataAnswer, ReadEndOfEarlyData};
use super::kem::after_certificate;
use super::negotiation::Negotiation;
use super::one_time_key::OneTimeKey;
use super::part::{ExpectedInput, ServerPart};
use super::psk_candidate::{PskCandidate, PskInUse};
use super::ticket_plan::TicketPlan;
use crate::crypto::{SharedSecret, Suite};
use crate::error::{Error, handshake_failure};
use crate::handshake::below::{Direction, Epoch, Limit, RefusedEarlyData};
use crate::handshake::certificate_flight::{send_certificate, send_certificate_alone};
use crate::handshake::context::{Context, SecretLog};
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::finished::Finished;
use crate::handshake::handover::Handover;
use crate::handshake::lineage::Lineage;
use crate::handshake::secrets::handshake_secret;
use crate::linked::{Certificates, KemAuthentication};
use crate::resume::{Continuation, FlightHandle, KnownPsk, PskKind, Receipt, Verdict};
use crate::schedule::{EarlySecret, HandshakeSecret, Transcript};
use crate::wire::{
    CountEarlyRecords, EarlyRecordsTaken, EncryptedExtensions, ExtensionType, KeyShareEntry,
    NamedGroup, OpaqueExtension, Rejection, ServerHello, Writer,
};

/// What the server decided.
pub(super) struct ServerChoice<'p> {
    suite: &'static Suite,
    /// The transcript up to the ClientHello.
    transcript: Transcript,
    psk: Option<SelectedPsk>,
    /// The known and allowed PSK that the client offered, selected or not.
    found: Option<&'p PskCandidate>,
    with_share: bool,
    early_data: EarlyDataAnswer,
    /// The flight whose early data is accepted.
    flight: Option<FlightHandle>,
    /// The kind of the one-time key behind a forward-secret PSK.
    one_time_key: Option<NamedGroup>,
}

/// The PSK of the connection.
struct SelectedPsk {
    index: usize,
    kind: PskKind,
    early: EarlySecret,
}

impl<'p> ServerChoice<'p> {
    pub(super) fn new(
        negotiation: &Negotiation<'_>,
        in_use: PskInUse<'p>,
        one_time_key: OneTimeKey,
        early_data: EarlyDataAnswer,
        proved: ProvedHello,
    ) -> Self {
        let PskInUse { psk: found, suite, .. } = in_use;
        let ProvedHello { transcript, early, .. } = proved;
        if let OneTimeKey::Opened(opened) = one_time_key {
            let kind = PskKind::ForwardSecret;
            let is_accepted = matches!(early_data, EarlyDataAnswer::Accepted { .. });
            return Self {
                suite,
                transcript,
                psk: Some(SelectedPsk { index: 0, kind, early: opened.early }),
                found,
                with_share: !negotiation.goes_without_share(kind),
                early_data,
                flight: is_accepted.then_some(opened.companion.handle),
                one_time_key: Some(opened.kind),
            };
        }
        let psk = found.zip(early).map(|(found, early)| SelectedPsk {
            index: found.index,
            kind: found.psk.kind(),
            early,
        });
        let with_share = psk.is_none() || negotiation.needs_share(found);
        let (flight, one_time_key) = (None, None);
        Self { suite, transcript, psk, found, with_share, early_data, flight, one_time_key }
    }
}

/// Sends ServerHello and what follows it.
pub(super) fn send_server_hello(
    negotiation: &Negotiation<'_>,
    choice: ServerChoice<'_>,
    receipts: &[Receipt],
    ctx: &mut Context<'_>,
) -> Result<ServerState, Error> {
    let config = negotiation.config;
    let hello = &negotiation.hello.parsed;
    let ServerChoice { suite, mut transcript, psk, found, early_data, .. } = choice;
    let log = SecretLog { key_log: config.key_log.as_deref(), client_random: hello.random };
    let psk_kind = psk.as_ref().map(|psk| psk.kind);
    let selected_identity = psk.as_ref().map(|psk| psk.index as u16);
    let early = psk.map_or_else(|| EarlySecret::without_psk(ctx.kdf(suite)), |psk| psk.early);
    let early_traffic = matches!(early_data, EarlyDataAnswer::Accepted { .. })
        .then(|| early.client_early_traffic(&transcript.hash()));
    if let Some(secret) = &early_traffic {
        log.secret("CLIENT_EARLY_TRAFFIC_SECRET", secret.traffic().expose());
    }

    // RFC 8446 §4.1.1: a failed negotiation ends the handshake before ServerHello, in plaintext.
    let authentication = match psk_kind {
        Some(_) => None,
        None => Some(Authentication::choose(config, hello)?),
    };
    let mut codecs = codecs_for(config, hello, psk_kind.is_some(), ctx.now)?;
    let exchange = negotiation.agree(choice.with_share)?;
    let mut drawn = [0; 32 + 4];
    config.provider.random.fill(&mut drawn)?;
    let [random @ .., a, b, c, d] = drawn;
    let versions = &ctx.profile.versions;
    ctx.send(Epoch::Initial, &mut transcript, |out| {
        let hello = ServerHello {
            random: &random,
            session_id: negotiation.session_id_to_echo(),
            cipher_suite: suite.id,
            key_share: exchange.as_ref().map(Exchange::entry),
            selected_identity,
            opaque: negotiation.answered_extensions(true).collect(),
        };
        hello.write(out, versions);
    });

    let shared_secret = exchange.as_ref().map(|exchange| &exchange.secret);
    let secrets = handshake_secret(early, shared_secret, &transcript, log);
    ctx.install(Direction::Write, Epoch::Handshake, suite, secrets.server_handshake_traffic())?;

    let group = exchange.map(|exchange| exchange.group);
    let lineage =
        negotiation.lineage(found.filter(|_| psk_kind.is_some()), group, choice.one_time_key);
    let facts = &mut *ctx.facts;
    facts.suite = Some(suite.id);
    facts.group = group;
    facts.psk = psk_kind;
    facts.one_time_key = choice.one_time_key;
    facts.continuation = choice.one_time_key.map(|_| Continuation::with_share(group.is_some()));
    facts.flight = choice.flight;
    facts.early_data = early_data.status();
    facts.early_data_key_lost = early_data.is_lost();
    facts.note_lineage(&lineage);

    let receipts: Vec<u8> = receipts.iter().map(|receipt| receipt.to_wire()).collect();
    let mut extensions =
        negotiation.encrypted_extensions(authentication.as_ref(), early_data, &receipts);
    // RFC 6066 §3: a server that resumes doesn't confirm the name.
    extensions.server_name = hello.server_name.is_some() && !psk_kind.is_some_and(PskKind::resumes);
    if let Some([peer, own]) = hello.small.records(&extensions.small) {
        ctx.below.limit(Limit::Records { peer, own });
    }
    let mut is_early_read = false;
    if let (EarlyDataAnswer::Accepted { limit }, Some(secret)) = (early_data, &early_traffic)
        && ctx.profile.counts_early_records
    {
        // EncryptedExtensions answers what has arrived.
        ctx.install(Direction::Read, Epoch::EarlyData, suite, secret.traffic())?;
        ctx.below.limit(Limit::EarlyData(limit));
        is_early_read = true;
        let asked = hello.small.counts_early_records;
        let taken = asked.and_then(|CountEarlyRecords| ctx.below.close_early_data());
        extensions.small.early_records_taken = taken.map(EarlyRecordsTaken);
    }
    let request = match &authentication {
        Some(authentication) => authentication.request(config, &mut codecs)?,
        None => None,
    };
    extensions.opaque.extend(codecs.answers(hello.extensions, &negotiation.extensions)?);
    ctx.send(Epoch::Handshake, &mut transcript, |out| extensions.write(out));

    let receiving = match (early_data, early_traffic) {
        (EarlyDataAnswer::Accepted { limit }, Some(secret)) if !is_early_read => {
            ctx.install(Direction::Read, Epoch::EarlyData, suite, secret.traffic())?;
            ctx.below.limit(Limit::EarlyData(limit));
            match ctx.profile.end_of_early_data {
                true => ExpectedInput::EarlyData,
                false => ExpectedInput::Finished,
            }
        }
        _ => ExpectedInput::Finished,
    };
    if receiving == ExpectedInput::Finished {
        ctx.install(Direction::Read, Epoch::Handshake, suite, secrets.client_handshake_traffic())?;
    }
    if matches!(early_data, EarlyDataAnswer::Rejected { .. }) && negotiation.retry.is_none() {
        let limit = negotiation.refused_early_data_limit(found);
        ctx.below.limit(Limit::RefusedEarlyData(RefusedEarlyData::DoesNotOpen, limit));
    }
    // docs/kem-auth.md §9: a known key begins a chain of sessions, as a certificate does.
    let is_full = psk_kind.is_none_or(|kind| kind == PskKind::KnownKey);
    let own = ServerPart {
        config: config.clone(),
        is_full,
        receiving,
        tickets: TicketPlan::new(negotiation, !is_full, [a, b, c, d]),
    };
    let client_random = *hello.random;
    let unproved = None;
    let flight =
        Handover { own, suite, client_random, transcript, secrets, codecs, lineage, unproved };
    match authentication {
        None => send_finished(flight, ctx),
        Some(chosen) => send_certificates(flight, &chosen, request, ctx),
    }
}

/// A key exchange that the server answered.
struct Exchange {
    group: NamedGroup,
    reply: Vec<u8>,
    secret: SharedSecret,
}

impl Exchange {
    fn entry(&self) -> KeyShareEntry<'_> {
        KeyShareEntry { group: self.group, key_exchange: &self.reply }
    }
}

impl Negotiation<'_> {
    /// Answers the client's share, if there is a key exchange.
    fn agree(&self, with_share: bool) -> Result<Option<Exchange>, Error> {
        if !with_share {
            return Ok(None);
        }
        let agreement = self.group.ok_or(handshake_failure("no group in common"))?.agreement;
        let group = agreement.group();
        let share = self.hello.parsed.key_shares.and_then(|shares| shares.get(group));
        let (reply, secret) = agreement.encapsulate(share.unwrap_or_default())?;
        Ok(Some(Exchange { group, reply, secret }))
    }

    /// Returns what the connection inherits from its key exchange and, on resumption, from its session.
    fn lineage(
        &self,
        psk: Option<&PskCandidate>,
        group: Option<NamedGroup>,
        one_time_key: Option<NamedGroup>,
    ) -> Lineage {
        let known = psk.map(|found| &found.psk);
        let external = match known {
            Some(KnownPsk::External(psk)) if psk.kind().is_agreed_outside() => Some(psk),
            _ => None,
        };
        let mut lineage = Lineage {
            protocol: self.protocol.cloned(),
            server_name: self.hello.parsed.server_name.map(String::from),
            external_psk: external.map(|psk| psk.identity.clone()),
            accepted_by: external.map(|psk| psk.digest(&self.config.provider)),
            ..Lineage::over(self.profile.carrier)
        };
        lineage.inherit(known.and_then(KnownPsk::session), group, one_time_key);
        lineage
    }

    fn encrypted_extensions<'a>(
        &'a self,
        authentication: Option<&Authentication>,
        early_data: EarlyDataAnswer,
        receipts: &'a [u8],
    ) -> EncryptedExtensions<'a> {
        let hello = &self.hello.parsed;
        EncryptedExtensions {
            server_name: false,
            protocol: self.protocol.map(Vec::as_slice),
            // RFC 7250 §4.2: only if the server asks for a certificate, and the client listed types.
            client_certificate_type: authentication
                .and_then(|chosen| chosen.client_type)
                .filter(|_| hello.client_certificate_types.is_some()),
            server_certificate_type: server_type(self.config, hello, authentication),
            small: self.config.small_extensions(&hello.small),
            early_data: matches!(early_data, EarlyDataAnswer::Accepted { .. }),
            rejection: match early_data {
                EarlyDataAnswer::Rejected { rejection } => rejection,
                _ => None,
            },
            receipts,
            opaque: self.answered_extensions(false).collect(),
        }
    }

    /// Iterates over the owner's extensions that answer one of the client's, in ServerHello or in EncryptedExtensions.
    fn answered_extensions(&self, in_hello: bool) -> impl Iterator<Item = (ExtensionType, &[u8])> {
        let is_offered = |typ| self.hello.parsed.extensions.iter().any(|(it, _)| it == typ);
        let belongs = move |own: &&OpaqueExtension| {
            self.profile.server_hello_extensions.contains(&own.typ) == in_hello
                && is_offered(own.typ)
                // RFC 9853 §3: no rrc without connection_id.
                && (own.typ != ExtensionType::RRC || is_offered(ExtensionType::CONNECTION_ID))
        };
        self.extensions.iter().filter(belongs).map(|own| (own.typ, &*own.contents))
    }
}

impl EarlyDataAnswer {
    /// Returns whether its key was lost in a restart.
    fn is_lost(self) -> bool {
        matches!(self, Self::Rejected { rejection: Some(Rejection::Lost { .. }) })
    }

    fn status(self) -> EarlyDataStatus {
        match self {
            Self::NotOffered => EarlyDataStatus::NotOffered,
            Self::Accepted { .. } => EarlyDataStatus::Accepted,
            Self::Rejected { rejection } => {
                EarlyDataStatus::Rejected(rejection.map_or(Verdict::Unknown, Rejection::verdict))
            }
        }
    }
}

/// Sends the certificate flight, after the CertificateRequest if any.
fn send_certificates(
    mut flight: Handover<ServerPart, HandshakeSecret>,
    chosen: &Authentication,
    request: Option<Vec<u8>>,
    ctx: &mut Context<'_>,
) -> Result<ServerState, Error> {
    let Authentication { credential, scheme, entry_extensions, client_type, .. } = *chosen;
    if let Some(typ) = client_type {
        flight.own.receiving = ExpectedInput::Certificate(typ, Certificates::agreed()?);
    }
    if let Some(request) = request {
        ctx.send(Epoch::Handshake, &mut flight.transcript, |out| out.bytes(&request));
    }
    ctx.facts.signature_scheme = Some(scheme);
    if let (Some(_), Some(linked)) = (scheme.kem(), KemAuthentication::linked()) {
        let epoch = Epoch::Handshake;
        send_certificate_alone(&mut flight, credential, entry_extensions, epoch, ctx);
        return Ok(after_certificate(flight, (credential, scheme), linked));
    }
    send_certificate(flight, (credential, scheme), entry_extensions, ctx, send_finished)
}

/// Sends Finished, which ends the server's flight.
fn send_finished(
    flight: Handover<ServerPart, HandshakeSecret>,
    ctx: &mut Context<'_>,
) -> Result<ServerState, Error> {
    let handover = Box::new(flight.after_first(Finished::Out, ctx)?);
    Ok(match handover.own.receiving {
        ExpectedInput::EarlyData => ServerState::ReadEndOfEarlyData(ReadEndOfEarlyData(handover)),
        ExpectedInput::Certificate(typ, linked) => {
            ServerState::ReadCertificate(linked.with(ReadCertificate { handover, typ }))
        }
        ExpectedInput::Finished => handover.into(),
    })
}
