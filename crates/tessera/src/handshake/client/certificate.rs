//! The server's certificate flight in (RFC 8446 §4.3.2, §4.4.2, §4.4.3).

use alloc::boxed::Box;

use super::ClientState;
use super::finished::{CertificateAnswer, ReadFinished};
use crate::auth::{AgreedTypes, Credential, PeerOffer, choose_credential, read_certificate};
use crate::error::{Error, decode_error};
use crate::handshake::certificate_flight::{accept_peer, read_certificate_verify};
use crate::handshake::context::Context;
use crate::handshake::facts::CertificateTransfer;
use crate::role::Role;
use crate::wire::{Certificate, CertificateRequest, HandshakeMessage, HandshakeType, Reader};

/// EncryptedExtensions was read, and no PSK is used.
pub struct ReadCertificate {
    pub(super) then: Box<ReadFinished>,
    pub(super) types: AgreedTypes,
}

impl ReadCertificate {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        if message.typ == HandshakeType::CERTIFICATE_REQUEST
            && self.then.certificate_request.is_none()
        {
            let whole = self.then.offer.codecs.read_request(message.body)?;
            let body = whole.as_deref().unwrap_or(message.body);
            let request = CertificateRequest::read(Reader::new(body))?;
            let config = &self.then.offer.config;
            let criteria = &request.criteria;
            let allowed = |own: &Credential| own.certificate_type == self.types.client;
            self.then.certificate_request = Some(CertificateAnswer {
                credential: choose_credential(&config.credentials, Role::Client, criteria, allowed),
                entry_extensions: criteria.entry_extensions,
            });
            let algorithms = criteria.compression_algorithms;
            let offer = PeerOffer { algorithms, extensions: request.extensions };
            self.then.offer.codecs.requested(offer);
            self.then.transcript.add(message.bytes);
            return Ok(ClientState::ReadCertificate(self));
        }
        let offer = &mut self.then.offer;
        let (verifier, codecs) = (&*offer.config.verifier, &mut offer.codecs);
        let (certificate, encoded_with) =
            read_certificate(message, self.types.server, verifier, codecs)?;
        if certificate.is_empty() {
            // RFC 8446 §4.4.2.4.
            return Err(decode_error("the server sent no certificate"));
        }
        let transfer = CertificateTransfer::new(encoded_with, message.bytes.len());
        ctx.facts.peer_certificate = Some(transfer);
        let mut then = self.then;
        then.transcript.add(message.bytes);
        Ok(ClientState::ReadCertificateVerify(Box::new(ReadCertificateVerify {
            then,
            certificate,
        })))
    }
}

/// The server's Certificate was read.
pub struct ReadCertificateVerify {
    then: Box<ReadFinished>,
    certificate: Certificate,
}

impl ReadCertificateVerify {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let Self { mut then, certificate } = *self;
        let verifier = then.offer.config.verifier.clone();
        let question = read_certificate_verify(
            message,
            &then.transcript,
            Role::Server,
            certificate,
            Some(then.offer.server_name.clone()),
            &*verifier,
            ctx.now,
        )?;
        then.transcript.add(message.bytes);
        let reply = verifier.verify(&question);
        ctx.facts.signature_scheme = Some(question.proof.scheme());
        ctx.ask(question, reply, move |answer, ctx| {
            let by = then.offer.config.authentication().verifier;
            accept_peer(answer, by, &mut then.offer.codecs, &mut then.lineage, ctx)?;
            Ok(ClientState::ReadFinished(then))
        })
    }
}
