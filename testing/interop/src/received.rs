//! What one end of a connection received.

use tessera::resume::{ClientSession, Verdict};
use tessera::{Error, Event, ReadEvent};

/// What an end received so far.
#[derive(Debug, Default)]
pub struct ReceivedData {
    /// Application data.
    pub data: Vec<u8>,
    /// The longest content of a record of it, in bytes.
    pub longest_record: usize,
    /// Early data (a server).
    pub early_data: Vec<u8>,
    /// The client's early data is complete (a server).
    pub early_data_end: bool,
    /// The handshake is complete.
    pub complete: bool,
    /// The fate of the early data (a client).
    pub early_data_accepted: Option<bool>,
    /// Why it was rejected (a client).
    pub verdict: Option<Verdict>,
    /// The sessions received (a client).
    pub sessions: Vec<ClientSession>,
    /// close_notify came.
    pub closed: bool,
    /// The peer's stream ended.
    pub end_of_stream: bool,
    /// The error that ended this end.
    pub error: Option<Error>,
}

impl ReceivedData {
    /// Whether the data has this text in it.
    pub fn heard(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.data).contains(text)
    }

    /// Notes an event of reading `input`; returns whether more can be read at once.
    pub(crate) fn read<Q: core::fmt::Debug>(&mut self, event: ReadEvent<Q>, input: &[u8]) -> bool {
        match event {
            ReadEvent::Data(data) => {
                self.longest_record = self.longest_record.max(data.len());
                self.data.extend_from_slice(&input[data]);
            }
            ReadEvent::EarlyData(data) => self.early_data.extend_from_slice(&input[data]),
            ReadEvent::Handshake(event) => self.event(event),
            ReadEvent::NeedInput | ReadEvent::OutputFull => return false,
            ReadEvent::PeerClosed => {
                self.closed = true;
                return false;
            }
            // All questions of these tests are answered at once.
            ReadEvent::Question(question) => panic!("a question was left open: {question:?}"),
            ReadEvent::WaitingForAnswer => panic!("a question was left open"),
            _ => (),
        }
        true
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::HandshakeComplete => self.complete = true,
            Event::EarlyDataAccepted => self.early_data_accepted = Some(true),
            Event::EarlyDataRejected(verdict) => {
                self.early_data_accepted = Some(false);
                self.verdict = Some(verdict);
            }
            Event::EarlyDataEnd => self.early_data_end = true,
            Event::NewSession(session) => self.sessions.push(*session),
            _ => (),
        }
    }
}
