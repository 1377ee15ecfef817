//! The client's connection.

use super::{Common, Connection};
use crate::error::Error;
use crate::handshake::{
    AskedByClient, Checked, ClientConfig, ClientHandshake, Destination, EarlyDataStatus, Epoch,
    Token,
};
use crate::time::Time;
use crate::transport::Output;

/// A client's connection.
pub type ClientConnection = Connection<ClientHandshake>;

impl ClientConnection {
    /// Starts a connection: the ClientHello is in `output` afterwards. Early data may be written at
    /// once, so that both go out together.
    pub fn start(
        config: Checked<ClientConfig>,
        destination: Destination,
        now: Time,
        output: &mut Output,
    ) -> Result<Self, Error> {
        let deadline = now.monotonic.saturating_add(config.handshake_timeout);
        let mut common = Common::new(true, deadline);
        let handshake = common.with_context(now, output, |ctx| {
            ClientHandshake::start(config.shared(), destination, ctx)
        })?;
        Ok(Self { handshake, common })
    }

    /// How many bytes of early data may be written now: 0 if there was no ticket for it, or the
    /// server has answered.
    pub fn early_data_room(&self) -> usize {
        let open = matches!(
            self.common.facts.early_data,
            EarlyDataStatus::Offered | EarlyDataStatus::Accepted
        );
        let outgoing = &self.common.stream.outgoing;
        let usable = open && outgoing.epoch == Epoch::EarlyData && self.check_writable().is_ok();
        if usable { outgoing.early_data_left } else { 0 }
    }

    /// Writes early data; returns how many bytes were taken. Where records are padded, less than
    /// [`early_data_room`](Self::early_data_room) may fit: padding counts.
    ///
    /// Under a forward-secret ticket it is executed at most once. Otherwise it may be replayed: write
    /// only what may be executed twice. If the server rejects it, the verdict of
    /// [`Event::EarlyDataRejected`](crate::Event::EarlyDataRejected) says whether it may be sent
    /// again.
    pub fn write_early_data(&mut self, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        self.check_writable()?;
        let data = &data[..data.len().min(self.early_data_room())];
        Ok(self.common.stream.outgoing.application_data(data, output))
    }

    /// Answers a question.
    pub fn answer<Q: AskedByClient>(
        &mut self,
        _token: Token<Q>,
        answer: Q::Answer,
        now: Time,
        output: &mut Output,
    ) -> Result<(), Error> {
        self.give_answer(Q::answer(answer), now, output)
    }
}
