//! A connection over a stream or over datagrams, with one signature for both.

use std::collections::VecDeque;
use std::time::Duration;

use tessera::auth::PeerRejected;
use tessera::handshake::{
    Checked, ClientHandshake, Handshake, OpenQuestion, Question, ServerHandshake, Token,
};
use tessera::{
    Association, AssociationOptions, ClientAssociation, ClientConfig, ClientConnection, Connection,
    Destination, Error, Facts, Output, Progress, ServerAssociation, ServerConfig, ServerConnection,
    Time,
};

use crate::options::Options;

pub enum Face<H: Handshake> {
    Stream {
        connection: Box<Connection<H>>,
        output: Output,
    },
    Datagrams {
        association: Box<Association<H>>,
        /// Datagrams to send before others.
        written: VecDeque<Vec<u8>>,
        max_datagram: usize,
        update: Update,
    },
}

/// A change of keys. BoringSSL, and with it the runner, begins none before everything else is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Update {
    None,
    Wanted,
    UnderWay,
}

impl Face<ClientHandshake> {
    pub fn client(
        options: &Options,
        config: Checked<ClientConfig>,
        destination: Destination,
        now: Time,
    ) -> Result<Self, Error> {
        if options.dtls {
            let association = association_options(options);
            return ClientAssociation::start(config, destination, association, now)
                .map(|association| Self::over_datagrams(association, options));
        }
        let mut output = Output::new();
        let connection = ClientConnection::start(config, destination, now, &mut output)?;
        Ok(Self::Stream { connection: Box::new(connection), output })
    }

    pub fn early_data_room(&self) -> usize {
        match self {
            Self::Stream { connection, .. } => connection.early_data_room(),
            // The runner has none.
            Self::Datagrams { .. } => 0,
        }
    }

    pub fn write_early_data(&mut self, data: &[u8]) -> Result<usize, Error> {
        match self {
            Self::Stream { connection, output } => connection.write_early_data(data, output),
            Self::Datagrams { .. } => Ok(0),
        }
    }
}

impl Face<ServerHandshake> {
    pub fn server(
        options: &Options,
        config: Checked<ServerConfig>,
        now: Time,
    ) -> Result<Self, Error> {
        if options.dtls {
            let association = association_options(options);
            return ServerAssociation::start(config, Default::default(), association, now)
                .map(|association| Self::over_datagrams(association, options));
        }
        let connection = ServerConnection::start(config, now);
        Ok(Self::Stream { connection: Box::new(connection), output: Output::new() })
    }
}

impl<H: Handshake> Face<H> {
    fn over_datagrams(association: Association<H>, options: &Options) -> Self {
        Self::Datagrams {
            association: Box::new(association),
            written: VecDeque::new(),
            max_datagram: association_options(options).max_datagram,
            update: Update::None,
        }
    }

    pub fn read(&mut self, now: Time, input: &mut [u8]) -> Result<Progress<H::Question>, Error> {
        match self {
            Self::Stream { connection, output } => connection.read(now, input, output),
            Self::Datagrams { association, .. } => association.read(now, input),
        }
    }

    pub fn answer<Q: Question>(
        &mut self,
        token: Token<Q>,
        answer: Q::Answer,
        now: Time,
    ) -> Result<(), Error>
    where
        H::Question: From<OpenQuestion<Q>>,
    {
        match self {
            Self::Stream { connection, output } => connection.answer(token, answer, now, output),
            Self::Datagrams { association, .. } => association.answer(token, answer, now),
        }
    }

    /// Writes some of `data`; over datagrams all of it, as one.
    pub fn write(&mut self, data: &[u8], now: Time) -> Result<usize, Error> {
        match self {
            Self::Stream { connection, output } => connection.write(data, output),
            Self::Datagrams { association, written, .. } => {
                // The runner reads records in the order of their numbers.
                written.extend(next_datagram(association, now));
                // Only messages are bound to the runner's limit.
                association.set_max_datagram(usize::from(u16::MAX));
                let mut datagram = Vec::new();
                association.write(data, &mut datagram)?;
                written.push_back(datagram);
                Ok(data.len())
            }
        }
    }

