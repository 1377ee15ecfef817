//! What only a client's connection has: its start, and early data.

use super::ClientConnection;
use crate::error::Error;
use crate::handshake::{Checked, ClientConfig, Core, Destination, Epoch};
use crate::record::{Output, Stream, StreamBelow};
use crate::role::Role;
use crate::schedule::STREAM;
use crate::time::Time;

impl ClientConnection {
    /// Starts a connection and writes the ClientHello to `output`. Early data may be written at
    /// once, so that both go out together.
    pub fn start(
        config: Checked<ClientConfig>,
        destination: Destination,
        now: Time,
        output: &mut Output,
    ) -> Result<Self, Error> {
        let mut stream = Stream::new(Role::Client, &config.limits);
        let mut below = StreamBelow { stream: &mut stream, output };
        let core = Core::client(config, destination, &STREAM, now, &mut below)?;
        Ok(Self::new(core, stream))
    }

    /// Returns how many bytes of early data may be written now: 0 without a ticket for it, or once the
    /// server has answered.
    #[must_use]
    pub fn early_data_room(&self) -> usize {
        let outgoing = &self.stream.outgoing;
        let open = outgoing.epoch == Epoch::EarlyData && self.check_writable().is_ok();
        if open { outgoing.early_data_left } else { 0 }
    }

    /// Writes early data; returns how many bytes were taken. Where records are padded, less than
    /// [`early_data_room`](Self::early_data_room) may fit, since padding counts.
    ///
    /// Under a forward-secret ticket it is accepted at most once. Otherwise it may be replayed: write
    /// only what may be executed twice. If the server rejects it, the verdict of
    /// [`Event::EarlyDataRejected`](crate::Event::EarlyDataRejected) states whether it may be sent
    /// again; if the connection ends without an answer, it may have been executed
    /// ([`Facts::early_data`](crate::Facts::early_data), [`Facts::flight`](crate::Facts::flight)).
    ///
    /// An attacker on the path can hold back the rest, so that only a prefix is executed: early data must be
    /// self-delimiting.
    pub fn write_early_data(&mut self, data: &[u8], output: &mut Output) -> Result<usize, Error> {
        self.check_writable()?;
        let data = &data[..data.len().min(self.early_data_room())];
        let written = self.stream.outgoing.application_data(data, output);
        self.core.wrote_early_data(written);
        Ok(written)
    }
}
