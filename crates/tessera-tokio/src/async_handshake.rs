//! The questions of either role, put to [`Answers`].

use std::future::pending;

use tessera::handshake::{
    Checked, ClientHandshake, ClientQuestion, Handshake, OpenQuestion, Question, ServerHandshake,
    ServerQuestion,
};
use tessera::{
    Association, ClientConfig, Connection, Error, Output, ServerConfig, ServerConnection, Time,
};

use crate::answers::{Answer, Answers};
use crate::current::Continuity;

/// A handshake whose questions [`Answers`] answer: [`ClientHandshake`] or [`ServerHandshake`].
pub trait AsyncHandshake: Handshake<Question: Send> + Sized + 'static {
    /// The configuration of this role.
    #[doc(hidden)]
    type Config: Continuity + Send + Sync;

    /// Makes a connection with another configuration, in place of one that has sent and read nothing; `None`
    /// for the role that sends first.
    #[doc(hidden)]
    fn unread(config: Checked<Self::Config>, now: Time) -> Option<Connection<Self>>;

    /// Puts a question to its method of [`Answers`].
    #[doc(hidden)]
    fn ask(question: Self::Question, answers: &dyn Answers) -> Answer<AnswerCallback<Self>>;
}

/// Passes an answer to the face that asked.
pub type AnswerCallback<S> = Box<dyn FnOnce(Face<'_, S>, Time) -> Result<(), Error> + Send>;

/// A face of the engine, which asks and gets the answer.
pub enum Face<'f, S: AsyncHandshake> {
    /// Over a stream.
    Stream(&'f mut Connection<S>, &'f mut Output),
    /// Over datagrams.
    Datagrams(&'f mut Association<S>),
}

/// Maps each question to its method of [`Answers`].
macro_rules! asks {
    ($handshake:ident, $config:ident, $unread:expr, $questions:ident: $($question:ident => $method:ident,)*) => {
        impl AsyncHandshake for $handshake {
            type Config = $config;

            fn unread(config: Checked<$config>, now: Time) -> Option<Connection<Self>> {
                $unread(config, now)
            }

            fn ask(question: $questions, answers: &dyn Answers) -> Answer<AnswerCallback<Self>> {
                match question {
                    $($questions::$question(asked) => ask(asked, |it| answers.$method(it)),)*
                    // The engine is newer than this crate, and `Answers` has no method for the question:
                    // the handshake's time runs out.
                    _ => Box::pin(pending()),
                }
            }
        }
    };
}

asks! {
    ClientHandshake, ClientConfig, |_, _| None, ClientQuestion:
    VerifyPeer => verify_peer,
    Sign => sign,
    Decapsulate => decapsulate,
}

asks! {
    ServerHandshake, ServerConfig,
    |config, now| Some(ServerConnection::start(config, now)),
    ServerQuestion:
    ChooseConfig => choose_config,
    OpenTicket => open_ticket,
    AcceptResumption => accept_resumption,
    SettleReceipt => settle_receipt,
    TakeSecret => take_secret,
    VerifyPeer => verify_peer,
    Sign => sign,
    Decapsulate => decapsulate,
}

/// Asks one question; its token is kept with the pending answer.
fn ask<S, Q>(
    asked: OpenQuestion<Q>,
    ask: impl FnOnce(Q) -> Answer<Q::Answer>,
) -> Answer<AnswerCallback<S>>
where
    S: AsyncHandshake<Question: From<OpenQuestion<Q>>>,
    Q: Question<Answer: Send>,
{
    let OpenQuestion { question, token } = asked;
    let answer = ask(question);
    Box::pin(async move {
        let answer = answer.await;
        let give: AnswerCallback<S> = Box::new(move |face: Face<'_, S>, now| match face {
            Face::Stream(connection, output) => connection.answer(token, answer, now, output),
            Face::Datagrams(association) => association.answer(token, answer, now),
        });
        give
    })
}
