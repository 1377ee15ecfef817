//! A server that authenticates with a KEM (docs/kem-auth.md §4): it reads KEMEncapsulation, the client's Certificate if it
//! asked for one, and the client's Finished, and sends its own last.

use alloc::boxed::Box;

use super::ServerState;
use super::certificate::check_no_certificate;
use super::finished::connected;
use super::part::{ExpectedInput, ServerPart};
use crate::crypto::SharedSecret;
use crate::error::{Error, protocol};
use crate::handshake::below::Epoch;
use crate::handshake::certificate_flight::read_certificate;
use crate::handshake::context::Context;
use crate::handshake::finished::Finished;
use crate::handshake::handover::Handover;
use crate::handshake::kem_flight::{ReadEncapsulation, encapsulate_to_peer, kem_of};
use crate::linked::KemAuthentication;
use crate::schedule::{AuthenticatedHandshakeSecret, HandshakeSecret, UnfinishedMasterSecret};
use crate::wire::{AlertDescription, CertificateType, HandshakeMessage, SignatureScheme};

/// Awaits the answer to this server's Certificate.
pub(super) fn after_certificate(
    handover: Handover<ServerPart, HandshakeSecret>,
    (credential, scheme): (usize, SignatureScheme),
    linked: KemAuthentication,
) -> ServerState {
    let then = after_decapsulation;
    let state = ReadEncapsulation { handover, credential, scheme, then };
    ServerState::ReadEncapsulation(linked.with(Box::new(state)))
}

fn after_decapsulation(
    handover: Handover<ServerPart, HandshakeSecret>,
    shared: SharedSecret,
    ctx: &mut Context<'_>,
) -> Result<ServerState, Error> {
    let handover = handover.absorb(&shared, ctx)?;
    Ok(match handover.own.receiving {
        ExpectedInput::Certificate(typ, _) => {
            let handover = Box::new(handover);
            let linked = KemAuthentication::agreed()?;
            ServerState::ReadKemCertificate(linked.with(ReadKemCertificate { handover, typ }))
        }
        // Early data belongs to a PSK, and there is none.
        ExpectedInput::EarlyData | ExpectedInput::Finished => await_finished(handover, None)?,
    })
}

/// The client was asked for a certificate.
pub struct ReadKemCertificate {
    pub(super) handover: Box<Handover<ServerPart, AuthenticatedHandshakeSecret>>,
    /// The requested type.
    typ: CertificateType,
}

impl ReadKemCertificate {
    pub(crate) fn receive(
        mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let certificate = read_certificate(&mut self.handover, self.typ, message, ctx)?;
        if certificate.is_empty() {
            check_no_certificate(&self.handover.own)?;
            return await_finished(*self.handover, None);
        }
        let kem = kem_of(&self.handover.own, &certificate, ctx)?;
        let (scheme, linked) = kem.ok_or(protocol(
            AlertDescription::UNSUPPORTED_CERTIFICATE,
            "the client's certificate signs, and the server's is of a KEM: so must the client's",
        ))?;
        linked.is_here();
        let epoch = Epoch::AuthenticatedHandshake;
        encapsulate_to_peer(
            *self.handover,
            certificate,
            scheme,
            epoch,
            ctx,
            |handover, shared, _| await_finished(handover, Some(&shared)),
        )
    }
}

fn await_finished(
    handover: Handover<ServerPart, AuthenticatedHandshakeSecret>,
    shared: Option<&SharedSecret>,
) -> Result<ServerState, Error> {
    let linked = KemAuthentication::agreed()?;
    let handover = Box::new(handover.map(|secrets| secrets.into_master(shared)));
    Ok(ServerState::ReadFirstFinished(linked.with(ReadFirstFinished(handover))))
}

/// The client's Finished is missing, which proves that it has its key, if it showed one.
pub struct ReadFirstFinished(pub(super) Box<Handover<ServerPart, UnfinishedMasterSecret>>);

impl ReadFirstFinished {
    pub(crate) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let half = self.0.after_client(Finished::In(message), ctx)?;
        connected(half.after_server(Finished::Out, ctx)?, ctx)
    }
}
