//! Reads the client's certificate flight (RFC 8446 §4.4.2, §4.4.3).

use alloc::boxed::Box;

use super::ServerState;
use super::part::ServerPart;
use crate::error::{Error, protocol};
use crate::handshake::certificate_flight::{ReadCertificateVerify, read_certificate};
use crate::handshake::context::Context;
use crate::handshake::handover::Handover;
use crate::linked::Certificates;
use crate::schedule::MasterSecret;
use crate::wire::{AlertDescription, CertificateType, HandshakeMessage};

/// The client was asked for a certificate.
pub struct ReadCertificate {
    pub(super) handover: Box<Handover<ServerPart, MasterSecret>>,
    /// The requested type.
    pub(super) typ: CertificateType,
}

impl ReadCertificate {
    pub(crate) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let Self { mut handover, typ } = self;
        let certificate = read_certificate(&mut handover, typ, message, ctx)?;
        if certificate.is_empty() {
            check_no_certificate(&handover.own)?;
            return Ok(handover.into());
        }
        let read = Box::new(ReadCertificateVerify { handover, certificate });
        Ok(ServerState::ReadCertificateVerify(Certificates::agreed()?.with(read)))
    }
}

/// Returns an error if a client without a certificate is not accepted.
pub(super) fn check_no_certificate(own: &ServerPart) -> Result<(), Error> {
    if own.config.client_authentication.is_required() {
        return Err(protocol(
            AlertDescription::CERTIFICATE_REQUIRED,
            "the client has no certificate, and needs one",
        ));
    }
    Ok(())
}
