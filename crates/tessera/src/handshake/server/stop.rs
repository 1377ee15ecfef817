//! A step of the decision about a ClientHello, which stops if its owner answers later.

use alloc::boxed::Box;

use crate::error::Error;
use crate::question::{Question, Reply};

/// Why a decision stops.
pub(super) enum Stop<L: ?Sized> {
    /// The handshake failed.
    Failed(Error),
    /// The owner answers later: this question, or what suspends the decision for one.
    Later(Box<L>),
}

impl<L: ?Sized> From<Error> for Stop<L> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Returns the owner's answer to a question that is asked once: the `known` one, or the owner's reply.
pub(super) fn answer<Q: Question>(
    known: &mut Option<Q::Answer>,
    ask: impl FnOnce() -> (Q, Reply<Q::Answer>),
) -> Result<&mut Q::Answer, Stop<Q>> {
    match known {
        Some(answer) => Ok(answer),
        None => match ask() {
            (_, Reply::Now(answer)) => Ok(known.insert(answer)),
            (question, Reply::Later) => Err(Stop::Later(Box::new(question))),
        },
    }
}
