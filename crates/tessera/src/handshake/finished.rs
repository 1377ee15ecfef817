//! How a handshake ends, for both sides: which Finished comes first, and which transcript determines
//! each direction's application secrets (RFC 8446 §4.4.4, §7.1; with KEM authentication docs/kem-auth.md §5).
//!
//! ```text
//! with signatures or a PSK         ClientHello .. server Finished   client and server application traffic, exporter
//!                                  ClientHello .. client Finished   resumption
//! with KEM authentication          ClientHello .. client Finished   client application traffic
//!                                  ClientHello .. server Finished   server application traffic, exporter, resumption
//! ```

use super::application::Application;
use super::below::{Direction, Epoch};
use super::config::Config;
use super::context::{Context, SecretLog};
use super::event::Event;
use super::handover::{Handover, Part};
use crate::crypto::{Digest, equal};
use crate::error::{Error, decrypt_error};
use crate::role::Role;
use crate::schedule::{
    ApplicationSecrets, HalfFinishedMasterSecret, HandshakeSecret, MasterSecret, ResumptionSecret,
    Transcript, UnfinishedMasterSecret,
};
use crate::wire::{HandshakeMessage, HandshakeType, Writer, write_message};

/// A Finished, sent or received.
#[derive(Clone, Copy)]
pub(crate) enum Finished<'m> {
    Out,
    In(HandshakeMessage<'m>),
}

/// What is known after the second Finished.
pub struct LastSecrets {
    pub(crate) application: Application,
    pub(crate) resumption: ResumptionSecret,
}

