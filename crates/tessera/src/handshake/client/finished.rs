//! The server's Finished in; the client's last flight out (RFC 8446 §4.4.4, §4.5).

use alloc::boxed::Box;

use super::ClientState;
use super::connected::Connected;
use super::offer::Offer;
use crate::auth::Credential;
use crate::crypto::Suite;
use crate::error::Error;
use crate::handshake::below::{Direction, Epoch};
use crate::handshake::certificate_flight::{send_certificate, send_certificate_verify};
use crate::handshake::context::Context;
use crate::handshake::event::Event;
use crate::handshake::facts::EarlyDataStatus;
use crate::handshake::finished::{ApplicationSecrets, Finished};
use crate::handshake::lineage::Lineage;
use crate::handshake::secrets::HandshakeSecrets;
use crate::resume::SettledFlights;
use crate::role::Role;
use crate::schedule::Transcript;
use crate::wire::{
    EntryExtensions, HandshakeMessage, HandshakeType, NamedGroup, SignatureScheme, write_message,
    write_no_certificate,
};

/// The server is authenticated but for its Finished.
pub struct ReadFinished {
    pub(super) offer: Box<Offer>,
    pub(super) suite: &'static Suite,
    pub(super) group: Option<NamedGroup>,
    pub(super) transcript: Transcript,
    pub(super) secrets: HandshakeSecrets,
    pub(super) lineage: Lineage,
    /// The server's answer to the early data.
    pub(super) early_data: EarlyDataStatus,
    /// Its receipts for earlier flights.
    pub(super) receipts: SettledFlights,
    /// Whether the server asks for a certificate, and what the client then sends.
    pub(super) certificate_request: Option<CertificateAnswer>,
}

/// What the client answers a CertificateRequest with.
pub(super) struct CertificateAnswer {
    /// The credential that fits, by its place in the configuration, and the scheme to sign with.
    pub(super) credential: Option<(usize, SignatureScheme)>,
    /// What the server wants beside the certificates.
    pub(super) entry_extensions: EntryExtensions,
}

impl ReadFinished {
    pub(crate) fn receive(
        self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ClientState, Error> {
        let Self { offer, suite, group, mut transcript, secrets, lineage, .. } = *self;
        let log = offer.secret_log();
        let finished = Finished::In(message);
        let secrets =
            ApplicationSecrets::after_first(finished, secrets, suite, &mut transcript, log, ctx)?;

        ctx.facts.early_data = self.early_data;
        // As with the verdict: who could say "burned" unauthenticated could have it executed twice.
        ctx.facts.receipts = self.receipts;
        match self.early_data {
            EarlyDataStatus::Accepted => ctx.event(Event::EarlyDataAccepted),
            EarlyDataStatus::Rejected(verdict) => ctx.event(Event::EarlyDataRejected(verdict)),
            EarlyDataStatus::NotOffered | EarlyDataStatus::Offered => (),
        }
        if self.early_data == EarlyDataStatus::Accepted {
            // §4.5: the end of the early data goes under its own keys.
            if ctx.profile.end_of_early_data {
                ctx.send(Epoch::EarlyData, &mut transcript, |out| {
                    write_message(out, HandshakeType::END_OF_EARLY_DATA, |_| ());
                });
            }
            let secret = &secrets.client_handshake;
            ctx.install(Direction::Write, Epoch::Handshake, suite, secret)?;
        }

        let mut last = LastFlight { offer, suite, group, transcript, secrets, lineage };
        match self.certificate_request {
            None => last.finish(ctx),
            Some(CertificateAnswer { credential: Some((index, scheme)), entry_extensions }) => {
                let config = last.offer.config.clone();
                last.sign(&config.credentials[index], scheme, entry_extensions, ctx)
            }
            Some(CertificateAnswer { credential: None, .. }) => {
                ctx.send(Epoch::Handshake, &mut last.transcript, write_no_certificate);
                last.finish(ctx)
            }
        }
    }
}

/// What the client's last flight is made of.
struct LastFlight {
    offer: Box<Offer>,
    suite: &'static Suite,
    group: Option<NamedGroup>,
    transcript: Transcript,
    secrets: ApplicationSecrets,
    lineage: Lineage,
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
        ctx.ask(question, reply, move |signature, ctx| {
            send_certificate_verify(ctx, &mut self.transcript, scheme, signature)?;
            self.finish(ctx)
        })
    }

    fn finish(self, ctx: &mut Context<'_>) -> Result<ClientState, Error> {
        let Self { mut offer, suite, group, mut transcript, secrets, lineage } = self;
        let (application, resumption) =
            secrets.after_second(Finished::Out, suite, &mut transcript, ctx)?;
        let missed = offer.codecs.ended(lineage.peer.as_ref(), ctx.now, &|context, out| {
            resumption.certificate_ticket(context, out)
        });
        ctx.facts.note_missed(missed);
        Ok(ClientState::Connected(Box::new(Connected {
            application,
            resumption,
            config: offer.config,
            lineage,
            group,
            codecs: offer.codecs.after(),
        })))
    }
}
