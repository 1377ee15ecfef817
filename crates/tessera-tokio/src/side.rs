//! What client and server do differently: the questions that they ask.

use std::future::pending;

use tessera::handshake::{
    Asked, AskedByClient, AskedByServer, ClientHandshake, ClientQuestion, Handshake,
    ServerHandshake, ServerQuestion,
};
use tessera::{ClientConnection, Connection, Error, Output, ServerConnection, Time};

use crate::answers::{Answer, Answers};

/// A side of a connection: [`ClientHandshake`] or [`ServerHandshake`].
pub trait Side:
    Handshake<Question: Send> + Send + Sized + Unpin + 'static + sealed::Sealed
{
    /// Whether this side sends the handshake's last flight.
    #[doc(hidden)]
    const FINISHES: bool;

    /// Puts a question to whoever answers.
    #[doc(hidden)]
    fn ask(question: Self::Question, answers: &dyn Answers) -> Answer<GiveAnswer<Self>>;
}

mod sealed {
    use super::{Connection, Error, Output, Time};

    /// Gives an answer to the connection that asked.
    pub type GiveAnswer<S> =
        Box<dyn FnOnce(&mut Connection<S>, Time, &mut Output) -> Result<(), Error> + Send>;

    pub trait Sealed {}
    impl Sealed for super::ClientHandshake {}
    impl Sealed for super::ServerHandshake {}
}

pub(crate) use sealed::GiveAnswer;

impl Side for ClientHandshake {
    const FINISHES: bool = true;

    fn ask(question: ClientQuestion, answers: &dyn Answers) -> Answer<GiveAnswer<Self>> {
        match question {
            ClientQuestion::VerifyPeer(asked) => client(asked, |it| answers.verify_peer(it)),
            ClientQuestion::Sign(asked) => client(asked, |it| answers.sign(it)),
            _ => nobody_knows(),
        }
    }
}

impl Side for ServerHandshake {
    const FINISHES: bool = false;

    fn ask(question: ServerQuestion, answers: &dyn Answers) -> Answer<GiveAnswer<Self>> {
        match question {
            ServerQuestion::ChooseConfig(asked) => server(asked, |it| answers.choose_config(it)),
            ServerQuestion::OpenTicket(asked) => server(asked, |it| answers.open_ticket(it)),
            ServerQuestion::AcceptResumption(asked) => {
                server(asked, |it| answers.accept_resumption(it))
            }
            ServerQuestion::SettleReceipt(asked) => server(asked, |it| answers.settle_receipt(it)),
            ServerQuestion::TakeSecret(asked) => server(asked, |it| answers.take_secret(it)),
            ServerQuestion::VerifyPeer(asked) => server(asked, |it| answers.verify_peer(it)),
            ServerQuestion::Sign(asked) => server(asked, |it| answers.sign(it)),
            _ => nobody_knows(),
        }
    }
}

/// The engine is later than this crate, and asks what `Answers` has no word for: the handshake's time
/// runs out.
fn nobody_knows<S: 'static>() -> Answer<GiveAnswer<S>> {
    Box::pin(pending())
}

/// A client's question: its token waits with the answer, and goes with it.
fn client<Q: AskedByClient + 'static>(
    asked: Asked<Q>,
    ask: impl FnOnce(Q) -> Answer<Q::Answer>,
) -> Answer<GiveAnswer<ClientHandshake>>
where
    Q::Answer: Send + 'static,
{
    let Asked { question, token } = asked;
    let answer = ask(question);
    Box::pin(async move {
        let answer = answer.await;
        let give: GiveAnswer<ClientHandshake> =
            Box::new(move |connection: &mut ClientConnection, now, output| {
                connection.answer(token, answer, now, output)
            });
        give
    })
}

/// A server's question.
fn server<Q: AskedByServer + 'static>(
    asked: Asked<Q>,
    ask: impl FnOnce(Q) -> Answer<Q::Answer>,
) -> Answer<GiveAnswer<ServerHandshake>>
where
    Q::Answer: Send + 'static,
{
    let Asked { question, token } = asked;
    let answer = ask(question);
    Box::pin(async move {
        let answer = answer.await;
        let give: GiveAnswer<ServerHandshake> =
            Box::new(move |connection: &mut ServerConnection, now, output| {
                connection.answer(token, answer, now, output)
            });
        give
    })
}
