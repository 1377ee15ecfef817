//! Records over a stream (RFC 8446 §5): decrypted in place in the caller's buffer, and
//! written to the caller's output.

mod incoming;
mod outgoing;
mod output;
mod protection;
mod reassembly;

pub(crate) use incoming::{HEADER_LEN, Incoming};
pub use output::Output;
pub use reassembly::{Batch, Reassembly};

use incoming::IncomingRecords;
use outgoing::OutgoingRecords;
use protection::Protection;

use crate::crypto::Suite;
use crate::error::Error;
use crate::handshake::{Below, Direction, Epoch, Limit};
use crate::limits::Limits;
use crate::role::Role;
use crate::schedule::TrafficSecret;
use crate::wire::{AlertDescription, ContentType};

/// The record layer of one connection.
pub(crate) struct Stream {
    pub(crate) incoming: IncomingRecords,
    pub(crate) outgoing: OutgoingRecords,
    pub(crate) reassembly: Reassembly,
}

impl Stream {
    /// The role decides which side sends the first record, and where change_cipher_spec goes.
    pub(crate) fn new(role: Role, limits: &Limits) -> Self {
        Self {
            incoming: IncomingRecords::new(role),
            outgoing: OutgoingRecords::new(role, limits.first_messages()),
            reassembly: Reassembly::default(),
        }
    }

    /// Sends an alert, after which nothing is sent (RFC 8446 §6).
    pub(crate) fn send_alert(&mut self, alert: AlertDescription, output: &mut Output) {
        self.outgoing.flush(output);
        self.outgoing.record(ContentType::ALERT, &alert.to_content(), output);
        self.outgoing.close();
    }

    /// Frees the memory that only the handshake needed.
    pub(crate) fn release(&mut self) {
        self.reassembly.release();
        self.outgoing.release();
    }
}

/// A stream with the output of one call: the handshake's carrier.
pub(crate) struct StreamBelow<'t> {
    pub(crate) stream: &'t mut Stream,
    pub(crate) output: &'t mut Output,
}

impl Below for StreamBelow<'_> {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        debug_assert_eq!(epoch, self.stream.outgoing.epoch, "a message under the wrong keys");
        self.stream.outgoing.handshake(message, self.output);
    }

    fn flight_ended(&self) -> Result<(), Error> {
        self.stream.reassembly.flight_ended()
    }

    fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        suite: &'static Suite,
        secret: TrafficSecret<'_>,
    ) -> Result<(), Error> {
        match direction {
            Direction::Write => {
                self.stream.outgoing.flush(self.output);
                self.stream.outgoing.install(epoch, Protection::new(suite, secret));
            }
            Direction::Read => {
                self.flight_ended()?;
                self.stream.incoming.install(epoch, Protection::new(suite, secret));
            }
        }
        Ok(())
    }

    fn update(&mut self, key_update: &[u8], suite: &'static Suite, next: TrafficSecret<'_>) {
        self.stream.outgoing.handshake(key_update, self.output);
        self.stream.outgoing.flush(self.output);
        self.stream.outgoing.install(Epoch::Application, Protection::new(suite, next));
    }

    fn withdraw_early_data(&mut self) {
        self.stream.outgoing.uninstall();
    }

    fn step_ended(&mut self) {
        self.stream.outgoing.flush(self.output);
    }

    fn limit(&mut self, limit: Limit) {
        let Stream { incoming, outgoing, .. } = &mut *self.stream;
        match limit {
            Limit::EarlyData(limit) => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                incoming.early_data_left = limit;
                outgoing.early_data_left = limit;
            }
            Limit::RefusedEarlyData(refused, limit) => incoming.skip = Some((refused, limit)),
            Limit::Records { peer, own } => {
                outgoing.limit_records(peer);
                incoming.max_inner_plaintext = own.into();
            }
            Limit::Padding(padding) => outgoing.padding = padding,
        }
    }
}
