//! Questions: whatever may wait is asked, and the owner answers.
//!
//! A question belongs to the state that waits for its answer. The configuration answers most of them
//! on the spot ([`Reply::Now`]); one that it leaves for later becomes visible to the driver of the
//! connection, with a token that takes only an answer of the right type. While a question is open
//! the connection reads nothing.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

use super::config::Checked;
use super::server::ServerConfig;
use crate::auth::{PeerIdentity, PeerRejected, VerifyPeer};
use crate::crypto::SigningError;
use crate::resume::{
    AcceptResumption, OpenTicket, Receipt, ResumptionVerdict, SessionState, SettleReceipt,
    TakeSecret, Taken,
};
use crate::wire::SignatureScheme;

/// What an owner says to a question: the answer at once, or that it comes later.
#[derive(Debug)]
pub enum Reply<A> {
    /// The answer.
    Now(A),
    /// The question becomes visible to the driver of the connection, which answers in its own time.
    Later,
}

/// A question, and the type of its answer.
pub trait Question {
    /// What answers it.
    type Answer;
}

/// The question which configuration serves a client: asked once per connection, on the first
/// ClientHello.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChooseConfig {
    /// server_name.
    pub server_name: Option<String>,
    /// The application protocols that the client offers, in its order.
    pub protocols: Vec<Vec<u8>>,
    /// The signature schemes that the client can check, in its order.
    pub signature_schemes: Vec<SignatureScheme>,
}

/// No configuration for this client: the handshake ends with unrecognized_name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoConfig;

/// The question for a signature with the private key of this side's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sign {
    /// The scheme to sign with.
    pub scheme: SignatureScheme,
    /// The end entity's certificate as it was sent: it says which key is to sign.
    pub certificate: Vec<u8>,
    /// What to sign, whole: the scheme hashes it.
    pub message: Vec<u8>,
}

impl Question for ChooseConfig {
    type Answer = Result<Checked<ServerConfig>, NoConfig>;
}

impl Question for OpenTicket {
    type Answer = Option<SessionState>;
}

impl Question for AcceptResumption {
    type Answer = ResumptionVerdict;
}

impl Question for SettleReceipt {
    type Answer = Receipt;
}

impl Question for TakeSecret {
    type Answer = Taken;
}

impl Question for VerifyPeer {
    type Answer = Result<PeerIdentity, PeerRejected>;
}

impl Question for Sign {
    type Answer = Result<Vec<u8>, SigningError>;
}

/// An open question with the token for its answer.
#[derive(Debug)]
pub struct Asked<Q> {
    /// The question.
    pub question: Q,
    /// To be given back with the answer.
    pub token: Token<Q>,
}

/// The state of a handshake while a question is open: the question, until it is put, and what goes on
/// with the answer.
pub(crate) struct Waiting<Q, T> {
    question: Option<Q>,
    pub(crate) then: T,
}

impl<Q, T> Waiting<Q, T> {
    pub(crate) fn new(question: Q, then: T) -> Box<Self> {
        Box::new(Self { question: Some(question), then })
    }

    /// The question, the first time it is asked for.
    pub(crate) fn ask(&mut self) -> Option<Asked<Q>> {
        self.question.take().map(|question| Asked { question, token: Token(PhantomData) })
    }
}

/// Stands for one open question of one connection; it can be used once, and only with an answer to
/// that question.
/// Another answer does not compile:
///
/// ```compile_fail,E0308
/// use tessera::handshake::{Asked, Sign};
/// use tessera::resume::ResumptionVerdict;
/// use tessera::{Output, ServerConnection, Time};
///
/// fn answer(server: &mut ServerConnection, asked: Asked<Sign>, now: Time, output: &mut Output) {
///     let _ = server.answer(asked.token, ResumptionVerdict::Accept, now, output);
/// }
/// ```
///
/// Nor does a second one:
///
/// ```compile_fail,E0382
/// use tessera::handshake::{Asked, Sign};
/// use tessera::{Output, ServerConnection, Time};
///
/// fn answer(server: &mut ServerConnection, asked: Asked<Sign>, now: Time, output: &mut Output) {
///     let _ = server.answer(asked.token, Ok(Vec::new()), now, output);
///     let _ = server.answer(asked.token, Ok(Vec::new()), now, output);
/// }
/// ```
#[derive(Debug)]
pub struct Token<Q>(PhantomData<fn(Q)>);

