//! Reads EncryptedExtensions: the server's response to the offer (RFC 8446 §4.3.1).

use alloc::boxed::Box;

use super::ClientState;
use super::certificate::ReadCertificate;
use super::offer::Offer;
use super::part::ClientPart;
use crate::auth::{AgreedTypes, NO_COMMON_TYPE, PeerExtensions};
use crate::crypto::Suite;
use crate::error::{Error, illegal_parameter};
use crate::handshake::below::{Direction, Epoch, Limit};
use crate::handshake::context::Context;
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::handover::Handover;
use crate::handshake::lineage::Lineage;
use crate::linked::{Certificates, Sessions};
use crate::resume::{PskKind, Receipt, SettledFlights, Verdict};
use crate::schedule::{HandshakeSecret, Transcript};
use crate::wire::{
    EncryptedExtensions, Extensions, HandshakeMessage, HandshakeType, NamedGroup, OpaqueExtension,
    Reader,
};

/// ServerHello was read.
pub struct ReadEncryptedExtensions {
    pub(super) offer: Box<Offer>,
    pub(super) suite: &'static Suite,
    pub(super) psk: Option<PskKind>,
    pub(super) group: Option<NamedGroup>,
    pub(super) one_time_key: Option<NamedGroup>,
    pub(super) first_identity: bool,
    pub(super) transcript: Transcript,
    pub(super) secrets: HandshakeSecret,
    pub(super) lineage: Lineage,
}

impl ReadEncryptedExtensions {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let reader = message.reader_for(HandshakeType::ENCRYPTED_EXTENSIONS)?;
        let extensions = EncryptedExtensions::read(reader, |typ| self.offer.has(typ))?;
        self.transcript.add(message.bytes);

        if let Some(protocol) = extensions.protocol {
            if !self.offer.config.protocols.iter().any(|offered| offered == protocol) {
                return Err(illegal_parameter("the server chose a protocol that was not offered"));
            }
            self.lineage.protocol = Some(protocol.to_vec());
        }
        let answered = &extensions.small;
        if let Some([peer, own]) = answered.records(&self.offer.small) {
            ctx.below.limit(Limit::Records { peer, own });
        }
        // RFC 6066 §4, RFC 8449 §5.
        let fragment = answered.max_fragment_length;
        if fragment.is_some()
            && (answered.record_size_limit.is_some()
                || fragment != self.offer.small.max_fragment_length)
        {
            return Err(illegal_parameter("max_fragment_length is not the client's, or needless"));
        }
        let in_hello = ctx.profile.server_hello_extensions;
        if extensions.opaque.iter().any(|(typ, _)| in_hello.contains(typ)) {
            return Err(illegal_parameter("an extension that belongs in ServerHello"));
        }
        let own = &self.offer.extensions;
        let answered = OpaqueExtension::of_peer(own, extensions.opaque.iter().copied())?;
        ctx.facts.peer_extensions.extend(answered);
        let block = Extensions::at(Reader::new(message.body));
        let answers = PeerExtensions { algorithms: None, block };
        self.offer.codecs.received(HandshakeType::ENCRYPTED_EXTENSIONS, answers)?;
        if self.psk.is_some() {
            self.offer.codecs.agreed_with_psk()?;
        }
        let config = &self.offer.config;
        let types = Certificates::linked().map(|_| {
            AgreedTypes::answered(
                [extensions.client_certificate_type, extensions.server_certificate_type],
                &config.own_certificate_types(),
                config.server_certificate_types(),
                self.psk.is_some(),
            )
        });
        let types = types.transpose()?;
        let early_data = self.settle_early_data(&extensions, ctx)?;
        let receipts = self.read_receipts(extensions.receipts)?;
        let early_records_taken = extensions.small.early_records_taken.map(|taken| taken.0);
        if early_records_taken.is_some() && early_data != EarlyDataStatus::Accepted {
            return Err(illegal_parameter("a count of early data that was not accepted"));
        }
        if early_records_taken
            .is_some_and(|taken| u64::from(taken) > ctx.below.early_records_sent())
        {
            return Err(illegal_parameter("a count of more early data than was sent"));
        }
        let session = self.offer.session.as_ref().map(|session| &session.state);
        let resumes = self.psk.is_some_and(PskKind::resumes);
        self.lineage.inherit(session.filter(|_| resumes), self.group, self.one_time_key);
        ctx.facts.note_lineage(&self.lineage);

        let Self { mut offer, suite, psk, group, transcript, secrets, lineage, .. } = *self;
        let (client_random, codecs) = (offer.random, core::mem::take(&mut offer.codecs));
        let own = ClientPart {
            offer,
            group,
            early_data,
            receipts,
            early_records_taken,
            certificate_request: None,
        };
        let unproved = None;
        let handover =
            Handover { own, suite, client_random, transcript, secrets, codecs, lineage, unproved };
        let handover = Box::new(handover);
        Ok(match psk {
            Some(_) => handover.into(),
            None => {
                let linked = Certificates::agreed()?;
                let types = types.ok_or(NO_COMMON_TYPE)?;
                ClientState::ReadCertificate(linked.with(ReadCertificate { handover, types }))
            }
        })
    }

    /// Returns the fate of the flights that the client asked about, in the same order. A server that doesn't
    /// answer doesn't know.
    fn read_receipts(&self, bytes: &[u8]) -> Result<SettledFlights, Error> {
        let asked = &self.offer.ask_receipts;
        if Sessions::linked().is_none() {
            return Ok(SettledFlights::default());
        }
        if !bytes.is_empty() && bytes.len() != asked.len() {
            return Err(illegal_parameter("not one receipt for every flight"));
        }
        let known = bytes.iter().map(|byte| Receipt::from_wire(*byte));
        let receipts = known.chain(core::iter::repeat(Receipt::Unknown));
        Ok(asked.iter().copied().zip(receipts).collect())
    }

    /// Returns the fate of the early data. The server isn't authenticated yet, so the application learns it
    /// after its Finished: an attacker who could report a flight as burned earlier could have it executed
    /// twice.
    fn settle_early_data(
        &self,
        extensions: &EncryptedExtensions<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<EarlyDataStatus, Error> {
        let rejection = extensions.rejection;
        if rejection.is_some() && self.offer.one_time_kind.is_none() {
            return Err(illegal_parameter("a verdict on no forward-secret ticket"));
        }
        if extensions.early_data {
            // RFC 8446 §4.2.10: only with the first identity, its suite and its protocol, and never
            // after a HelloRetryRequest.
            let session = self.offer.session.as_ref().map(|session| &session.state);
            let as_before = session.is_some_and(|session| {
                session.suite == self.suite.id && session.protocol == self.lineage.protocol
            });
            let offered = self.offer.early_data.is_some();
            if !offered || !self.first_identity || !as_before {
                return Err(illegal_parameter("the server may not accept this early data"));
            }
            if rejection.is_some() {
                return Err(illegal_parameter("a verdict on early data that was accepted"));
            }
            return Ok(EarlyDataStatus::Accepted);
        }
        if self.offer.offered_early_data() {
            if self.offer.early_data.is_some() {
                let secret = self.secrets.client_handshake_traffic();
                ctx.install(Direction::Write, Epoch::Handshake, self.suite, secret)?;
            }
            ctx.facts.early_data = EarlyDataStatus::Rejected(Verdict::Unknown);
            let judged = rejection.map(|it| it.judged_by_client(&self.offer.began));
            return Ok(EarlyDataStatus::Rejected(judged.unwrap_or(Verdict::Unknown)));
        }
        Ok(EarlyDataStatus::NotOffered)
    }
}
