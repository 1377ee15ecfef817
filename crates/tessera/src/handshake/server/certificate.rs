//! The client's certificate flight in (RFC 8446 §4.4.2, §4.4.3).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ServerState;
use super::finished::ReadFinished;
use crate::auth::{
    PeerIdentity, PeerRejected, Role, VerifyPeer, check_identity, read_certificate_verify,
};
use crate::error::{Error, protocol};
use crate::handshake::context::Context;
use crate::handshake::question::Reply;
use crate::wire::{AlertDescription, HandshakeMessage, HandshakeType, read_certificate};

/// The client was asked for a certificate.
pub(crate) struct ReadCertificate {
    pub(super) then: Box<ReadFinished>,
}

impl ReadCertificate {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        _: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let chain = read_certificate(message.expect(HandshakeType::CERTIFICATE)?)?;
        let mut then = self.then;
        then.transcript.add(message.bytes);
        if !chain.is_empty() {
            return Ok(ServerState::ReadCertificateVerify(Box::new(ReadCertificateVerify {
                then,
                chain,
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

/// The client's Certificate was read.
pub(crate) struct ReadCertificateVerify {
    then: Box<ReadFinished>,
    chain: Vec<Vec<u8>>,
}

impl ReadCertificateVerify {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Self { mut then, chain } = *self;
        let config = then.config.clone();
        let verifier = config.client_authentication.verifier();
        let verifier = verifier.ok_or(Error::Provider("a verifier for clients"))?;
        let transcript = &then.transcript;
        let question = read_certificate_verify(
            message,
            transcript,
            Role::Client,
            chain,
            None,
            &**verifier,
            ctx.now,
        )?;
        then.transcript.add(message.bytes);
        let reply = verifier.verify(&question);
        let waiting = Box::new(VerifyingPeer { then, question: Some(question) });
        match reply {
            Reply::Now(answer) => waiting.answered(answer, ctx),
            Reply::Later => Ok(ServerState::VerifyingPeer(waiting)),
        }
    }
}

/// Someone judges the client.
pub(crate) struct VerifyingPeer {
    then: Box<ReadFinished>,
    pub(super) question: Option<VerifyPeer>,
}

impl VerifyingPeer {
    pub(crate) fn answered(
        self: Box<Self>,
        answer: Result<PeerIdentity, PeerRejected>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let identity = answer.map_err(Error::PeerRejected)?;
        check_identity(&identity)?;
        ctx.facts.peer = Some(identity);
        Ok(ServerState::ReadFinished(self.then))
    }
}
