//! A second face over the engine's core: handshake messages by epoch, without records, like QUIC. Data travels by epoch
//! too, unprotected: the handshake is under test.

use tessera::crypto::Suite;
use tessera::face::{
    Arrival, Below, Core, Direction, Epoch, HandshakeMessage, Limit, Profile, TrafficSecret,
};
use tessera::handshake::{
    Checked, ClientHandshake, Handshake, OpenQuestion, Question, ServerHandshake, Token,
};
use tessera::wire::AlertDescription;
use tessera::{ClientConfig, Destination, Error, ServerConfig, Time};

use crate::received::ReceivedData;

/// One end that sends and receives messages by epoch.
pub struct MessageConnection<H: Handshake> {
    pub(crate) core: Core<H>,
    below: Messages,
    input: Vec<u8>,
}

/// Carries the messages: it remembers pending output, and every secret.
#[derive(Default)]
struct Messages {
    output: Vec<u8>,
    secrets: Vec<(Direction, Epoch, Vec<u8>)>,
    early_data_left: usize,
    early_records_sent: u64,
    /// What a server reports, whatever came.
    early_records_taken: Option<u32>,
}

impl MessageConnection<ClientHandshake> {
    pub(crate) fn client(
        config: Checked<ClientConfig>,
        destination: Destination,
        profile: &'static Profile,
        now: Time,
    ) -> Result<Self, Error> {
        let mut below = Messages::default();
        let core = Core::client(config, destination, profile, now, &mut below)?;
        Ok(Self { core, below, input: Vec::new() })
    }
}

impl MessageConnection<ServerHandshake> {
    /// Waits for a client; the connection has these parameters.
    pub fn server(
        config: Checked<ServerConfig>,
        arrival: Arrival,
        profile: &'static Profile,
        now: Time,
    ) -> Self {
        let core = Core::server(config, arrival, profile, now);
        Self { core, below: Messages::default(), input: Vec::new() }
    }
}

impl<H: Handshake> MessageConnection<H> {
    /// Returns the secrets in the order in which they were installed.
    pub fn secrets(&self) -> &[(Direction, Epoch, Vec<u8>)] {
        &self.below.secrets
    }

    /// Takes the pending output: see [`items`].
    pub(crate) fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.below.output)
    }

    /// Returns how much early data may be written now.
    pub(crate) fn early_data_room(&self) -> usize {
        let writes_early = self.below.newest(Direction::Write) == Epoch::EarlyData;
        if writes_early { self.below.early_data_left } else { 0 }
    }

    /// Lets a server report that it has taken this many records of early data.
    pub fn report_early_records(&mut self, taken: u32) {
        self.below.early_records_taken = Some(taken);
    }

    /// Sends data under the newest keys.
    pub(crate) fn write(&mut self, data: &[u8]) {
        let epoch = self.below.newest(Direction::Write);
        self.below.early_records_sent += u64::from(epoch == Epoch::EarlyData);
        self.below.push(DATA, epoch, data);
    }

    pub(crate) fn update_keys(&mut self, request: bool) -> Result<(), Error> {
        self.core.update_keys(request, &mut self.below)
    }

    pub(crate) fn answer<Q: Question>(
        &mut self,
        token: Token<Q>,
        answer: Q::Answer,
        now: Time,
    ) -> Result<(), Error>
    where
        H::Question: From<OpenQuestion<Q>>,
    {
        let result = self.core.answer(token, answer, now, &mut self.below);
        result.map_err(|error| if error.is_final() { self.fail(error) } else { error })
    }

    /// Stores the error, and sends its alert.
    fn fail(&mut self, error: Error) -> Error {
        if let Some(alert) = error.alert() {
            self.below.push(ALERT, self.below.newest(Direction::Write), &[alert.0]);
        }
        self.core.fail(error)
    }

    /// Reads input, up to its end or to a question.
    pub(crate) fn deliver(
        &mut self,
        bytes: &[u8],
        now: Time,
        received: &mut ReceivedData,
        questions: &mut Vec<H::Question>,
    ) {
        self.input.extend_from_slice(bytes);
        loop {
            while let Some(event) = self.core.event() {
                received.event(event);
            }
            questions.extend(self.core.question());
            if received.error.is_some() || self.core.is_suspended() {
                return;
            }
            let Some((kind, epoch, body, len)) = first_item(&self.input) else { return };
            let readable = epoch == Epoch::Initial || self.below.reads(epoch);
            match kind {
                DATA if epoch != Epoch::EarlyData => received.data.extend_from_slice(body),
                // Rejected early data is dropped: there are no keys for it.
                DATA if !readable => (),
                DATA => received.early_data.extend_from_slice(body),
                ALERT => received.error = Some(Error::AlertReceived(AlertDescription(body[0]))),
                _ => {
                    let message = HandshakeMessage::split_from(body).expect("a whole message");
                    let result = self.core.message(epoch, message, now, &mut self.below);
                    received.error = result.err().map(|error| self.fail(error));
                }
            }
            if kind == DATA {
                self.core.saw_data();
            }
            self.input.drain(..len);
        }
    }
}

