//! The client's certificate flight in (RFC 8446 §4.4.2, §4.4.3).

use alloc::boxed::Box;

use super::ServerState;
use super::finished::ReadFinished;
use crate::auth::{PeerIdentity, PeerRejected, Role, accept_peer, read_certificate_verify};
use crate::error::{Error, protocol};
use crate::handshake::context::Context;
use crate::handshake::question::{Reply, Waiting};
use crate::wire::{AlertDescription, Certificate, CertificateType, HandshakeMessage};

/// The client was asked for a certificate.
pub(crate) struct ReadCertificate {
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
        let accepted = then.config.accepted_certificates().ok_or(NO_VERIFIER)?;
        let certificate = accepted.read(message, self.typ, ctx.facts)?;
        then.transcript.add(message.bytes);
        if !certificate.chain.is_empty() {
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
pub(crate) struct ReadCertificateVerify {
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
        match reply {
            Reply::Now(answer) => then.verified(answer, ctx),
            Reply::Later => Ok(ServerState::VerifyingPeer(Waiting::new(question, then))),
        }
    }
}

impl ReadFinished {
    /// Someone judged the client.
    pub(super) fn verified(
        self: Box<Self>,
        answer: Result<PeerIdentity, PeerRejected>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        accept_peer(answer, ctx)?;
        Ok(ServerState::ReadFinished(self))
    }
}
