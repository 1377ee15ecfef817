//! What every state needs besides its own data.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::below::{Below, Direction, Epoch};
use super::event::Event;
use super::facts::Facts;
use crate::crypto::{Depth, StackDepth, Suite};
use crate::error::Error;
use crate::key_log::KeyLog;
use crate::question::{OpenQuestion, Question, Reply, Suspension};
use crate::schedule::{KeyDerivation, Profile, TrafficSecret, Transcript};
use crate::time::Time;

/// The world outside the state machine, for the time of one call.
pub struct Context<'c> {
    pub(crate) now: Time,
    pub(crate) profile: &'static Profile,
    pub(crate) below: &'c mut dyn Below,
    /// The keys under which the peer's next message must arrive.
    pub(crate) read_epoch: &'c mut Epoch,
    /// For the user only: no decision reads it.
    pub(crate) facts: &'c mut Facts,
    pub(crate) events: &'c mut VecDeque<Event>,
    /// The buffer for messages, kept for its capacity.
    pub(crate) scratch: &'c mut Vec<u8>,
    /// Its first size, in bytes.
    pub(crate) first_messages: u16,
    pub(crate) stack: StackReach,
}

/// How deep in the stack a step handles secrets.
pub(crate) struct StackReach {
    pub(crate) of: StackDepth,
    pub(crate) reached: Depth,
}

impl StackReach {
    /// Notes that a key signs, or that a KEM encapsulates or decapsulates.
    pub(super) fn reaches_agreement(&mut self) {
        self.reached = self.reached.max(self.of.agreement);
    }
}

/// Continues with the answer to a `Q`.
pub(crate) type Then<Q, S> =
    Box<dyn FnOnce(<Q as Question>::Answer, &mut Context<'_>) -> Result<S, Error> + Send + Sync>;

impl Context<'_> {
    /// Returns the key derivation of a suite, with the labels of this connection's profile.
    pub(crate) fn kdf(&self, suite: &Suite) -> KeyDerivation {
        KeyDerivation { hash: suite.hash, profile: self.profile }
    }

    /// Queues an event for the user.
    pub(crate) fn event(&mut self, event: Event) {
        self.events.push_back(event);
    }

    /// Protects everything in this direction under this secret from now on.
    pub(crate) fn install(
        &mut self,
        direction: Direction,
        epoch: Epoch,
        suite: &'static Suite,
        secret: TrafficSecret<'_>,
    ) -> Result<(), Error> {
        self.stack.reached = self.stack.reached.max(self.stack.of.derivation);
        self.below.install(direction, epoch, suite, secret)?;
        if direction == Direction::Read {
            *self.read_epoch = epoch;
        }
        Ok(())
    }

    /// Builds a message, adds it to the transcript and sends it.
    pub(crate) fn send(
        &mut self,
        epoch: Epoch,
        transcript: &mut Transcript,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.build(write);
        transcript.add(self.scratch);
        self.below.send(epoch, self.scratch);
    }

    /// Builds and sends a message after the handshake, which belongs to no transcript.
    pub(crate) fn send_after_handshake(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.build(write);
        self.below.send(Epoch::Application, self.scratch);
    }

    fn build(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.scratch.clear();
        self.scratch.reserve(self.first_messages.into());
        write(self.scratch);
    }

    /// Continues with the answer: now if the owner has it, otherwise when it arrives. A step of the decision about a
    /// ClientHello uses `server::stop::answer` instead.
    pub(crate) fn ask<Q, S, V>(
        &mut self,
        question: Q,
        reply: Reply<Q::Answer>,
        then: impl FnOnce(Q::Answer, &mut Context<'_>) -> Result<S, Error> + Send + Sync + 'static,
    ) -> Result<S, Error>
    where
        Q: Question,
        S: From<Suspension<V>> + 'static,
        V: From<OpenQuestion<Q>>,
    {
        match reply {
            Reply::Now(answer) => then(answer, self),
            Reply::Later => {
                let then: Then<Q, S> = Box::new(then);
                Ok(Suspension::new(question, then).into())
            }
        }
    }
}

/// Where, and under which client_random, the secrets of a connection are logged.
#[derive(Clone, Copy)]
pub struct SecretLog<'l> {
    pub(crate) key_log: Option<&'l dyn KeyLog>,
    pub(crate) client_random: &'l [u8; 32],
}

impl SecretLog<'_> {
    /// Logs a secret.
    pub(crate) fn secret(&self, label: &str, secret: &[u8]) {
        if let Some(log) = self.key_log {
            log.log(label, self.client_random, secret);
        }
    }
}

/// Compares suites by hash, as PSKs require (RFC 8446 §4.2.11).
pub(crate) fn same_hash(a: &Suite, b: &Suite) -> bool {
    // SHA-256 and SHA-384 differ in length; no suite of TLS 1.3 has another hash.
    a.hash.len() == b.hash.len()
}
