//! The server's connection.

use super::{Common, Connection};
use crate::error::Error;
use crate::handshake::{AskedByServer, Checked, ServerConfig, ServerHandshake, Token};
use crate::time::Time;
use crate::transport::Output;

/// A server's connection.
pub type ServerConnection = Connection<ServerHandshake>;

impl ServerConnection {
    /// Waits for a client.
    pub fn start(config: Checked<ServerConfig>, now: Time) -> Self {
        let deadline = now.monotonic.saturating_add(config.handshake_timeout);
        let common = Common::new(false, deadline);
        Self { handshake: ServerHandshake::start(config), common }
    }

    /// Answers a question.
    pub fn answer<Q: AskedByServer>(
        &mut self,
        _token: Token<Q>,
        answer: Q::Answer,
        now: Time,
        output: &mut Output,
    ) -> Result<(), Error> {
        self.give_answer(Q::answer(answer), now, output)
    }
}
