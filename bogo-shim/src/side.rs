//! Either side of a connection, and the answers to its questions.

use std::convert::Infallible;
use std::sync::Arc;

use tessera::handshake::Reply;
use tessera::resume::{ClientSession, ResumptionVerdict, TicketKeys};
use tessera::{
    ClientConnection, ClientQuestion, Destination, Error, Facts, Output, ReadEvent,
    ServerConnection, ServerQuestion, Time,
};

use crate::configuration::{self, Chooser, Shared};
use crate::credentials::Credentials;
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
    Client(ClientConnection),
    Server(ServerConnection),
}

/// Dispatches to either side.
macro_rules! either {
    ($side:expr, $connection:ident => $body:expr) => {
        match &mut $side.connection {
            Either::Client($connection) => $body,
            Either::Server($connection) => $body,
        }
    };
}

enum Question {
    Client(ClientQuestion),
    Server(ServerQuestion),
}

impl Side {
    /// `judge_options` apply to a server that sends a certificate.
    pub fn client(
        options: &Options,
        judge_options: &Options,
        session: Option<ClientSession>,
        shared: &Shared,
        now: Time,
        output: &mut Output,
    ) -> Result<Self, String> {
        let credentials = Credentials::read(options)?;
        let secrets = Arc::new(TrafficSecrets::default());
        let verifier = AnyChain::new(judge_options);
        let mut config = configuration::client(options, &credentials, verifier.clone())?;
        config.key_log = Some(secrets.clone());
        let destination = Destination {
            server_name: options.host_name.clone(),
            session,
            external_psks: configuration::external_psks(&credentials)?,
            ..Destination::default()
        };
        let client = config
            .checked()
            .and_then(|config| ClientConnection::start(config, destination, now, output));
        let connection = Either::Client(client.map_err(|error| error.to_string())?);
        Ok(Self::new(connection, verifier, credentials, None, shared, secrets))
    }

    pub fn server(options: &Options, shared: &Shared, now: Time) -> Result<Self, String> {
        let credentials = Credentials::read(options)?;
        let secrets = Arc::new(TrafficSecrets::default());
        let (config, chooser) =
            configuration::server(options, &credentials, shared, secrets.clone())?;
        let config = config.checked().map_err(|error| error.to_string())?;
        let connection = Either::Server(ServerConnection::start(config, now));
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

    /// Reads up to the next event, and answers a question at once: `None`.
    pub fn read(
        &mut self,
        now: Time,
        input: &mut [u8],
        output: &mut Output,
    ) -> Result<(usize, Option<ReadEvent<Infallible>>), Error> {
        let (consumed, event) = match &mut self.connection {
            Either::Client(client) => {
                let progress = client.read(now, input, output)?;
                (progress.consumed, progress.event.into_question().map(Question::Client))
            }
            Either::Server(server) => {
                let progress = server.read(now, input, output)?;
                (progress.consumed, progress.event.into_question().map(Question::Server))
            }
        };
        let event = match event {
            Ok(question) => {
                self.answer(question, now, output)?;
                None
            }
            Err(event) => Some(event),
        };
        Ok((consumed, event))
    }

    fn answer(&mut self, question: Question, now: Time, output: &mut Output) -> Result<(), Error> {
        match (question, &mut self.connection) {
            (Question::Client(ClientQuestion::VerifyPeer(asked)), Either::Client(client)) => {
                client.answer(asked.token, self.verifier.judge(&asked.question), now, output)
            }
            (Question::Client(ClientQuestion::Sign(asked)), Either::Client(client)) => {
                client.answer(asked.token, self.credentials.sign(&asked.question), now, output)
            }
            (Question::Server(question), Either::Server(server)) => match question {
                ServerQuestion::ChooseConfig(asked) => {
                    let chooser = self.chooser.as_ref();
                    let chooser = chooser.ok_or(Error::Misuse("no chooser was configured"))?;
                    server.answer(asked.token, chooser.answer(&asked.question), now, output)
                }
                ServerQuestion::OpenTicket(asked) => {
                    let Reply::Now(opened) = self.ring.open(&asked.question) else {
                        return Err(Error::Misuse("the ring answers at once"));
                    };
                    server.answer(asked.token, opened, now, output)
                }
                ServerQuestion::AcceptResumption(asked) => {
                    server.answer(asked.token, ResumptionVerdict::Accept, now, output)
                }
                ServerQuestion::VerifyPeer(asked) => {
                    server.answer(asked.token, self.verifier.judge(&asked.question), now, output)
                }
                ServerQuestion::Sign(asked) => {
                    server.answer(asked.token, self.credentials.sign(&asked.question), now, output)
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

    pub fn write_early_data(&mut self, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        match &mut self.connection {
            Either::Client(client) => client.write_early_data(data, output),
            Either::Server(_) => Ok(0),
        }
    }

    pub fn write(&mut self, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        either!(self, connection => connection.write(data, output))
    }

    pub fn update_keys(&mut self, output: &mut Output) -> Result<(), Error> {
        either!(self, connection => connection.update_keys(false, output))
    }

    pub fn export(&mut self, options: &Options, out: &mut [u8]) -> Result<(), Error> {
        let (label, context) = (options.export_label.as_bytes(), options.export_context.as_bytes());
        either!(self, connection => connection.export_keying_material(label, context, out))
    }

    pub fn close(&mut self, output: &mut Output) {
        either!(self, connection => connection.close(output));
    }

    pub fn facts(&self) -> &Facts {
        match &self.connection {
            Either::Client(client) => client.facts(),
            Either::Server(server) => server.facts(),
        }
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
