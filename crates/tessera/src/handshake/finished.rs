//! How a handshake ends, for both sides: which Finished comes first, and which transcript determines
//! each direction's application secrets (RFC 8446 §4.4.4, §7.1).
//!
//! ```text
//! ClientHello .. server Finished   client and server application traffic, exporter
//! ClientHello .. client Finished   resumption
//! ```

use super::application::Application;
use super::below::{Direction, Epoch};
use super::config::Config;
use super::context::{Context, SecretLog};
use super::event::Event;
use super::handover::{Handover, Part};
use crate::auth::ConnectionCodecs;
use crate::crypto::equal;
use crate::error::{Error, decrypt_error};
use crate::schedule::{HandshakeSecret, MasterSecret, ResumptionSecret, TrafficSecret, Transcript};
use crate::wire::{HandshakeMessage, HandshakeType, Writer, write_message};

/// A Finished, sent or received.
#[derive(Clone, Copy)]
pub(crate) enum Finished<'m> {
    Out,
    In(HandshakeMessage<'m>),
}

/// What is known after the second Finished, the client's.
pub struct LastSecrets {
    pub(crate) application: Application,
    pub(crate) resumption: ResumptionSecret,
}

impl<P: Part> Handover<P, HandshakeSecret> {
    /// Handles the server's Finished. Ends the handshake's secrets, except for the client's.
    pub(crate) fn after_first(
        self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, MasterSecret>, Error> {
        let Self { own, suite, client_random, mut transcript, secrets: handshake, .. } = self;
        let (codecs, lineage) = (self.codecs, self.lineage);
        finished.send_or_check(handshake.server_handshake_traffic(), &mut transcript, ctx)?;
        let secrets = handshake.into_master(&transcript.hash());
        let key_log = own.config().common().key_log;
        let log = SecretLog { key_log, client_random: &client_random };
        log.secret("CLIENT_TRAFFIC_SECRET_0", secrets.client_application_traffic().expose());
        log.secret("SERVER_TRAFFIC_SECRET_0", secrets.server_application_traffic().expose());
        log.secret("EXPORTER_SECRET", secrets.exporter().expose());
        ctx.install(
            finished.direction(),
            Epoch::Application,
            suite,
            secrets.server_application_traffic(),
        )?;
        Ok(Handover { own, suite, client_random, transcript, secrets, codecs, lineage })
    }
}

impl<P: Part> Handover<P, MasterSecret> {
    /// Handles the client's Finished: the handshake is complete.
    pub(crate) fn after_second(
        self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, LastSecrets>, Error> {
        let Self { own, suite, client_random, mut transcript, secrets: master, .. } = self;
        let (codecs, lineage) = (self.codecs, self.lineage);
        finished.send_or_check(master.client_handshake_traffic(), &mut transcript, ctx)?;
        ctx.install(
            finished.direction(),
            Epoch::Application,
            suite,
            master.client_application_traffic(),
        )?;
        ctx.facts.handshake_complete = true;
        ctx.event(Event::HandshakeComplete);
        let (application, resumption) = master.into_application(&transcript.hash());
        let (missed, remaining) = codecs.ended(lineage.peer.as_ref(), ctx.now, &|context, out| {
            resumption.certificate_ticket(context, out)
        });
        ctx.facts.note_missed(missed);
        let application = Application::new(suite, P::ROLE, application, remaining);
        let secrets = LastSecrets { application, resumption };
        let codecs = ConnectionCodecs::default();
        Ok(Handover { own, suite, client_random, transcript, secrets, codecs, lineage })
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
        secret: TrafficSecret<'_>,
        transcript: &mut Transcript,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error> {
        let expected = secret.finished(&transcript.hash());
        let expected = expected.as_ref();
        match self {
            Self::Out => ctx.send(Epoch::Handshake, transcript, |out| {
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
