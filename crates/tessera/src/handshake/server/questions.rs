//! The questions of a server.

use super::config::ChooseConfig;
use crate::auth::{Decapsulate, Sign, VerifyPeer};
use crate::question::{OpenQuestion, questions};
use crate::resume::{AcceptResumption, OpenTicket, SettleReceipt, TakeSecret};

questions! {
    /// The questions of a server; see [`ClientQuestion`](crate::ClientQuestion) for those that later
    /// versions may ask.
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
    ///         ServerQuestion::Decapsulate(_) => "decapsulation",
    ///     }
    /// }
    /// ```
    pub enum ServerQuestion {
        /// Which configuration serves this client?
        ChooseConfig,
        /// What does this identity stand for?
        OpenTicket,
        /// May it be resumed?
        AcceptResumption,
        /// What is the fate of a flight?
        SettleReceipt,
        /// Take the one-time secret.
        TakeSecret,
        /// Is the client the expected one?
        VerifyPeer,
        /// Sign with the server's key.
        Sign,
        /// Decapsulate with the server's key.
        Decapsulate,
    }
}
