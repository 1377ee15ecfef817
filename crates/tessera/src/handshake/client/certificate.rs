//! Reads the server's certificate flight (RFC 8446 §4.3.2, §4.4.2, §4.4.3).

use alloc::boxed::Box;

use super::ClientState;
use super::kem::answer_certificate;
use super::part::{CertificateAnswer, ClientPart};
use crate::auth::{AgreedTypes, Credential, PeerExtensions, choose_credential};
use crate::error::{Error, decode_error};
use crate::handshake::certificate_flight::{ReadCertificateVerify, read_certificate};
use crate::handshake::context::Context;
use crate::handshake::handover::Handover;
use crate::handshake::kem_flight::kem_of;
use crate::linked::{Certificates, KemAuthentication};
use crate::role::Role;
use crate::schedule::HandshakeSecret;
use crate::wire::{CertificateRequest, HandshakeMessage, HandshakeType, Reader};

/// EncryptedExtensions was read, and no PSK is used.
pub struct ReadCertificate {
    pub(super) handover: Box<Handover<ClientPart, HandshakeSecret>>,
    pub(super) types: AgreedTypes,
}

impl ReadCertificate {
    pub(crate) fn receive(
        mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let Handover { own, transcript, codecs, .. } = &mut *self.handover;
        if message.typ == HandshakeType::CERTIFICATE_REQUEST && own.certificate_request.is_none() {
            let whole = codecs.read_request(message.body)?;
            let body = whole.as_deref().unwrap_or(message.body);
            let request = CertificateRequest::read(Reader::new(body))?;
            let criteria = &request.criteria;
            let credentials = &own.offer.config.credentials;
            // Whether the server signs isn't known yet, and the client then does the same (docs/kem-auth.md §3).
            let choose = |with_kem| {
                let allowed = |own: &Credential| {
                    own.certificate_type == self.types.client && own.key.is_kem() == with_kem
                };
                choose_credential(credentials, Role::Client, criteria, allowed)
            };
            let linked = Certificates::agreed()?;
            own.certificate_request = Some(linked.with(CertificateAnswer {
                credential: choose(false),
                kem: KemAuthentication::linked().and_then(|_| choose(true)),
                entry_extensions: criteria.entry_extensions,
            }));
            let algorithms = criteria.compression_algorithms;
            let extensions = PeerExtensions { algorithms, block: request.extensions };
            codecs.received(HandshakeType::CERTIFICATE_REQUEST, extensions)?;
            transcript.add(message.bytes);
            return Ok(ClientState::ReadCertificate(linked.with(self)));
        }
        let Self { mut handover, types } = self;
        let certificate = read_certificate(&mut handover, types.server, message, ctx)?;
        if certificate.is_empty() {
            // RFC 8446 §4.4.2.4.
            return Err(decode_error("the server sent no certificate"));
        }
        if let Some(kem) = kem_of(&handover.own, &certificate, ctx)? {
            return answer_certificate(*handover, certificate, kem, ctx);
        }
        let read = Box::new(ReadCertificateVerify { handover, certificate });
        Ok(ClientState::ReadCertificateVerify(Certificates::agreed()?.with(read)))
    }
}