impl Messages {
    fn push(&mut self, kind: u8, epoch: Epoch, body: &[u8]) {
        self.output.extend_from_slice(&item(kind, epoch, body));
    }

    /// Returns the epoch of the newest secret of a direction.
    fn newest(&self, direction: Direction) -> Epoch {
        let mut newest = self.secrets.iter().rev();
        newest.find(|secret| secret.0 == direction).map_or(Epoch::Initial, |secret| secret.1)
    }

    fn reads(&self, epoch: Epoch) -> bool {
        self.secrets.iter().any(|secret| (secret.0, secret.1) == (Direction::Read, epoch))
    }
}

impl Below for Messages {
    fn send(&mut self, epoch: Epoch, message: &[u8]) {
        assert_eq!(epoch, self.newest(Direction::Write), "a message under other keys");
        self.push(MESSAGE, epoch, message);
    }

    fn flight_ended(&self) -> Result<(), Error> {
        Ok(())
    }

    fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        _: &'static Suite,
        secret: TrafficSecret<'_>,
    ) -> Result<(), Error> {
        self.secrets.push((direction, epoch, secret.expose().to_vec()));
        Ok(())
    }

    fn update(&mut self, key_update: &[u8], suite: &'static Suite, next: TrafficSecret<'_>) {
        self.push(MESSAGE, Epoch::Application, key_update);
        let _ = self.install(Direction::Write, Epoch::Application, suite, next);
    }

    fn close_early_data(&mut self) -> Option<u32> {
        self.early_records_taken
    }

    fn early_records_sent(&self) -> u64 {
        self.early_records_sent
    }

    fn withdraw_early_data(&mut self) {
        self.secrets.retain(|secret| secret.1 != Epoch::EarlyData);
    }

    fn limit(&mut self, limit: Limit) {
        if let Limit::EarlyData(limit) = limit {
            self.early_data_left = limit as usize;
        }
    }
}

fn item(kind: u8, epoch: Epoch, body: &[u8]) -> Vec<u8> {
    [&[kind, epoch as u8], &(body.len() as u32).to_be_bytes()[..], body].concat()
}

/// Encodes a plaintext message as an end sends it.
pub fn plain_item(message: &[u8]) -> Vec<u8> {
    item(MESSAGE, Epoch::Initial, message)
}

/// Returns the first message of an end's output.
///
/// # Panics
/// If there is none.
pub fn first_message(sent: &[u8]) -> HandshakeMessage<'_> {
    let (kind, _, body, _) = first_item(sent).expect("an item");
    assert_eq!(kind, MESSAGE);
    HandshakeMessage::split_from(body).expect("a whole message")
}

/// Returns the first item of `bytes`: its kind, epoch, body, and its length in all.
pub(crate) fn first_item(bytes: &[u8]) -> Option<(u8, Epoch, &[u8], usize)> {
    let [kind, epoch, len @ ..] = bytes.first_chunk::<6>()?;
    let len = 6 + u32::from_be_bytes(*len) as usize;
    let epochs = [
        Epoch::Initial,
        Epoch::EarlyData,
        Epoch::Handshake,
        Epoch::AuthenticatedHandshake,
        Epoch::Application,
    ];
    let epoch = epochs.into_iter().find(|it| *it as u8 == *epoch).expect("an epoch");
    Some((*kind, epoch, bytes.get(6..len)?, len))
}

pub(crate) const MESSAGE: u8 = 0;
const DATA: u8 = 1;
const ALERT: u8 = 2;
