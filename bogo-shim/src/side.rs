//! Either side of a connection, and the answers to its questions.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::{ClientHandshake, Reply, ServerHandshake};
use tessera::resume::{ClientSession, ResumptionVerdict, TicketKeys};
use tessera::{
    ClientQuestion, Destination, Error, Facts, Progress, ReadEvent, ServerQuestion, Time,
};

use crate::configuration::{self, Chooser, Shared};
use crate::credentials::Credentials;
use crate::face::Face;
use crate::options::Options;
use crate::peer::AnyChain;
use crate::traffic_secrets::TrafficSecrets;

/// A connection, with the objects that answer its questions.
pub struct Side {
    connection: Either,
    credentials: Credentials,
    verifier: AnyChain,
    chooser: Option<Arc<Chooser>>,
    ring: Arc<dyn TicketKeys>,
    secrets: Arc<TrafficSecrets>,
}

enum Either {
    Client(Face<ClientHandshake>),
    Server(Face<ServerHandshake>),
}

/// Dispatches to either side.
macro_rules! either {
    ($connection:expr, $face:ident => $body:expr) => {
        match $connection {
            Either::Client($face) => $body,
            Either::Server($face) => $body,
        }
    };
}

/// A question of either side.
pub enum Question {
    Client(ClientQuestion),
    Server(ServerQuestion),
}

impl Question {
    /// Returns whether a private key is asked for a signature.
    pub fn is_for_signature(&self) -> bool {
        matches!(
            self,
            Self::Client(ClientQuestion::Sign(_)) | Self::Server(ServerQuestion::Sign(_))
        )
    }
}

impl Side {
    /// `judge_options` apply to a server that sends a certificate.
    pub fn client(
        options: &Options,
        judge_options: &Options,
        session: Option<ClientSession>,
        shared: &Shared,
        now: Time,
    ) -> Result<Self, String> {
        let credentials = Credentials::read(options)?;
        let secrets = Arc::new(TrafficSecrets::default());
        let verifier = AnyChain::new(judge_options);
        let mut config = configuration::client(options, &credentials, verifier.clone())?;
        config.key_log = Some(secrets.clone());
        let destination = Destination {
            server_name: options.host_name.clone(),
            session: session.map(Box::new),
            external_psks: configuration::external_psks(options, &credentials)?,
            ..Destination::default()
        };
        let client =
            config.checked().and_then(|config| Face::client(options, config, destination, now));
        let connection = Either::Client(client.map_err(|error| error.to_string())?);
        Ok(Self::new(connection, verifier, credentials, None, shared, secrets))
    }

    pub fn server(options: &Options, shared: &Shared, now: Time) -> Result<Self, String> {
        let credentials = Credentials::read(options)?;
        let secrets = Arc::new(TrafficSecrets::default());
        let (config, chooser) =
            configuration::server(options, &credentials, shared, secrets.clone())?;
        let server = config.checked().and_then(|config| Face::server(options, config, now));
        let connection = Either::Server(server.map_err(|error| error.to_string())?);
        let verifier = AnyChain::new(options);
        Ok(Self::new(connection, verifier, credentials, Some(chooser), shared, secrets))
    }

    fn new(
        connection: Either,
        verifier: AnyChain,
        credentials: Credentials,
        chooser: Option<Arc<Chooser>>,
        shared: &Shared,
        secrets: Arc<TrafficSecrets>,
    ) -> Self {
        Self { connection, credentials, verifier, chooser, ring: shared.ring.clone(), secrets }
    }

    /// Reads up to the next event or question; returns it, and how much of the input was consumed.
    pub fn read(
        &mut self,
        now: Time,
        input: &mut [u8],
    ) -> Result<(usize, Result<Question, ReadEvent<Infallible>>), Error> {
        Ok(match &mut self.connection {
            Either::Client(client) => {
                let Progress { consumed, event, .. } = client.read(now, input)?;
                (consumed, event.into_question().map(Question::Client))
            }
            Either::Server(server) => {
                let Progress { consumed, event, .. } = server.read(now, input)?;
                (consumed, event.into_question().map(Question::Server))
            }
        })
    }

