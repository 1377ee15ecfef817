//! What every connection needs, whatever carries it: the handshake's state, facts and events, the
//! open question, the deadline.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use super::application::Application;
use super::below::{Below, Direction, Epoch};
use super::client::{ClientConfig, ClientQuestion, ClientState, Destination};
use super::config::{Checked, Common, Config};
use super::context::{Context, StackReach, Then};
use super::event::Event;
use super::facts::Facts;
use super::server::{Arrival, ServerConfig, ServerQuestion, ServerState};
use super::state::State;
use crate::crypto::{Depth, StackDepth, wipe_stack_below};
use crate::error::{Error, unexpected_message};
use crate::question::{OpenQuestion, Question, Token};
use crate::role::Role;
use crate::schedule::{MAX_LABEL, Profile, TrafficSecret};
use crate::time::Time;
use crate::wire::{ExtensionType, HandshakeMessage, HandshakeType, OpaqueExtension};

/// A side of a connection: [`ClientHandshake`] or [`ServerHandshake`]. Sealed.
pub trait Handshake: sealed::Sealed {
    /// The questions that it may ask.
    type Question: 'static;

    /// Its role.
    const ROLE: Role;

    #[doc(hidden)]
    type State: State<Question = Self::Question>;
}

/// The client's side.
#[derive(Debug)]
pub enum ClientHandshake {}

impl Handshake for ClientHandshake {
    type Question = ClientQuestion;
    const ROLE: Role = Role::Client;
    type State = ClientState;
}

/// The server's side.
#[derive(Debug)]
pub enum ServerHandshake {}

impl Handshake for ServerHandshake {
    type Question = ServerQuestion;
    const ROLE: Role = Role::Server;
    type State = ServerState;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::ClientHandshake {}
    impl Sealed for super::ServerHandshake {}
}

/// One end of a connection without what carries it: messages in and out by epoch, questions, events.
///
/// Faces are built on it: over a stream it is [`Connection`](crate::Connection).
pub struct Core<H: Handshake> {
    pub(super) state: H::State,
    profile: &'static Profile,
    /// The keys under which the peer's next message must arrive.
    pub(super) read_epoch: Epoch,
    pub(super) facts: Facts,
    pub(super) events: VecDeque<Event>,
    deadline: Duration,
    failure: Option<Error>,
    scratch: Vec<u8>,
    /// The first size of `scratch`, in bytes.
    first_messages: u16,
    pub(super) stack_depth: StackDepth,
}

impl Core<ClientHandshake> {
    /// Starts a client and sends its ClientHello.
    pub fn client(
        config: Checked<ClientConfig>,
        destination: Destination,
        profile: &'static Profile,
        now: Time,
        below: &mut dyn Below,
    ) -> Result<Self, Error> {
        let mut core = Self::new(ClientState::Failed, &*config, profile, now);
        core.step(core.stack_depth.agreement, now, below, |_, ctx| {
            ClientState::start(config, destination, ctx)
        })?;
        Ok(core)
    }
}

impl Core<ServerHandshake> {
    /// Waits for a client.
    #[must_use]
    pub fn server(
        config: Checked<ServerConfig>,
        arrival: Arrival,
        profile: &'static Profile,
        now: Time,
    ) -> Self {
        let mut core = Self::new(ServerState::Failed, &*config, profile, now);
        core.facts.hello_retry = arrival.retry.is_some();
        core.state = ServerState::start(config, arrival);
        core
    }
}

impl<H: Handshake> Core<H> {
    fn new(state: H::State, config: &impl Config, profile: &'static Profile, now: Time) -> Self {
        let Common { handshake_timeout, provider, .. } = config.common();
        Self {
            state,
            profile,
            read_epoch: Epoch::Initial,
            facts: Facts::default(),
            events: VecDeque::new(),
            deadline: now.monotonic.saturating_add(handshake_timeout),
            failure: None,
            scratch: Vec::new(),
            first_messages: config.limits().first_messages(),
            stack_depth: provider.stack_depth,
        }
    }

