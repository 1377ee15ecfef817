//! The client's certificate flight in (RFC 8446 §4.4.2, §4.4.3).

use alloc::boxed::Box;

use super::ServerState;
use super::finished::ReadFinished;
use crate::auth::read_certificate;
use crate::error::{Error, protocol};
use crate::handshake::certificate_flight::{accept_peer, read_certificate_verify};
use crate::handshake::context::Context;
use crate::handshake::facts::CertificateTransfer;
use crate::question::Reply;
use crate::role::Role;
use crate::wire::{AlertDescription, Certificate, CertificateType, HandshakeMessage};

/// The client was asked for a certificate.
pub struct ReadCertificate {
    pub(super) then: Box<ReadFinished>,
    /// What it was asked for.
    pub(super) typ: CertificateType,
}

impl ReadCertificate {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let mut then = self.then;
        let config = then.config.clone();
        let verifier = config.client_authentication.verifier().ok_or(NO_VERIFIER)?;
        let (certificate, encoded_with) =
            read_certificate(message, self.typ, &**verifier, &mut then.codecs)?;
        then.transcript.add(message.bytes);
        if !certificate.is_empty() {
            let transfer = CertificateTransfer::new(encoded_with, message.bytes.len());
            ctx.facts.peer_certificate = Some(transfer);
            return Ok(ServerState::ReadCertificateVerify(Box::new(ReadCertificateVerify {
                then,
                certificate,
            })));
        }
        if then.config.client_authentication.is_required() {
            return Err(protocol(
                AlertDescription::CERTIFICATE_REQUIRED,
                "the client has no certificate, and needs one",
            ));
        }
        Ok(ServerState::ReadFinished(then))
    }
}

/// It was there when the client was asked.
const NO_VERIFIER: Error = Error::Internal("a client's certificate without a verifier");

/// The client's Certificate was read.
pub struct ReadCertificateVerify {
    then: Box<ReadFinished>,
    certificate: Certificate,
}

impl ReadCertificateVerify {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Self { mut then, certificate } = *self;
        let config = then.config.clone();
        let verifier = config.client_authentication.verifier();
        let verifier = verifier.ok_or(NO_VERIFIER)?;
        let transcript = &then.transcript;
        let question = read_certificate_verify(
            message,
            transcript,
            Role::Client,
            certificate,
            None,
            &**verifier,
            ctx.now,
        )?;
        then.transcript.add(message.bytes);
        let reply = verifier.verify(&question);
        if let Reply::Now(Err(rejected)) = &reply {
            // Where the proof is what the verifier refuses, it isn't looked at once more.
            let is_wrong = rejected.alert == AlertDescription::DECRYPT_ERROR;
            then.codecs.peer_rejected(|| !is_wrong && verifier.is_proof_right(&question));
        }
        ctx.ask(question, reply, move |answer, ctx| {
            let by = then.config.authentication().verifier;
            accept_peer(answer, by, &mut then.codecs, &mut then.lineage, ctx)?;
            Ok(ServerState::ReadFinished(then))
        })
    }
}