    pub fn answer(&mut self, question: Question, now: Time) -> Result<(), Error> {
        match (question, &mut self.connection) {
            (Question::Client(ClientQuestion::VerifyPeer(asked)), Either::Client(client)) => {
                client.answer(asked.token, self.verifier.judge(&asked.question), now)
            }
            (Question::Client(ClientQuestion::Sign(asked)), Either::Client(client)) => {
                client.answer(asked.token, self.credentials.sign(&asked.question), now)
            }
            (Question::Server(question), Either::Server(server)) => match question {
                ServerQuestion::ChooseConfig(asked) => {
                    let chooser = self.chooser.as_ref();
                    let chooser = chooser.ok_or(Error::Misuse("no chooser was configured"))?;
                    server.answer(asked.token, chooser.answer(&asked.question), now)
                }
                ServerQuestion::OpenTicket(asked) => {
                    let Reply::Now(opened) = self.ring.open(&asked.question) else {
                        return Err(Error::Misuse("the ring answers at once"));
                    };
                    server.answer(asked.token, opened, now)
                }
                ServerQuestion::AcceptResumption(asked) => {
                    server.answer(asked.token, ResumptionVerdict::Accept, now)
                }
                ServerQuestion::VerifyPeer(asked) => {
                    server.answer(asked.token, self.verifier.judge(&asked.question), now)
                }
                ServerQuestion::Sign(asked) => {
                    server.answer(asked.token, self.credentials.sign(&asked.question), now)
                }
                _ => Err(Error::Misuse("no vault was configured")),
            },
            _ => Err(Error::Misuse("a question of the other side")),
        }
    }

    pub fn early_data_room(&self) -> usize {
        match &self.connection {
            Either::Client(client) => client.early_data_room(),
            Either::Server(_) => 0,
        }
    }

    pub fn write_early_data(&mut self, data: &[u8]) -> Result<usize, Error> {
        match &mut self.connection {
            Either::Client(client) => client.write_early_data(data),
            Either::Server(_) => Ok(0),
        }
    }

    pub fn write(&mut self, data: &[u8], now: Time) -> Result<usize, Error> {
        either!(&mut self.connection, face => face.write(data, now))
    }

    /// Returns what is to be sent next: up to `most` bytes of a stream, or a datagram.
    pub fn transmit(&mut self, most: usize, now: Time) -> Option<Vec<u8>> {
        either!(&mut self.connection, face => face.transmit(most, now))
    }

    /// Returns when something is sent although nothing arrives.
    pub fn transmits_at(&self) -> Option<Duration> {
        either!(&self.connection, face => face.transmits_at())
    }

    pub fn handle_timeout(&mut self, now: Time) -> Result<(), Error> {
        either!(&mut self.connection, face => face.handle_timeout(now))
    }

    pub fn limit_datagrams(&mut self, len: usize) {
        either!(&mut self.connection, face => face.limit_datagrams(len));
    }

    pub fn set_first_timeout(&mut self, time: Duration) {
        either!(&mut self.connection, face => face.set_first_timeout(time));
    }

    /// Judges the peer of a resumed session again, and ends the connection if it isn't welcome any more.
    pub fn verify_again(&mut self, options: &Options) -> Result<(), Error> {
        let Some(why) = AnyChain::new(options).rejection() else { return Ok(()) };
        Err(either!(&mut self.connection, face => face.refuse(why)))
    }

    pub fn update_keys(&mut self) -> Result<(), Error> {
        either!(&mut self.connection, face => face.update_keys())
    }

    pub fn export(&mut self, options: &Options, out: &mut [u8]) -> Result<(), Error> {
        let (label, context) = (options.export_label.as_bytes(), options.export_context.as_bytes());
        either!(&mut self.connection, face => face.export(label, context, out))
    }

    pub fn close(&mut self) {
        either!(&mut self.connection, face => face.close());
    }

    pub fn facts(&self) -> &Facts {
        either!(&self.connection, face => face.facts())
    }

    /// Returns which credential was used, by the runner's index.
    pub fn selected_credential(&self) -> i32 {
        self.credentials.selected(self.facts().external_psk.as_deref())
    }

    /// Returns the secrets to read and to write with.
    pub fn traffic_secrets(&self) -> (Vec<u8>, Vec<u8>) {
        let (client, server) = self.secrets.both();
        match &self.connection {
            Either::Client(_) => (server, client),
            Either::Server(_) => (client, server),
        }
    }
}
