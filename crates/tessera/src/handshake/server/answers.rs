//! What a server's owner answered about one ClientHello, and how a decision waits for more.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::ServerState;
use super::binder::ProvedHello;
use super::config::{NoConfig, ServerConfig};
use super::psk::PskSearch;
use super::questions::ServerQuestion;
use crate::error::Error;
use crate::handshake::config::Checked;
use crate::handshake::context::{Context, Then};
use crate::question::{Asked, Question, Reply, Waiting};
use crate::resume::{Receipt, ResumptionVerdict, Taken};

/// What is known already when a decision is made again: answers, and what is dear to compute.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) config: Option<Result<Checked<ServerConfig>, NoConfig>>,
    pub(super) psk: PskSearch,
    pub(super) proved: Option<ProvedHello>,
    pub(super) resumption: Option<ResumptionVerdict>,
    /// Of the flights that the client asks about, in their order, as far as they are settled.
    pub(super) receipts: Vec<Receipt>,
    /// Of the next one.
    pub(super) receipt: Option<Receipt>,
    pub(super) taken: Option<Taken>,
}

/// Why a decision stops.
pub(super) enum Pause {
    /// The handshake failed.
    Failed(Error),
    /// The owner answers later.
    Later(Later),
}

impl From<Error> for Pause {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A question for later: makes the state that waits, for a decision that is then made again.
pub(super) type Later = Box<dyn FnOnce(Box<dyn Again>) -> Waiting<ServerQuestion>>;

/// A decision that can be made again.
pub(super) trait Again: Send + Sync {
    /// Where its answers go.
    fn answers(&mut self) -> &mut Answers;

    /// Decides again, from the top.
    fn again(self: Box<Self>, ctx: &mut Context<'_>) -> Result<ServerState, Error>;
}

/// The owner's answer to a question that is asked once. If it comes later, it is in the same `place`
/// when the decision is made again.
pub(super) fn answer<Q: Question>(
    known: &mut Option<Q::Answer>,
    ask: impl FnOnce() -> (Q, Reply<Q::Answer>),
    place: fn(&mut Answers) -> &mut Option<Q::Answer>,
) -> Result<&mut Q::Answer, Pause>
where
    ServerQuestion: From<Asked<Q>>,
{
    match known {
        Some(answer) => Ok(answer),
        None => match ask() {
            (_, Reply::Now(answer)) => Ok(known.insert(answer)),
            (question, Reply::Later) => Err(later(question, place)),
        },
    }
}

fn later<Q: Question>(question: Q, place: fn(&mut Answers) -> &mut Option<Q::Answer>) -> Pause
where
    ServerQuestion: From<Asked<Q>>,
{
    Pause::Later(Box::new(move |mut decision| {
        let then: Then<Q, ServerState> = Box::new(move |answer, ctx| {
            *place(decision.answers()) = Some(answer);
            decision.again(ctx)
        });
        Waiting::new(question, then)
    }))
}
