//! The events that the engine reported at one end.

use tessera::resume::{ClientSession, Verdict};
use tessera::{Error, Event};

/// Data, events and the error of one end.
#[derive(Default)]
pub struct ReceivedData {
    /// Application data.
    pub data: Vec<u8>,
    /// Early data (the server's end).
    pub early_data: Vec<u8>,
    /// The handshake is complete.
    pub complete: bool,
    /// The fate of the early data (the client's end).
    pub early_data_accepted: Option<bool>,
    /// Why it was rejected (the client's end).
    pub verdict: Option<Verdict>,
    /// The sessions received (the client's end).
    pub sessions: Vec<ClientSession>,
    /// How many connection IDs the peer asked for, each time.
    pub requested_ids: Vec<u8>,
    /// close_notify came.
    pub closed: bool,
    /// The error that ended this end.
    pub error: Option<Error>,
}

impl ReceivedData {
    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::HandshakeComplete => self.complete = true,
            Event::EarlyDataAccepted => self.early_data_accepted = Some(true),
            Event::EarlyDataRejected(verdict) => {
                self.early_data_accepted = Some(false);
                self.verdict = Some(verdict);
            }
            Event::NewSession(session) => self.sessions.push(*session),
            _ => (),
        }
    }
}
