//! The two faces of a [`Pair`](crate::Pair). A test chooses one; the engine's suites run over either.

use std::time::Duration;

use tessera::face::{Arrival, Carrier, Profile, STREAM, Versions};
use tessera::handshake::{
    Checked, ClientHandshake, Handshake, OpenQuestion, Question, ServerHandshake, Token,
};
use tessera::wire::{ExtensionType, ProtocolVersion};
use tessera::{
    ClientConfig, ClientConnection, Connection, Destination, Error, Facts, Output, Progress,
    ServerConfig, ServerConnection, Time,
};

use crate::messages::MessageConnection;

/// The face of a pair's ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// Records over a stream.
    Stream,
    /// Messages by epoch, under the rules and labels of this protocol.
    Messages(&'static Profile),
}

/// A protocol with other labels, versions and rules than TLS: those of DTLS 1.3 (RFC 9147 §5).
pub static ANOTHER: Profile = Profile {
    carrier: Carrier(255),
    label_prefix: b"dtls13",
    versions: Versions { legacy: ProtocolVersion(0xfefd), selected: ProtocolVersion(0xfefc) },
    end_of_early_data: false,
    legacy_session_id: false,
    server_hello_extensions: &[ExtensionType(54), ExtensionType(61)],
    ..STREAM
};

/// One end, over either face.
pub enum End<H: Handshake> {
    /// Over a stream.
    Stream(Connection<H>),
    /// Over messages.
    Messages(MessageConnection<H>),
}

impl End<ClientHandshake> {
    /// Starts a client.
    pub(crate) fn client(
        face: Face,
        config: Checked<ClientConfig>,
        destination: Destination,
        now: Time,
        output: &mut Output,
    ) -> Result<Self, Error> {
        Ok(match face {
            Face::Stream => {
                Self::Stream(ClientConnection::start(config, destination, now, output)?)
            }
            Face::Messages(profile) => {
                Self::Messages(MessageConnection::client(config, destination, profile, now)?)
            }
        })
    }

    /// Returns how much early data may be written now.
    pub fn early_data_room(&self) -> usize {
        match self {
            Self::Stream(connection) => connection.early_data_room(),
            Self::Messages(connection) => connection.early_data_room(),
        }
    }

    /// Writes early data.
    pub fn write_early_data(&mut self, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        match self {
            Self::Stream(connection) => connection.write_early_data(data, output),
            Self::Messages(connection) => {
                connection.write(data);
                connection.core.wrote_early_data(data.len());
                Ok(data.len())
            }
        }
    }
}

impl End<ServerHandshake> {
    /// Starts a server.
    pub(crate) fn server(face: Face, config: Checked<ServerConfig>, now: Time) -> Self {
        match face {
            Face::Stream => Self::Stream(ServerConnection::start(config, now)),
            Face::Messages(profile) => {
                Self::Messages(MessageConnection::server(config, Arrival::default(), profile, now))
            }
        }
    }
}

impl<H: Handshake> End<H> {
    /// Returns the connection over a stream.
    #[expect(clippy::panic, reason = "a helper of tests fails its test")]
    pub fn stream(&mut self) -> &mut Connection<H> {
        match self {
            Self::Stream(connection) => connection,
            Self::Messages(_) => panic!("this is about records"),
        }
    }

    /// Returns the facts of the connection.
    pub fn facts(&self) -> &Facts {
        match self {
            Self::Stream(connection) => connection.facts(),
            Self::Messages(connection) => connection.core.facts(),
        }
    }

    /// Returns when the handshake must be complete.
    pub fn deadline(&self) -> Option<Duration> {
        match self {
            Self::Stream(connection) => connection.deadline(),
            Self::Messages(connection) => connection.core.deadline(),
        }
    }

    /// Answers a question.
    pub fn answer<Q: Question>(
        &mut self,
        token: Token<Q>,
        answer: Q::Answer,
        now: Time,
        output: &mut Output,
    ) -> Result<(), Error>
    where
        H::Question: From<OpenQuestion<Q>>,
    {
        match self {
            Self::Stream(connection) => connection.answer(token, answer, now, output),
            Self::Messages(connection) => connection.answer(token, answer, now),
        }
    }

    /// Writes application data.
    pub fn write(&mut self, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        match self {
            Self::Stream(connection) => connection.write(data, output),
            Self::Messages(connection) => {
                connection.write(data);
                Ok(data.len())
            }
        }
    }

    /// Changes this end's keys.
    pub fn update_keys(&mut self, request: bool, output: &mut Output) -> Result<(), Error> {
        match self {
            Self::Stream(connection) => connection.update_keys(request, output),
            Self::Messages(connection) => connection.update_keys(request),
        }
    }

    /// Exports keying material.
    pub fn export_keying_material(
        &mut self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        match self {
            Self::Stream(connection) => connection.export_keying_material(label, context, out),
            Self::Messages(connection) => {
                connection.core.export_keying_material(label, context, out)
            }
        }
    }

    /// Reads records.
    pub fn read(
        &mut self,
        now: Time,
        input: &mut [u8],
        output: &mut Output,
    ) -> Result<Progress<H::Question>, Error> {
        self.stream().read(now, input, output)
    }

    /// Sends close_notify.
    pub fn close(&mut self, output: &mut Output) {
        self.stream().close(output);
    }

    /// Signals that the stream from the peer has ended.
    pub fn end_of_stream(&mut self) -> Result<(), Error> {
        self.stream().end_of_stream()
    }
}
