//! The server's certificate flight in (RFC 8446 §4.3.2, §4.4.2, §4.4.3).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ClientState;
use super::finished::ReadFinished;
use crate::auth::{
    PeerIdentity, PeerRejected, Role, accept_peer, choose_credential, read_certificate_verify,
};
use crate::error::{Error, decode_error};
use crate::handshake::context::Context;
use crate::handshake::question::{Reply, Waiting};
use crate::wire::{CertificateRequest, HandshakeMessage, HandshakeType, read_certificate};

/// EncryptedExtensions was read, and no PSK is used.
pub(crate) struct ReadCertificate {
    pub(super) then: ReadFinished,
}

impl ReadCertificate {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        _: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        if message.typ == HandshakeType::CERTIFICATE_REQUEST
            && self.then.certificate_request.is_none()
        {
            let request =
                CertificateRequest::read(message.reader_for(HandshakeType::CERTIFICATE_REQUEST)?)?;
            let credentials = &self.then.offer.config.credentials;
            let chosen = choose_credential(credentials, Role::Client, &request.criteria);
            self.then.certificate_request = Some(chosen);
            self.then.transcript.add(message.bytes);
            return Ok(ClientState::ReadCertificate(self));
        }
        let chain = read_certificate(message.reader_for(HandshakeType::CERTIFICATE)?)?;
        if chain.is_empty() {
            // RFC 8446 §4.4.2.4.
            return Err(decode_error("the server sent no certificate"));
        }
        let mut then = self.then;
        then.transcript.add(message.bytes);
        Ok(ClientState::ReadCertificateVerify(Box::new(ReadCertificateVerify { then, chain })))
    }
}

/// The server's Certificate was read.
pub(crate) struct ReadCertificateVerify {
    then: ReadFinished,
    chain: Vec<Vec<u8>>,
}

impl ReadCertificateVerify {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let Self { mut then, chain } = *self;
        let verifier = then.offer.config.verifier.clone();
        let question = read_certificate_verify(
            message,
            &then.transcript,
            Role::Server,
            chain,
            Some(then.offer.server_name.clone()),
            &*verifier,
            ctx.now,
        )?;
        then.transcript.add(message.bytes);
        let reply = verifier.verify(&question);
        ctx.facts.signature_scheme = Some(question.scheme);
        match reply {
            Reply::Now(answer) => then.verified(answer, ctx),
            Reply::Later => Ok(ClientState::VerifyingPeer(Waiting::new(question, then))),
        }
    }
}

impl ReadFinished {
    /// Someone judged the server.
    pub(super) fn verified(
        self,
        answer: Result<PeerIdentity, PeerRejected>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        accept_peer(answer, ctx)?;
        Ok(ClientState::ReadFinished(Box::new(self)))
    }
}
