//! The client's certificate flight in (RFC 8446 §4.4.2, §4.4.3).

use alloc::boxed::Box;

use super::ServerState;
use super::part::ServerPart;
use crate::auth::read_certificate;
use crate::error::{Error, protocol};
use crate::handshake::certificate_flight;
use crate::handshake::context::Context;
use crate::handshake::facts::CertificateTransfer;
use crate::handshake::finished::ApplicationSecrets;
use crate::handshake::handover::{Handover, Part};
use crate::wire::{AlertDescription, CertificateType, HandshakeMessage};

/// The client was asked for a certificate.
pub struct ReadCertificate {
    pub(super) handover: Box<Handover<ServerPart, ApplicationSecrets>>,
    /// What it was asked for.
    pub(super) typ: CertificateType,
}

/// The client's Certificate was read.
pub type ReadCertificateVerify = certificate_flight::ReadCertificateVerify<ServerPart>;

impl ReadCertificate {
    pub(crate) fn receive(
        mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Handover { own, transcript, codecs, .. } = &mut *self.handover;
        let (certificate, encoded_with) =
            read_certificate(message, self.typ, own.verifier()?, codecs)?;
        transcript.add(message.bytes);
        if !certificate.is_empty() {
            let transfer = CertificateTransfer::new(encoded_with, message.bytes.len());
            ctx.facts.peer_certificate = Some(transfer);
            let next = ReadCertificateVerify { handover: self.handover, certificate };
            return Ok(ServerState::ReadCertificateVerify(Box::new(next)));
        }
        if own.config.client_authentication.is_required() {
            return Err(protocol(
                AlertDescription::CERTIFICATE_REQUIRED,
                "the client has no certificate, and needs one",
            ));
        }
        Ok(ServerPart::read_finished(self.handover))
    }
}
