//! A step that may wait for the owner's answer to its question.

use alloc::boxed::Box;

use crate::error::Error;
use crate::question::{Question, Reply};

/// Why a step stops.
pub(super) enum Pause<Q> {
    /// The handshake failed.
    Failed(Error),
    /// The owner answers this question later.
    Later(Box<Q>),
}

impl<Q> From<Error> for Pause<Q> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Returns the owner's answer to a question that is asked once: the `known` one, or the owner's reply.
pub(super) fn answer<Q: Question>(
    known: &mut Option<Q::Answer>,
    ask: impl FnOnce() -> (Q, Reply<Q::Answer>),
) -> Result<&mut Q::Answer, Pause<Q>> {
    match known {
        Some(answer) => Ok(answer),
        None => match ask() {
            (_, Reply::Now(answer)) => Ok(known.insert(answer)),
            (question, Reply::Later) => Err(Pause::Later(Box::new(question))),
        },
    }
}
