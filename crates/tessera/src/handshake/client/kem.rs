//! A client whose server authenticates with a KEM (docs/kem-auth.md §4): after the server's Certificate it sends
//! KEMEncapsulation, its own Certificate if asked, and Finished, before the server's.

use alloc::boxed::Box;

use super::ClientState;
use super::finished::connected;
use super::part::ClientPart;
use crate::crypto::SharedSecret;
use crate::error::Error;
use crate::handshake::below::Epoch;
use crate::handshake::certificate_flight::send_certificate_alone;
use crate::handshake::context::Context;
use crate::handshake::finished::Finished;
use crate::handshake::handover::Handover;
use crate::handshake::kem_flight::{ReadEncapsulation, encapsulate_to_peer};
use crate::linked::KemAuthentication;
use crate::schedule::{AuthenticatedHandshakeSecret, HalfFinishedMasterSecret, HandshakeSecret};
use crate::wire::{Certificate, HandshakeMessage, SignatureScheme, write_no_certificate};

/// Answers the server's Certificate.
pub(super) fn answer_certificate(
    handover: Handover<ClientPart, HandshakeSecret>,
    certificate: Certificate,
    (scheme, linked): (SignatureScheme, KemAuthentication),
    ctx: &mut Context<'_>,
) -> Result<ClientState, Error> {
    linked.is_here();
    encapsulate_to_peer(handover, certificate, scheme, Epoch::Handshake, ctx, after_encapsulation)
}

/// Sends what follows KEMEncapsulation, under the keys that only the true server has.
fn after_encapsulation(
    handover: Handover<ClientPart, HandshakeSecret>,
    shared: SharedSecret,
    ctx: &mut Context<'_>,
) -> Result<ClientState, Error> {
    let mut handover = handover.absorb(&shared, ctx)?;
    let Some(answer) = handover.own.certificate_request.take() else {
        return send_finished(handover, None, ctx);
    };
    let (Some((credential, scheme)), Some(linked)) = (answer.kem, KemAuthentication::linked())
    else {
        let transcript = &mut handover.transcript;
        ctx.send(Epoch::AuthenticatedHandshake, transcript, write_no_certificate);
        return send_finished(handover, None, ctx);
    };
    let epoch = Epoch::AuthenticatedHandshake;
    send_certificate_alone(&mut handover, credential, answer.entry_extensions, epoch, ctx);
    let then =
        |handover, shared, ctx: &mut Context<'_>| send_finished(handover, Some(&shared), ctx);
    let state = ReadEncapsulation { handover, credential, scheme, then };
    Ok(ClientState::ReadEncapsulation(linked.with(Box::new(state))))
}

/// Sends Finished, with what the server encapsulated to the client's key, if the client has one.
fn send_finished(
    handover: Handover<ClientPart, AuthenticatedHandshakeSecret>,
    shared: Option<&SharedSecret>,
    ctx: &mut Context<'_>,
) -> Result<ClientState, Error> {
    let handover = handover.map(|secrets| secrets.into_master(shared));
    let linked = KemAuthentication::agreed()?;
    let handover = Box::new(handover.after_client(Finished::Out, ctx)?);
    ctx.facts.server_is_implicit = true;
    Ok(ClientState::ReadLastFinished(linked.with(ReadLastFinished(handover))))
}

/// The server's Finished is missing, which proves that it has its key: until then it is authenticated implicitly, in that
/// only it can read what the client sends.
pub struct ReadLastFinished(pub(super) Box<Handover<ClientPart, HalfFinishedMasterSecret>>);

impl ReadLastFinished {
    pub(crate) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let mut last = self.0.after_server(Finished::In(message), ctx)?;
        ctx.facts.server_is_implicit = false;
        last.own.report_early_data(ctx);
        Ok(connected(last))
    }

    /// Returns whether data may be sent before the server's Finished.
    pub(super) fn may_write(&self) -> bool {
        self.0.own.offer.config.data_to_implicitly_authenticated_servers
    }
}