impl<P: Part> Handover<P, HandshakeSecret> {
    /// Handles the server's Finished. Ends the handshake's secrets, except for the client's.
    pub(crate) fn after_first(
        mut self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, MasterSecret>, Error> {
        self.exchange(finished, Epoch::Handshake, ctx, |handshake, covered| {
            handshake.server_handshake_traffic().finished(covered)
        })?;
        let hash = self.transcript.hash();
        let handover = self.map(|handshake| handshake.into_master(&hash));
        let (log, secrets) = (handover.log(), &handover.secrets);
        log.secret("CLIENT_TRAFFIC_SECRET_0", secrets.client_application_traffic().expose());
        log.secret("SERVER_TRAFFIC_SECRET_0", secrets.server_application_traffic().expose());
        log.secret("EXPORTER_SECRET", secrets.exporter().expose());
        ctx.install(
            finished.direction(),
            Epoch::Application,
            handover.suite,
            secrets.server_application_traffic(),
        )?;
        Ok(handover)
    }
}

impl<P: Part> Handover<P, MasterSecret> {
    /// Handles the client's Finished: the handshake is complete.
    pub(crate) fn after_second(
        mut self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, LastSecrets>, Error> {
        self.exchange(finished, Epoch::Handshake, ctx, |master, covered| {
            master.client_handshake_traffic().finished(covered)
        })?;
        ctx.install(
            finished.direction(),
            Epoch::Application,
            self.suite,
            self.secrets.client_application_traffic(),
        )?;
        let hash = self.transcript.hash();
        Ok(self.map(|master| master.into_application(&hash)).complete(ctx))
    }
}

impl<P: Part> Handover<P, UnfinishedMasterSecret> {
    /// Handles the client's Finished, which is the first with KEM authentication.
    pub(crate) fn after_client(
        mut self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, HalfFinishedMasterSecret>, Error> {
        let epoch = Epoch::AuthenticatedHandshake;
        self.exchange(finished, epoch, ctx, |master, covered| master.client_finished(covered))?;
        let hash = self.transcript.hash();
        let mut handover = self.map(|master| master.after_client(&hash));
        let traffic = handover.secrets.client_application_traffic();
        handover.log().secret("CLIENT_TRAFFIC_SECRET_0", traffic.expose());
        ctx.install(finished.direction(), Epoch::Application, handover.suite, traffic)?;
        handover.identify_peer(finished, ctx)?;
        Ok(handover)
    }
}

impl<P: Part> Handover<P, HalfFinishedMasterSecret> {
    /// Handles the server's Finished, which is the last with KEM authentication: the handshake is complete.
    pub(crate) fn after_server(
        mut self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, LastSecrets>, Error> {
        let epoch = Epoch::AuthenticatedHandshake;
        self.exchange(finished, epoch, ctx, |master, covered| master.server_finished(covered))?;
        let hash = self.transcript.hash();
        let mut handover = self.map(|master| master.into_application(&hash));
        let (application, _) = &handover.secrets;
        let missing = Error::Internal("no application secrets");
        let traffic = application.traffic(Role::Server).ok_or(missing.clone())?;
        let exporter = application.exporter().ok_or(missing)?;
        handover.log().secret("SERVER_TRAFFIC_SECRET_0", traffic.expose());
        handover.log().secret("EXPORTER_SECRET", exporter.expose());
        ctx.install(finished.direction(), Epoch::Application, handover.suite, traffic)?;
        handover.identify_peer(finished, ctx)?;
        Ok(handover.complete(ctx))
    }
}

impl<P: Part> Handover<P, (ApplicationSecrets, ResumptionSecret)> {
    /// Ends the handshake after the second Finished.
    #[inline(always)]
    fn complete(mut self, ctx: &mut Context<'_>) -> Handover<P, LastSecrets> {
        ctx.facts.handshake_complete = true;
        ctx.event(Event::HandshakeComplete);
        let codecs = core::mem::take(&mut self.codecs);
        let (_, resumption) = &self.secrets;
        let (missed, remaining) =
            codecs.ended(self.lineage.peer.as_ref(), ctx.now, &|context, out| {
                resumption.certificate_ticket(context, out)
            });
        ctx.facts.note_missed(missed);
        let suite = self.suite;
        self.map(|(application, resumption)| {
            let application = Application::new(suite, P::ROLE, application, remaining);
            LastSecrets { application, resumption }
        })
    }
}

impl<P: Part, K> Handover<P, K> {
    /// Sends or checks a Finished, with its verify_data for a transcript.
    fn exchange(
        &mut self,
        finished: Finished<'_>,
        epoch: Epoch,
        ctx: &mut Context<'_>,
        verify_data: impl FnOnce(&K, &Digest) -> Digest,
    ) -> Result<(), Error> {
        let expected = verify_data(&self.secrets, &self.transcript.hash());
        finished.send_or_check(epoch, &expected, &mut self.transcript, ctx)
    }

    /// Gives a peer that was authenticated with a KEM its identity, once its Finished has come.
    fn identify_peer(
        &mut self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        match (finished, self.unproved.take()) {
            (Finished::In(_), Some(accepted)) => self.identify(*accepted.into_inner(), ctx),
            (_, unproved) => {
                self.unproved = unproved;
                Ok(())
            }
        }
    }

    /// Returns where this handshake's secrets are logged.
    pub(super) fn log(&self) -> SecretLog<'_> {
        let key_log = self.own.config().common().key_log;
        SecretLog { key_log, client_random: &self.client_random }
    }
}

impl Finished<'_> {
    fn direction(self) -> Direction {
        match self {
            Self::Out => Direction::Write,
            Self::In(_) => Direction::Read,
        }
    }

    fn send_or_check(
        self,
        epoch: Epoch,
        expected: &Digest,
        transcript: &mut Transcript,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        let expected = expected.as_ref();
        match self {
            Self::Out => ctx.send(epoch, transcript, |out| {
                write_message(out, HandshakeType::FINISHED, |out| out.bytes(expected));
            }),
            Self::In(message) => {
                let mut reader = message.reader_for(HandshakeType::FINISHED)?;
                // A wrong length is an encoding error, not a cryptographic one.
                let verify_data = reader.take(expected.len())?;
                reader.finish()?;
                if !equal(verify_data, expected) {
                    return Err(decrypt_error("the peer's Finished is wrong"));
                }
                transcript.add(message.bytes);
            }
        }
        Ok(())
    }
}
