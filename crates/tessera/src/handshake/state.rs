//! What the states of a client and of a server have in common for the core that drives them.

use super::application::Application;
use super::context::Context;
use crate::error::{Error, unexpected_message};
use crate::question::Waiting;
use crate::wire::{AlertDescription, HandshakeMessage};

/// All states of one side: each is left by value for the next.
pub trait State: From<Waiting<Self::Question>> + Send + Sync + Unpin + 'static {
    /// What this side may ask.
    type Question: 'static;

    /// An error ended the handshake.
    fn failed() -> Self;

    /// Takes the peer's next message.
    fn receive(self, message: HandshakeMessage<'_>, ctx: &mut Context<'_>) -> Result<Self, Error>;

    /// The largest message that may come now, in bytes.
    fn max_message(&self) -> usize;

    /// The open question.
    fn waiting(&self) -> Option<&Waiting<Self::Question>>;

    /// The open question.
    fn waiting_mut(&mut self) -> Option<&mut Waiting<Self::Question>>;

    /// The open question.
    fn into_waiting(self) -> Option<Waiting<Self::Question>>;

    /// The secrets of the connection, when the handshake is complete.
    fn application(&self) -> Option<&Application>;

    /// The secrets of the connection, when the handshake is complete.
    fn application_mut(&mut self) -> Option<&mut Application>;

    /// Application data came from the peer.
    fn saw_data(&mut self) {
        if let Some(application) = self.application_mut() {
            application.saw_data();
        }
    }

    /// The peer ended the connection with this fatal alert.
    fn refused(&mut self, alert: AlertDescription) {
        let _ = alert;
    }
}

/// Nothing is read while an answer is waited for.
pub(crate) const OUT_OF_TURN: Error = unexpected_message("a message while a question is open");

/// What is the same in both sides' states: a `Waiting` and a `Connected` among them.
macro_rules! accessors {
    ($question:ty) => {
        fn failed() -> Self {
            Self::Failed
        }

        fn waiting(&self) -> Option<&Waiting<$question>> {
            if let Self::Waiting(waiting) = self { Some(waiting) } else { None }
        }

        fn waiting_mut(&mut self) -> Option<&mut Waiting<$question>> {
            if let Self::Waiting(waiting) = self { Some(waiting) } else { None }
        }

        fn into_waiting(self) -> Option<Waiting<$question>> {
            if let Self::Waiting(waiting) = self { Some(*waiting) } else { None }
        }

        fn application(&self) -> Option<&Application> {
            if let Self::Connected(state) = self { Some(&state.application) } else { None }
        }

        fn application_mut(&mut self) -> Option<&mut Application> {
            if let Self::Connected(state) = self { Some(&mut state.application) } else { None }
        }
    };
}

pub(super) use accessors;
