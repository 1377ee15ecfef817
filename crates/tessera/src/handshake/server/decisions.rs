//! How a ClientHello is answered: every decision of the server, in order, on one page.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ServerState;
use super::answers::Answers;
use super::arrival::Arrival;
use super::choose_config::choose_config;
use super::config::ServerConfig;
use super::hello::Hello;
use super::negotiation::Negotiation;
use super::psk_candidate::{PskCandidate, PskInUse};
use super::questions::ServerQuestion;
use super::retry_state::RetryState;
use super::server_hello::{ServerChoice, send_server_hello};
use super::stop::Stop;
use crate::crypto::Suite;
use crate::error::Error;
use crate::handshake::below::Limit;
use crate::handshake::config::Checked;
use crate::handshake::context::{Context, Then};
use crate::limits::{Limits, copied};
use crate::question::{OpenQuestion, Question, Suspension};
use crate::resume::ResumptionVerdict;
use crate::wire::HandshakeMessage;

/// Nothing was received, or a HelloRetryRequest was sent, or a question about a ClientHello is open.
pub struct ReadClientHello {
    /// The listener's configuration; after a HelloRetryRequest of this connection, the one chosen for the client.
    config: Checked<ServerConfig>,
    arrival: Arrival,
    answers: Answers,
}

impl ServerState {
    /// Waits for a ClientHello.
    pub(in crate::handshake) fn start(config: Checked<ServerConfig>, arrival: Arrival) -> Self {
        let answers = Answers::default();
        Self::ReadClientHello(Box::new(ReadClientHello { config, arrival, answers }))
    }
}

impl ReadClientHello {
    /// Returns what this side accepts.
    pub(super) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    pub(super) fn receive(
        mut self: Box<Self>,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        ctx.below.flight_ended()?;
        let hello = Hello::read(message, ctx.profile)?;
        match self.decide(&hello, ctx) {
            Ok(state) => Ok(state),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Later(suspend)) => {
                let hello = copied(message.bytes)?;
                Ok(suspend(OpenDecision { state: self, hello }).into())
            }
        }
    }

    /// Decides on a ClientHello, and answers it.
    ///
    /// A step whose owner answers later stops the decision. When the answer has arrived in its place in
    /// `answers`, everything is decided again from the top. Each step finds its earlier answers
    /// there: no question is asked twice.
    fn decide(
        &mut self,
        hello: &Hello<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Stop<Suspend>> {
        let Self { config, arrival, answers } = self;
        let retry = arrival.retry.as_ref();
        // RFC 8446 §4.1.2: a second ClientHello equals the first except for what the HelloRetryRequest changes.
        RetryState::check(retry, hello)?;
        // The owner may have another configuration for this client.
        let config = choose_config(config, retry, hello, &mut answers.config)
            .map_err(suspend(|answers| &mut answers.config))?;
        ctx.below.limit(Limit::Padding(config.padding));
        // Application protocol and group depend on nothing else (RFC 7301 §3.2, RFC 8446 §4.2.8).
        let negotiation = Negotiation::new(&config, arrival, hello, ctx)?;
        // The PSK of a client that knows this server's static key.
        let known_key = negotiation.open_known_key(&mut answers.known_key, arrival, ctx)?;
        // The first known and usable PSK, or else one whose flight must be burned. A forward-secret PSK is taken
        // below, once the ticket that names it is proved.
        let known = negotiation
            .find_psk(&mut answers.psk, known_key, ctx)
            .map_err(suspend(|answers| &mut answers.psk.opened))?;
        // A stranger's address is proved by a cookie (RFC 9147 §5.1), which also brings the right share.
        arrival.check_address(known.is_some() && !negotiation.lacks_share(known))?;
        let suite = negotiation.choose_suite(known)?;
        // RFC 8446 §4.1.4. A HelloRetryRequest precedes the take, which a retry would waste.
        if negotiation.lacks_share(known) {
            return Ok(retry_hello(&negotiation, arrival, suite, known, ctx)?);
        }
        // RFC 8446 §4.2.11.2: a wrong binder is forged, and fatal.
        let proved = negotiation.prove(suite, known, &mut answers.proved, ctx)?;
        // The owner may refuse the PSK, now that it is proved, or its early data.
        let verdict = negotiation
            .accept_resumption(known, &mut answers.resumption)
            .map_err(suspend(|answers| &mut answers.resumption))?;
        let psk = known.filter(|_| verdict != ResumptionVerdict::Refuse);
        arrival.check_address(psk.is_some())?;
        if negotiation.lacks_share(psk) {
            return Ok(retry_hello(&negotiation, arrival, suite, psk, ctx)?);
        }
        // This hello can't take a key that it burns for a receipt.
        negotiation
            .settle_receipts(psk, &mut answers.receipts, &mut answers.receipt)
            .map_err(suspend(|answers| &mut answers.receipt))?;
        // The take. From here on any fault in the flight means forgery, and is fatal. The key of a refused PSK
        // is burned, so that its client learns that the flight was not executed.
        let in_use = PskInUse { psk, suite, early_data: verdict == ResumptionVerdict::Accept };
        let flight = PskInUse { psk: known, ..in_use };
        let one_time_key = negotiation
            .take_one_time_key(flight, &proved.covered, &mut answers.taken, ctx)
            .map_err(suspend(|answers| &mut answers.taken))?;
        let early_data = negotiation.answer_early_data(in_use, &one_time_key);
        // A lone ticket whose key is gone can only fall back to a full handshake.
        if !one_time_key.is_opened() && proved.early.is_none() && !negotiation.has_share() {
            return Ok(retry_hello(&negotiation, arrival, suite, psk, ctx)?);
        }
        let proved = answers.proved.take().ok_or(NOT_PROVED)?;
        let choice = ServerChoice::new(&negotiation, in_use, one_time_key, early_data, proved);
        Ok(send_server_hello(&negotiation, choice, &answers.receipts, ctx)?)
    }
}

