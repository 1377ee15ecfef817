//! Questions: the engine asks its owner whatever may wait.
//!
//! A question belongs to the state that waits for its answer. The configuration answers most of them
//! at once ([`Reply::Now`]). One that it leaves for later becomes visible to the driver of the
//! connection, with a token that accepts only an answer of the right type. While a question is open
//! the connection reads nothing.
//!
//! A new question needs four edits: its type with the answer's; a line in its side's list
//! (`handshake/{client,server}/questions.rs`); and in tokio a method of `Answers` with its line in
//! `asks!`. The step that asks has two ways. A state whose work is done passes its continuation
//! (`Context::ask`). A decision about a ClientHello runs again from the top with the answer in its
//! place (`handshake/server/stop.rs`, `decisions.rs`).

use alloc::boxed::Box;
use core::any::{Any, TypeId};
use core::marker::PhantomData;

/// An owner's reply to a question: the answer, or that it comes later.
#[derive(Debug)]
pub enum Reply<A> {
    /// The answer.
    Now(A),
    /// The driver of the connection gets the question, and answers in its own time.
    Later,
}

/// A question, and the type of its answer.
pub trait Question: 'static {
    /// The type of its answer.
    type Answer: 'static;
}

/// An open question with the token for its answer.
#[derive(Debug)]
pub struct OpenQuestion<Q> {
    /// The question.
    pub question: Q,
    /// The token to return with the answer.
    pub token: Token<Q>,
}

/// Represents an open question. It can be used once, and only with an answer to that question. Pass it to the
/// connection that asked: another connection with the same open question would accept it too.
/// An answer of another type does not compile:
///
/// ```compile_fail,E0308
/// use tessera::auth::Sign;
/// use tessera::handshake::OpenQuestion;
/// use tessera::resume::ResumptionVerdict;
/// use tessera::{Output, ServerConnection, Time};
///
/// fn answer(server: &mut ServerConnection, asked: OpenQuestion<Sign>, now: Time, output: &mut Output) {
///     let _ = server.answer(asked.token, ResumptionVerdict::Accept, now, output);
/// }
/// ```
///
/// Nor does a second one:
///
/// ```compile_fail,E0382
/// use tessera::auth::Sign;
/// use tessera::handshake::OpenQuestion;
/// use tessera::{Output, ServerConnection, Time};
///
/// fn answer(server: &mut ServerConnection, asked: OpenQuestion<Sign>, now: Time, output: &mut Output) {
///     let _ = server.answer(asked.token, Ok(Vec::new()), now, output);
///     let _ = server.answer(asked.token, Ok(Vec::new()), now, output);
/// }
/// ```
#[derive(Debug)]
pub struct Token<Q>(PhantomData<fn(Q)>);

/// What a state waits for: a question that its owner answers later, and the continuation with its answer.
///
/// `V` is the enum of one side's questions, and `T` the continuation: a step of that side.
pub struct Suspension<V> {
    question: Option<V>,
    /// The type of the question: two may have answers of the same type.
    kind: TypeId,
    /// A `T` of [`new`](Self::new), whose type determines the expected answer.
    then: Box<dyn Any + Send + Sync>,
}

impl<V> Suspension<V> {
    pub(crate) fn new<Q: Question, T: Any + Send + Sync>(question: Q, then: T) -> Self
    where
        V: From<OpenQuestion<Q>>,
    {
        let asked = OpenQuestion { question, token: Token(PhantomData) };
        Self { question: Some(asked.into()), kind: TypeId::of::<Q>(), then: Box::new(then) }
    }

    /// Returns the question, once.
    pub(crate) fn question(&mut self) -> Option<V> {
        self.question.take()
    }

    /// Returns whether the question is a `Q`, and the continuation a `T`.
    pub(crate) fn expects<Q: Question, T: Any>(&self) -> bool {
        self.kind == TypeId::of::<Q>() && self.then.is::<T>()
    }

    /// Returns the continuation, if it is a `T`.
    pub(crate) fn then<T: Any>(self) -> Option<T> {
        self.then.downcast().ok().map(|then| *then)
    }
}

/// Declares the enum of one side's questions: each variant has the name of its question.
macro_rules! questions {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$doc:meta])* $question:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $question(OpenQuestion<$question>),)*
        }

        $(impl From<OpenQuestion<$question>> for $name {
            fn from(asked: OpenQuestion<$question>) -> Self {
                Self::$question(asked)
            }
        })*
    };
}

pub(crate) use questions;
