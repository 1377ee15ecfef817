//! What the states of a client and of a server have in common for the core that drives them.

use super::application::Application;
use super::context::Context;
use crate::error::Error;
use crate::question::Suspension;
use crate::wire::HandshakeMessage;

/// All states of one role; a transition consumes the state.
pub trait State: From<Suspension<Self::Question>> + Send + Sync + Unpin + 'static {
    /// The questions of this role.
    type Question: 'static;

    /// Returns the state after an error.
    fn failed() -> Self;

    /// Handles the peer's next message.
    fn receive(self, message: HandshakeMessage<'_>, ctx: &mut Context<'_>) -> Result<Self, Error>;

    /// Returns the length of the largest message that may come now, in bytes. While a question is open, over
    /// datagrams alone.
    fn max_message(&self) -> usize;

    /// Returns what waits for an answer, if a question is open.
    fn suspension(&self) -> Option<&Suspension<Self::Question>>;

    /// Returns it, mutable.
    fn suspension_mut(&mut self) -> Option<&mut Suspension<Self::Question>>;

    /// Consumes the state and returns it.
    fn into_suspension(self) -> Option<Suspension<Self::Question>>;

    /// Returns whether data may go out as soon as there are keys for it.
    fn may_write(&self) -> bool;

    /// Returns the secrets of the connection, once the handshake is complete.
    fn application(&self) -> Option<&Application>;

    /// Returns the secrets of the connection, mutable, once the handshake is complete.
    fn application_mut(&mut self) -> Option<&mut Application>;
}

/// Declares the enum of one role's states, including `Connected`, each with the largest message that may come in it. One that
/// is `of` a feature is held by its witness, and so are the questions.
macro_rules! states {
    (@held $data:ty) => { $data };
    (@held $data:ty, $feature:ident) => { $feature<$data> };
    (@inner $state:ident) => { $state };
    (@inner $state:ident, $feature:ident) => { $state.into_inner() };
    (@suspended $suspension:ident) => { Self::Suspended(Box::new($suspension)) };
    (@suspended $suspension:ident, $feature:ident) => {
        match $feature::linked() {
            Some(linked) => Self::Suspended(linked.with(Box::new($suspension))),
            // Nothing is asked without the feature.
            None => Self::Failed,
        }
    };
    (
        $(#[$about:meta])*
        pub enum $name:ident asks $question:ident $(of $asking:ident)? {
            $($state:ident($data:ty) $(of $feature:ident)?: $longest:expr,)*
        }
    ) => {
        $(#[$about])*
        pub enum $name {
            $($state(states!(@held $data $(, $feature)?)),)*
            /// The owner answers later.
            Suspended(states!(@held Box<Suspension<$question>> $(, $asking)?)),
            /// An error ended the handshake.
            Failed,
        }

        // Where a small state replaces a larger one, the rest of the place is whatever was on the stack.
        const _: () = assert!(size_of::<$name>() <= 3 * size_of::<usize>(), "box a state's data");

        impl From<Suspension<$question>> for $name {
            fn from(suspension: Suspension<$question>) -> Self {
                states!(@suspended suspension $(, $asking)?)
            }
        }

        impl State for $name {
            type Question = $question;

            fn failed() -> Self {
                Self::Failed
            }

            fn receive(
                self,
                message: HandshakeMessage<'_>,
                ctx: &mut Context<'_>,
            ) -> Result<Self, Error> {
                match self {
                    $(Self::$state(state) => states!(@inner state $(, $feature)?).receive(message, ctx),)*
                    // Nothing is read while a question is open.
                    Self::Suspended(_) | Self::Failed => {
                        Err(unexpected_message("a message while a question is open"))
                    }
                }
            }

            fn max_message(&self) -> usize {
                match self {
                    $(Self::$state(state) => {
                        let longest: fn(&$data) -> usize = $longest;
                        longest(state)
                    })*
                    Self::Suspended(_) | Self::Failed => MAX_SMALL_MESSAGE,
                }
            }

            fn suspension(&self) -> Option<&Suspension<$question>> {
                if let Self::Suspended(suspension) = self { Some(suspension) } else { None }
            }

            fn suspension_mut(&mut self) -> Option<&mut Suspension<$question>> {
                if let Self::Suspended(suspension) = self { Some(suspension) } else { None }
            }

            fn into_suspension(self) -> Option<Suspension<$question>> {
                match self {
                    Self::Suspended(asked) => Some(*states!(@inner asked $(, $asking)?)),
                    _ => None,
                }
            }

            fn may_write(&self) -> bool {
                self.trusts_keys()
            }

            fn application(&self) -> Option<&Application> {
                if let Self::Connected(state) = self { Some(&state.application) } else { None }
            }

            fn application_mut(&mut self) -> Option<&mut Application> {
                if let Self::Connected(state) = self { Some(&mut state.application) } else { None }
            }
        }
    };
}

pub(super) use states;
