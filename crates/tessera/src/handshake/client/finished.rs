//! The server's Finished in; the client's last flight out (RFC 8446 §4.4.4, §4.5).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ClientState;
use super::certificate::Requested;
use super::hello::logged;
use super::offer::Offer;
use super::tickets::Connected;
use crate::auth::{
    Credential, Role, read_finished, send_certificate, send_certificate_verify, send_finished,
};
use crate::crypto::{SigningError, Suite};
use crate::error::Error;
use crate::handshake::application::Application;
use crate::handshake::context::Context;
use crate::handshake::event::Event;
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::question::{Reply, Waiting};
use crate::handshake::secrets::{ApplicationSecrets, HandshakeSecrets};
use crate::handshake::transport::Epoch;
use crate::resume::SettledFlights;
use crate::schedule::{STREAM, TrafficSecret, Transcript};
use crate::wire::{
    EntryExtensions, HandshakeMessage, HandshakeType, SignatureScheme, write_message,
    write_no_certificate,
};

/// The server is authenticated but for its Finished.
pub(crate) struct ReadFinished {
    pub(super) offer: Offer,
    pub(super) suite: &'static Suite,
    pub(super) transcript: Transcript,
    pub(super) secrets: HandshakeSecrets,
    /// What the server says of the early data.
    pub(super) early_data: EarlyDataStatus,
    /// What it says of earlier flights.
    pub(super) receipts: SettledFlights,
    /// Whether the server asks for a certificate, and what the client then sends.
    pub(super) certificate_request: Option<Requested>,
}

impl ReadFinished {
    pub(crate) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        read_finished(message, &mut self.transcript, &self.secrets.server)?;

        let Self { offer, suite, mut transcript, secrets, .. } = *self;
        let (secrets, client_handshake) =
            ApplicationSecrets::new(secrets, &transcript, logged(&offer));
        ctx.transport.install_read(Epoch::Application, suite, &secrets.server)?;

        ctx.facts.early_data = self.early_data;
        // As with the verdict: who could say "burned" unauthenticated could have it executed twice.
        ctx.facts.receipts = self.receipts;
        match self.early_data {
            EarlyDataStatus::Accepted => ctx.transport.event(Event::EarlyDataAccepted),
            EarlyDataStatus::Rejected(verdict) => {
                ctx.transport.event(Event::EarlyDataRejected(verdict));
            }
            EarlyDataStatus::NotOffered | EarlyDataStatus::Offered => (),
        }
        if self.early_data == EarlyDataStatus::Accepted {
            // §4.5: the end of the early data goes under its own keys.
            if STREAM.end_of_early_data {
                ctx.send(Epoch::EarlyData, &mut transcript, |out| {
                    write_message(out, HandshakeType::END_OF_EARLY_DATA, |_| ());
                });
            }
            ctx.transport.install_write(Epoch::Handshake, suite, &client_handshake);
        }

        let mut last = LastFlight { offer, suite, transcript, client_handshake, secrets };
        match self.certificate_request {
            None => Ok(last.finish(ctx)),
            Some(Requested { credential: Some((index, scheme)), entry_extensions }) => {
                let config = last.offer.config.clone();
                last.sign(&config.credentials[index], scheme, entry_extensions, ctx)
            }
            Some(Requested { credential: None, .. }) => {
                ctx.send(Epoch::Handshake, &mut last.transcript, write_no_certificate);
                Ok(last.finish(ctx))
            }
        }
    }
}

/// What the client's last flight is made of.
pub(super) struct LastFlight {
    offer: Offer,
    suite: &'static Suite,
    transcript: Transcript,
    client_handshake: TrafficSecret,
    secrets: ApplicationSecrets,
}

impl LastFlight {
    fn sign(
        mut self,
        credential: &Credential,
        scheme: SignatureScheme,
        requested: EntryExtensions,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let (transcript, codecs) = (&mut self.transcript, &mut self.offer.codecs);
        let role = Role::Client;
        let question =
            send_certificate(ctx, transcript, role, credential, scheme, requested, codecs);
        let reply = credential.sign(&question);
        match reply {
            Reply::Now(answer) => self.signed(scheme, answer, ctx),
            Reply::Later => Ok(ClientState::Signing(Waiting::new(question, (self, scheme)))),
        }
    }

    /// Someone signed for the client.
    pub(super) fn signed(
        mut self,
        scheme: SignatureScheme,
        signature: Result<Vec<u8>, SigningError>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        send_certificate_verify(ctx, &mut self.transcript, scheme, signature)?;
        Ok(self.finish(ctx))
    }

    fn finish(mut self, ctx: &mut Context<'_>) -> ClientState {
        send_finished(ctx, &mut self.transcript, &self.client_handshake);
        let ApplicationSecrets { client, server, exporter, master } = self.secrets;
        ctx.transport.install_write(Epoch::Application, self.suite, &client);
        self.offer.codecs.learn(ctx.now);
        ctx.facts.handshake_complete = true;
        ctx.transport.event(Event::HandshakeComplete);
        let resumption = master.into_resumption(&self.transcript.hash());
        let application = Application::new(self.suite, client, server, exporter);
        ClientState::Connected(Box::new(Connected {
            application,
            resumption,
            config: self.offer.config,
        }))
    }
}
