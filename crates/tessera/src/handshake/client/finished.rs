//! Reads the server's Finished and sends the client's last flight (RFC 8446 §4.4.4, §4.5).

use alloc::boxed::Box;

use super::ClientState;
use super::connected::Connected;
use super::part::{CertificateAnswer, ClientPart};
use crate::error::Error;
use crate::handshake::below::{Direction, Epoch};
use crate::handshake::certificate_flight::send_certificate;
use crate::handshake::context::Context;
use crate::handshake::event::Event;
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::finished::{Finished, LastSecrets};
use crate::handshake::handover::Handover;
use crate::linked::Certificates;
use crate::schedule::{HandshakeSecret, MasterSecret};
use crate::wire::{HandshakeMessage, HandshakeType, write_message, write_no_certificate};

/// Only the server's Finished is missing to authenticate it.
pub struct ReadFinished(pub(super) Box<Handover<ClientPart, HandshakeSecret>>);

impl From<Box<Handover<ClientPart, HandshakeSecret>>> for ClientState {
    fn from(handover: Box<Handover<ClientPart, HandshakeSecret>>) -> Self {
        Self::ReadFinished(ReadFinished(handover))
    }
}

impl ReadFinished {
    pub(crate) fn receive(
        self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let mut last = self.0.after_first(Finished::In(message), ctx)?;
        last.own.report_early_data(ctx);
        if last.own.early_data == EarlyDataStatus::Accepted {
            // §4.5: EndOfEarlyData goes under the early data's keys.
            if ctx.profile.end_of_early_data {
                ctx.send(Epoch::EarlyData, &mut last.transcript, |out| {
                    write_message(out, HandshakeType::END_OF_EARLY_DATA, |_| ());
                });
            }
            let secret = last.secrets.client_handshake_traffic();
            ctx.install(Direction::Write, Epoch::Handshake, last.suite, secret)?;
        }
        match last.own.certificate_request.take().map(Certificates::into_inner) {
            None => send_finished(last, ctx),
            Some(CertificateAnswer { credential: Some(credential), entry_extensions, .. }) => {
                send_certificate(last, credential, entry_extensions, ctx, send_finished)
            }
            Some(CertificateAnswer { credential: None, .. }) => {
                ctx.send(Epoch::Handshake, &mut last.transcript, write_no_certificate);
                send_finished(last, ctx)
            }
        }
    }
}

/// Sends the last message of the handshake.
fn send_finished(
    last: Handover<ClientPart, MasterSecret>,
    ctx: &mut Context<'_>,
) -> Result<ClientState, Error> {
    Ok(connected(last.after_second(Finished::Out, ctx)?))
}

/// The handshake is complete. Inlined: the handover is large, and would be moved.
#[inline(always)]
pub(super) fn connected(done: Handover<ClientPart, LastSecrets>) -> ClientState {
    let Handover { own, secrets, lineage, .. } = done;
    let LastSecrets { application, resumption } = secrets;
    let (config, group) = (own.offer.config, own.group);
    let connected = Connected { application, resumption, config, lineage, group };
    ClientState::Connected(Box::new(connected))
}

impl ClientPart {
    /// Reports the fate of early data and of earlier flights, once the server's Finished has come.
    pub(super) fn report_early_data(&mut self, ctx: &mut Context<'_>) {
        ctx.facts.early_data = self.early_data;
        // As with the verdict: an attacker who could report "burned" could have it executed twice.
        ctx.facts.receipts = core::mem::take(&mut self.receipts);
        ctx.facts.early_records_taken = self.early_records_taken;
        match self.early_data {
            EarlyDataStatus::Accepted => ctx.event(Event::EarlyDataAccepted),
            EarlyDataStatus::Rejected(verdict) => ctx.event(Event::EarlyDataRejected(verdict)),
            EarlyDataStatus::NotOffered | EarlyDataStatus::Offered => (),
        }
    }
}