/// Asks for another ClientHello, with a share.
fn retry_hello(
    negotiation: &Negotiation<'_>,
    arrival: &Arrival,
    suite: &'static Suite,
    psk: Option<&PskCandidate>,
    ctx: &mut Context<'_>,
) -> Result<ServerState, Error> {
    let retry = negotiation.retry(suite, psk, ctx)?;
    let extensions = arrival.extensions.clone();
    let arrival = Arrival { extensions, retry: Some(retry), is_unproved: arrival.is_unproved };
    Ok(ServerState::start(negotiation.config.clone(), arrival))
}

/// Makes the state that waits for the owner.
type Suspend = dyn FnOnce(OpenDecision) -> Suspension<ServerQuestion>;

/// Stops the decision for a question of one of its steps. The answer goes into `place`, where the
/// step finds it.
fn suspend<Q: Question>(
    place: fn(&mut Answers) -> &mut Option<Q::Answer>,
) -> impl FnOnce(Stop<Q>) -> Stop<Suspend>
where
    ServerQuestion: From<OpenQuestion<Q>>,
{
    move |stop| match stop {
        Stop::Failed(error) => Stop::Failed(error),
        Stop::Later(question) => Stop::Later(Box::new(move |mut decision| {
            let then: Then<Q, ServerState> = Box::new(move |answer, ctx| {
                *place(&mut decision.state.answers) = Some(answer);
                decision.again(ctx)
            });
            Suspension::new(*question, then)
        })),
    }
}

/// A decision with an open question, and its ClientHello.
struct OpenDecision {
    state: Box<ReadClientHello>,
    hello: Vec<u8>,
}

impl OpenDecision {
    /// Decides again from the top.
    fn again(self, ctx: &mut Context<'_>) -> Result<ServerState, Error> {
        let hello = HandshakeMessage::split_from(&self.hello).ok_or(NOT_WHOLE)?;
        self.state.receive(hello, ctx)
    }
}

/// It was whole on arrival.
const NOT_WHOLE: Error = Error::Internal("a ClientHello that is not whole");

/// It was proved a few lines earlier.
const NOT_PROVED: Error = Error::Internal("a ClientHello that was not hashed");
