//! The face of a handshake towards its driver.

use super::application::Application;
use super::context::Context;
use crate::error::Error;
use crate::wire::HandshakeMessage;

/// What a client's and a server's handshake have in common for whoever drives them.
pub trait Handshake {
    /// What it may ask.
    type Question;
    /// What answers it.
    type Answer;

    /// Takes the peer's next message.
    fn receive(
        &mut self,
        message: HandshakeMessage<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<(), Error>;

    /// The open question, the first time it is asked for.
    fn question(&mut self) -> Option<Self::Question>;

    /// Whether an answer is waited for.
    fn is_waiting(&self) -> bool;

    /// Goes on with an answer.
    fn answer(&mut self, answer: Self::Answer, ctx: &mut Context<'_>) -> Result<(), Error>;

    /// The largest message that may come now, in bytes.
    fn max_message(&self) -> usize;

    /// The secrets of the connection, when the handshake is complete.
    fn application(&mut self) -> Option<&mut Application>;
}