    /// Creates one whose handshake is complete.
    pub(super) fn complete(
        state: H::State,
        profile: &'static Profile,
        read_epoch: Epoch,
        facts: Facts,
        stack_depth: StackDepth,
    ) -> Self {
        Self {
            state,
            profile,
            read_epoch,
            facts,
            events: VecDeque::new(),
            deadline: Duration::MAX,
            failure: None,
            scratch: Vec::new(),
            first_messages: 0,
            stack_depth,
        }
    }

    /// Handles the peer's next message, which arrived under the keys of `epoch`. Refuses any epoch but the newest
    /// read keys' (RFC 8446 §5.1).
    pub fn message(
        &mut self,
        epoch: Epoch,
        message: HandshakeMessage<'_>,
        now: Time,
        below: &mut dyn Below,
    ) -> Result<(), Error> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        if epoch != self.read_epoch {
            return Err(unexpected_message("a message under other keys than it belongs to"));
        }
        let StackDepth { derivation, agreement } = self.stack_depth;
        let reached = match message.typ {
            HandshakeType::CLIENT_HELLO | HandshakeType::SERVER_HELLO => agreement,
            // The tickets after it need new one-time keys.
            HandshakeType::FINISHED if H::ROLE == Role::Server => agreement,
            HandshakeType::NEW_SESSION_TICKET => derivation,
            // The context notes when keys are installed, and what reaches as deep as a key agreement.
            _ => Depth::of::<0>(),
        };
        self.step(reached, now, below, |state, ctx| state.receive(message, ctx))
    }

    /// Returns the length of the largest message that may come now, in bytes.
    pub fn max_message(&self) -> usize {
        self.state.max_message()
    }

    /// Returns the next event.
    pub fn event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if self.events.is_empty() && self.is_complete() {
            // An idle connection needs neither.
            self.scratch = Vec::new();
            self.events = VecDeque::new();
        }
        Some(event)
    }

    /// Returns whether a question is open.
    pub fn is_suspended(&self) -> bool {
        self.state.suspension().is_some()
    }

    /// Returns the open question, once.
    pub fn question(&mut self) -> Option<H::Question> {
        self.state.suspension_mut()?.question()
    }

    /// Continues with an answer.
    pub fn answer<Q: Question>(
        &mut self,
        _token: Token<Q>,
        answer: Q::Answer,
        now: Time,
        below: &mut dyn Below,
    ) -> Result<(), Error>
    where
        H::Question: From<OpenQuestion<Q>>,
    {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        if !self.state.suspension().is_some_and(|it| it.expects::<Q, Then<Q, H::State>>()) {
            return Err(Error::WrongAnswer);
        }
        self.step(self.stack_depth.agreement, now, below, |state, ctx| {
            match state.into_suspension().and_then(|it| it.then::<Then<Q, H::State>>()) {
                Some(then) => then(answer, ctx),
                None => Ok(H::State::failed()),
            }
        })
    }

    /// Returns whether the peer waits for new keys of this side (RFC 8446 §4.6.3).
    pub fn owes_update(&self) -> bool {
        self.state.application().is_some_and(Application::owes_update)
    }

    /// Changes this side's keys, and with `request` asks the peer to change its own.
    /// In a protocol without KeyUpdate changes nothing: [`Error::Misuse`].
    pub fn update_keys(&mut self, request: bool, below: &mut dyn Below) -> Result<(), Error> {
        if !self.profile.key_update {
            return Err(Error::Misuse("a KeyUpdate in a protocol that has none"));
        }
        let Self { state, scratch, .. } = self;
        let application = state.application_mut();
        let application = application.ok_or(Error::TooEarly("no keys to update yet"))?;
        let result = application.update_write_key(request, scratch, below);
        wipe_stack_below(self.stack_depth.derivation);
        result
    }

    /// Notes `count` more bytes of early data written.
    pub fn wrote_early_data(&mut self, count: usize) {
        self.facts.early_data_written += count;
    }

    /// Notes application data from the peer: messages after the handshake are no flood, and a client's
    /// last flight is accepted.
    pub fn saw_data(&mut self) {
        if let Some(application) = self.state.application_mut() {
            application.saw_data();
        }
    }

    /// Returns the application traffic secret of a direction, as long as it has not ended.
    pub(crate) fn traffic(&self, direction: Direction) -> Option<TrafficSecret<'_>> {
        self.state.application()?.traffic(direction)
    }

    /// Wipes the stack below a derivation that the face made.
    pub(crate) fn wipe_derivation(&self) {
        wipe_stack_below(self.stack_depth.derivation);
    }

    /// Exports keying material (RFC 8446 §7.5).
    pub fn export_keying_material(
        &mut self,
        label: &[u8],
        context: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        let application = self.state.application();
        let none = || self.failure.clone().unwrap_or(Error::TooEarly("no exporter yet"));
        let application = application.ok_or_else(none)?;
        let longest = 255 * application.suite.hash.len();
        let label_len = self.profile.label_prefix.len() + label.len();
        if label_len > MAX_LABEL || out.len() > longest {
            return Err(Error::Misuse("an exporter's label or output is too long"));
        }
        application.exporter()?.export(label, context, out);
        wipe_stack_below(self.stack_depth.derivation);
        Ok(())
    }

    /// Returns whether the handshake is complete on this side.
    pub fn is_complete(&self) -> bool {
        self.state.application().is_some()
    }

    /// Returns whether data may go out as soon as there are keys for it: to a server that is authenticated implicitly, only
    /// by a [policy](ClientConfig::data_to_implicitly_authenticated_servers).
    pub fn may_write(&self) -> bool {
        self.state.may_write()
    }

    /// Returns when the handshake must be complete, on the monotonic clock; `None` once it is, or has failed.
    pub fn deadline(&self) -> Option<Duration> {
        (!self.is_complete() && self.failure.is_none()).then_some(self.deadline)
    }

    /// Removes the peer's extension of a type that only the face knows.
    pub(crate) fn take_extension(&mut self, typ: ExtensionType) -> Option<OpaqueExtension> {
        let extensions = &mut self.facts.peer_extensions;
        let place = extensions.iter().position(|it| it.typ == typ)?;
        let taken = extensions.remove(place);
        extensions.shrink_to_fit();
        Some(taken)
    }

    /// Returns what is known of the connection.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the error that ended the connection.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    /// Ends the connection: keeps the error and drops all secrets.
    pub fn fail(&mut self, error: Error) -> Error {
        if let Error::AlertReceived(alert) = error
            && let Some(application) = self.state.application_mut()
        {
            application.codecs.refused(alert);
        }
        self.state = H::State::failed();
        self.failure = Some(error.clone());
        error
    }

    /// Ends a direction: drops its secret, and after both the exporter's.
    pub fn end(&mut self, direction: Direction) {
        if let Some(application) = self.state.application_mut() {
            application.end(direction);
        }
    }

    /// Runs one step of the handshake, and wipes the stack afterwards.
    fn step(
        &mut self,
        reached: Depth,
        now: Time,
        below: &mut dyn Below,
        step: impl FnOnce(H::State, &mut Context<'_>) -> Result<H::State, Error>,
    ) -> Result<(), Error> {
        let mut failure = None;
        let reached = self.unwiped_step(reached, now, below, step, &mut failure);
        wipe_stack_below(reached);
        failure.map_or(Ok(()), Err)
    }

    /// In its own frame, which is wiped with those below it. It returns no `Result`: an `Ok` would bring along whatever was on
    /// the stack where it was made, in the bytes that only an `Err` needs.
    #[inline(never)]
    fn unwiped_step(
        &mut self,
        reached: Depth,
        now: Time,
        below: &mut dyn Below,
        step: impl FnOnce(H::State, &mut Context<'_>) -> Result<H::State, Error>,
        failure: &mut Option<Error>,
    ) -> Depth {
        let Self { state, profile, read_epoch, facts, events, scratch, .. } = self;
        let (first_messages, of) = (self.first_messages, self.stack_depth);
        let stack = StackReach { of, reached };
        let mut ctx = Context {
            now,
            profile,
            below,
            read_epoch,
            facts,
            events,
            scratch,
            first_messages,
            stack,
        };
        let next = step(core::mem::replace(state, H::State::failed()), &mut ctx);
        let reached = ctx.stack.reached;
        below.step_ended();
        match next {
            Ok(next) => *state = next,
            Err(error) => *failure = Some(error),
        }
        reached
    }
}
