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
use super::secrets::HandshakeSecrets;
use crate::auth::ConnectionCodecs;
use crate::crypto::equal;
use crate::error::{Error, decrypt_error};
use crate::schedule::{ExporterSecret, MasterSecret, ResumptionSecret, TrafficSecret, Transcript};
use crate::wire::{HandshakeMessage, HandshakeType, Writer, write_message};

/// A Finished, sent or received.
#[derive(Clone, Copy)]
pub(crate) enum Finished<'m> {
    Out,
    In(HandshakeMessage<'m>),
}

/// What is known after the first Finished, the server's.
pub struct ApplicationSecrets {
    /// Protects the client's last flight, and computes its Finished.
    pub(crate) client_handshake: TrafficSecret,
    client: TrafficSecret,
    server: TrafficSecret,
    exporter: ExporterSecret,
    master: MasterSecret,
}

/// What is known after the second Finished, the client's.
pub struct LastSecrets {
    pub(crate) application: Application,
    pub(crate) resumption: ResumptionSecret,
}

impl<P: Part> Handover<P, HandshakeSecrets> {
    /// Handles the server's Finished. Ends the handshake's secrets, except for the client's.
    pub(crate) fn after_first(
        self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, ApplicationSecrets>, Error> {
        let Self { own, suite, client_random, mut transcript, secrets: handshake, .. } = self;
        let (codecs, lineage) = (self.codecs, self.lineage);
        finished.send_or_check(&handshake.server, &mut transcript, ctx)?;
        let master = handshake.secret.into_master();
        let hash = transcript.hash();
        let client = master.client_traffic(&hash);
        let server = master.server_traffic(&hash);
        let exporter = master.exporter(&hash);
        let key_log = own.config().common().key_log;
        let log = SecretLog { key_log, client_random: &client_random };
        log.secret("CLIENT_TRAFFIC_SECRET_0", client.expose());
        log.secret("SERVER_TRAFFIC_SECRET_0", server.expose());
        log.secret("EXPORTER_SECRET", exporter.expose());
        ctx.install(finished.direction(), Epoch::Application, suite, &server)?;
        let client_handshake = handshake.client;
        let secrets = ApplicationSecrets { client_handshake, client, server, exporter, master };
        Ok(Handover { own, suite, client_random, transcript, secrets, codecs, lineage })
    }
}

impl<P: Part> Handover<P, ApplicationSecrets> {
    /// Handles the client's Finished: the handshake is complete.
    pub(crate) fn after_second(
        self,
        finished: Finished<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<Handover<P, LastSecrets>, Error> {
        let Self { own, suite, client_random, mut transcript, secrets, codecs, lineage } = self;
        finished.send_or_check(&secrets.client_handshake, &mut transcript, ctx)?;
        let ApplicationSecrets { client, server, exporter, master, .. } = secrets;
        ctx.install(finished.direction(), Epoch::Application, suite, &client)?;
        ctx.facts.handshake_complete = true;
        ctx.event(Event::HandshakeComplete);
        let resumption = master.into_resumption(&transcript.hash());
        let (missed, remaining) = codecs.ended(lineage.peer.as_ref(), ctx.now, &|context, out| {
            resumption.certificate_ticket(context, out)
        });
        ctx.facts.note_missed(missed);
        let (write, read) = match finished.direction() {
            Direction::Write => (client, server),
            Direction::Read => (server, client),
        };
        let application = Application::new(suite, write, read, exporter, remaining);
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
        secret: &TrafficSecret,
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
