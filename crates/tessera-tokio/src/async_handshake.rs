//! The questions of either role, put to [`Answers`].

use std::future::pending;

use tessera::handshake::{
    Asked, ClientHandshake, ClientQuestion, Handshake, Question, ServerHandshake, ServerQuestion,
};
use tessera::{Connection, Error, Output, Time};

use crate::answers::{Answer, Answers};

/// A handshake whose questions [`Answers`] answer: [`ClientHandshake`] or [`ServerHandshake`].
pub trait AsyncHandshake: Handshake<Question: Send> + Sized + 'static {
    /// Puts a question to its method of [`Answers`].
    #[doc(hidden)]
    fn ask(question: Self::Question, answers: &dyn Answers) -> Answer<GiveAnswer<Self>>;
}

/// Gives an answer to the connection that asked.
pub type GiveAnswer<S> =
    Box<dyn FnOnce(&mut Connection<S>, Time, &mut Output) -> Result<(), Error> + Send>;

/// Which method of [`Answers`] answers which question.
macro_rules! asks {
    ($handshake:ident, $questions:ident: $($question:ident => $method:ident,)*) => {
        impl AsyncHandshake for $handshake {
            fn ask(question: $questions, answers: &dyn Answers) -> Answer<GiveAnswer<Self>> {
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
    ClientHandshake, ClientQuestion:
    VerifyPeer => verify_peer,
    Sign => sign,
}

asks! {
    ServerHandshake, ServerQuestion:
    ChooseConfig => choose_config,
    OpenTicket => open_ticket,
    AcceptResumption => accept_resumption,
    SettleReceipt => settle_receipt,
    TakeSecret => take_secret,
    VerifyPeer => verify_peer,
    Sign => sign,
}

/// One question: its token waits with the answer, and goes with it.
fn ask<S, Q>(asked: Asked<Q>, ask: impl FnOnce(Q) -> Answer<Q::Answer>) -> Answer<GiveAnswer<S>>
where
    S: AsyncHandshake<Question: From<Asked<Q>>>,
    Q: Question<Answer: Send>,
{
    let Asked { question, token } = asked;
    let answer = ask(question);
    Box::pin(async move {
        let answer = answer.await;
        let give: GiveAnswer<S> = Box::new(move |connection: &mut Connection<S>, now, output| {
            connection.answer(token, answer, now, output)
        });
        give
    })
}