/// The questions of a client.
///
/// Later versions may ask more, but only where a configuration leaves the answer for later. To a question
/// that it doesn't know, a driver has no answer: it ends the connection, or lets its time run out.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientQuestion {
    /// Is the server who it should be?
    VerifyPeer(Asked<VerifyPeer>),
    /// Sign with the client's key.
    Sign(Asked<Sign>),
}

/// The questions of a server; see [`ClientQuestion`] for those that later versions may ask.
///
/// ```compile_fail,E0004
/// use tessera::ServerQuestion;
///
/// fn name(question: &ServerQuestion) -> &'static str {
///     match question {
///         ServerQuestion::ChooseConfig(_) => "configuration",
///         ServerQuestion::OpenTicket(_) => "ticket",
///         ServerQuestion::AcceptResumption(_) => "resumption",
///         ServerQuestion::SettleReceipt(_) => "receipt",
///         ServerQuestion::TakeSecret(_) => "secret",
///         ServerQuestion::VerifyPeer(_) => "peer",
///         ServerQuestion::Sign(_) => "signature",
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ServerQuestion {
    /// Which configuration serves this client?
    ChooseConfig(Asked<ChooseConfig>),
    /// What does this identity stand for?
    OpenTicket(Asked<OpenTicket>),
    /// May it be resumed?
    AcceptResumption(Asked<AcceptResumption>),
    /// What became of a flight?
    SettleReceipt(Asked<SettleReceipt>),
    /// Take the one-time secret.
    TakeSecret(Asked<TakeSecret>),
    /// Is the client who it should be?
    VerifyPeer(Asked<VerifyPeer>),
    /// Sign with the server's key.
    Sign(Asked<Sign>),
}

/// An answer to a client's question.
#[non_exhaustive]
pub enum ClientAnswer {
    /// To [`ClientQuestion::VerifyPeer`].
    VerifyPeer(<VerifyPeer as Question>::Answer),
    /// To [`ClientQuestion::Sign`].
    Sign(<Sign as Question>::Answer),
}

/// An answer to a server's question.
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "an answer lives for one call")]
pub enum ServerAnswer {
    /// To [`ServerQuestion::ChooseConfig`].
    ChooseConfig(<ChooseConfig as Question>::Answer),
    /// To [`ServerQuestion::OpenTicket`].
    OpenTicket(<OpenTicket as Question>::Answer),
    /// To [`ServerQuestion::AcceptResumption`].
    AcceptResumption(<AcceptResumption as Question>::Answer),
    /// To [`ServerQuestion::SettleReceipt`].
    SettleReceipt(<SettleReceipt as Question>::Answer),
    /// To [`ServerQuestion::TakeSecret`].
    TakeSecret(<TakeSecret as Question>::Answer),
    /// To [`ServerQuestion::VerifyPeer`].
    VerifyPeer(<VerifyPeer as Question>::Answer),
    /// To [`ServerQuestion::Sign`].
    Sign(<Sign as Question>::Answer),
}

/// A question that a client asks.
pub trait AskedByClient: Question {
    /// The answer as one of the client's answers.
    fn answer(answer: Self::Answer) -> ClientAnswer;
}

/// A question that a server asks.
pub trait AskedByServer: Question {
    /// The answer as one of the server's answers.
    fn answer(answer: Self::Answer) -> ServerAnswer;
}

macro_rules! asked_by {
    ($side:ident, $answers:ident: $($question:ident)*) => {$(
        impl $side for $question {
            fn answer(answer: Self::Answer) -> $answers {
                $answers::$question(answer)
            }
        }
    )*};
}

asked_by!(AskedByClient, ClientAnswer: VerifyPeer Sign);
asked_by!(AskedByServer, ServerAnswer:
    ChooseConfig OpenTicket AcceptResumption SettleReceipt TakeSecret VerifyPeer Sign);
