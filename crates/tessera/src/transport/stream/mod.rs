//! Records over a stream (RFC 8446 §5): what is received is decrypted in the caller's buffer, what
//! is sent is appended to the caller's output.

mod incoming;
mod joiner;
mod outgoing;
mod output;
mod protection;

pub(crate) use incoming::Incoming;
pub use output::Output;

use alloc::collections::VecDeque;

use incoming::IncomingRecords;
use joiner::Joiner;
use outgoing::OutgoingRecords;
use protection::Protection;

use crate::crypto::Suite;
use crate::error::{Error, unexpected_message};
use crate::handshake::{Epoch, Event, SkipEarlyData, Transport};
use crate::schedule::TrafficSecret;
use crate::transport::Padding;
use crate::wire::{AlertDescription, ContentType};

/// The record layer of one connection.
pub(crate) struct Stream {
    pub(crate) incoming: IncomingRecords,
    pub(crate) outgoing: OutgoingRecords,
    pub(crate) joiner: Joiner,
    /// What the handshake has to tell, in order.
    pub(crate) events: VecDeque<Event>,
}

impl Stream {
    /// `is_client` decides who sends the first record, and where a change_cipher_spec stands.
    pub(crate) fn new(is_client: bool) -> Self {
        Self {
            incoming: IncomingRecords::new(is_client),
            outgoing: OutgoingRecords::new(is_client),
            joiner: Joiner::default(),
            events: VecDeque::new(),
        }
    }

    /// Sends an alert, after which nothing is sent (RFC 8446 §6).
    pub(crate) fn send_alert(&mut self, alert: AlertDescription, output: &mut Output) {
        const WARNING: u8 = 1;
        const FATAL: u8 = 2;
        let is_warning =
            matches!(alert, AlertDescription::CLOSE_NOTIFY | AlertDescription::USER_CANCELED);
        let level = if is_warning { WARNING } else { FATAL };
        self.outgoing.flush(output);
        self.outgoing.record(ContentType::ALERT, &[level, alert.0], output);
        self.outgoing.close();
    }

    /// Gives back the memory that only the handshake needed.
    pub(crate) fn release(&mut self) {
        self.joiner.release();
        self.outgoing.release();
        self.events.shrink_to_fit();
    }
}

/// A stream with the output of one call: what the handshake sees as its transport.
pub(crate) struct StreamTransport<'t> {
    pub(crate) stream: &'t mut Stream,
    pub(crate) output: &'t mut Output,
}

impl Transport for StreamTransport<'_> {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        debug_assert_eq!(epoch, self.stream.outgoing.epoch, "a message under the wrong keys");
        self.stream.outgoing.handshake(message);
    }

    fn install_write(&mut self, epoch: Epoch, suite: &'static Suite, secret: &TrafficSecret) {
        self.stream.outgoing.flush(self.output);
        self.stream.outgoing.install(epoch, Protection::new(suite, secret));
    }

    fn uninstall_write(&mut self) {
        self.stream.outgoing.uninstall();
    }

    fn install_read(
        &mut self,
        epoch: Epoch,
        suite: &'static Suite,
        secret: &TrafficSecret,
    ) -> Result<(), Error> {
        self.end_of_flight()?;
        self.stream.incoming.install(epoch, Protection::new(suite, secret));
        Ok(())
    }

    fn end_of_flight(&self) -> Result<(), Error> {
        if self.stream.joiner.has_more {
            return Err(unexpected_message("a message where the peer has to wait"));
        }
        Ok(())
    }

    fn limit_early_data(&mut self, limit: u32) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.stream.incoming.early_data_left = limit;
        self.stream.outgoing.early_data_left = limit;
    }

    fn skip_early_data(&mut self, skip: SkipEarlyData, limit: usize) {
        self.stream.incoming.skip = Some((skip, limit));
    }

    fn change_cipher_spec(&mut self) {
        self.stream.outgoing.change_cipher_spec(self.output);
    }

    fn limit_records(&mut self, peer_limit: u16, own_limit: u16) {
        self.stream.outgoing.limit_records(peer_limit);
        self.stream.incoming.max_inner_plaintext = own_limit.into();
    }

    fn pad_records(&mut self, padding: Padding) {
        self.stream.outgoing.padding = padding;
    }

    fn event(&mut self, event: Event) {
        self.stream.events.push_back(event);
    }
}