    pub fn refuse(&mut self, why: PeerRejected) -> Error {
        match self {
            Self::Stream { connection, output } => connection.refuse(why, output),
            Self::Datagrams { association, .. } => association.refuse(why),
        }
    }

    pub fn update_keys(&mut self) -> Result<(), Error> {
        match self {
            Self::Stream { connection, output } => connection.update_keys(false, output),
            Self::Datagrams { association, update, .. } => {
                *update = match *update {
                    _ if association.is_acknowledged() => {
                        association.update_keys(false)?;
                        Update::UnderWay
                    }
                    Update::UnderWay => Update::UnderWay,
                    _ => Update::Wanted,
                };
                Ok(())
            }
        }
    }

    /// Returns what is to be sent next: up to `most` bytes of a stream, or a datagram.
    pub fn transmit(&mut self, most: usize, now: Time) -> Option<Vec<u8>> {
        match self {
            Self::Stream { output, .. } => {
                let some = output.as_slice().len().min(most);
                let bytes = output.as_slice()[..some].to_vec();
                output.consume(some);
                Some(bytes).filter(|bytes| !bytes.is_empty())
            }
            Self::Datagrams { association, written, max_datagram, update } => {
                if *update == Update::Wanted && association.is_acknowledged() {
                    let began = association.update_keys(false).is_ok();
                    *update = if began { Update::UnderWay } else { Update::None };
                }
                // The runner's limit is exact, and no guess after timeouts.
                association.set_max_datagram(*max_datagram);
                written.pop_front().or_else(|| next_datagram(association, now))
            }
        }
    }

    /// Returns when something is sent although nothing arrives.
    pub fn transmits_at(&self) -> Option<Duration> {
        match self {
            Self::Stream { .. } => None,
            Self::Datagrams { association, .. } => association.transmits_at(),
        }
    }

    pub fn handle_timeout(&mut self, now: Time) -> Result<(), Error> {
        match self {
            Self::Stream { .. } => Ok(()),
            Self::Datagrams { association, .. } => association.handle_timeout(now),
        }
    }

    pub fn limit_datagrams(&mut self, len: usize) {
        if let Self::Datagrams { max_datagram, .. } = self {
            *max_datagram = len;
        }
    }

    pub fn set_first_timeout(&mut self, time: Duration) {
        if let Self::Datagrams { association, .. } = self {
            association.set_first_timeout(time);
        }
    }

    pub fn export(&mut self, label: &[u8], context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        match self {
            Self::Stream { connection, .. } => {
                connection.export_keying_material(label, context, out)
            }
            Self::Datagrams { association, .. } => {
                association.export_keying_material(label, context, out)
            }
        }
    }

    pub fn close(&mut self) {
        match self {
            Self::Stream { connection, output } => connection.close(output),
            Self::Datagrams { association, .. } => association.close(),
        }
    }

    pub fn facts(&self) -> &Facts {
        match self {
            Self::Stream { connection, .. } => connection.facts(),
            Self::Datagrams { association, .. } => association.facts(),
        }
    }
}

fn association_options(options: &Options) -> AssociationOptions {
    let default = AssociationOptions::default();
    AssociationOptions {
        // The runner has no connection IDs.
        connection_id: None,
        reset_token: None,
        checks_paths: true,
        server_address: None,
        follows_to: None,
        first_timeout: options.first_timeout.unwrap_or(FIRST_TIMEOUT),
        measures_round_trips: false,
        max_datagram: options.mtu.unwrap_or(default.max_datagram),
        // The runner acknowledges no part of a flight.
        max_burst: u8::MAX,
        // It reads no other records.
        delimits_data: true,
    }
}

fn next_datagram<H: Handshake>(association: &mut Association<H>, now: Time) -> Option<Vec<u8>> {
    let mut datagram = Vec::new();
    association.transmit(now, &mut datagram).then_some(datagram)
}

/// The runner expects that of BoringSSL (RFC 9147 §5.8.2: for real-time protocols).
const FIRST_TIMEOUT: Duration = Duration::from_millis(400);
