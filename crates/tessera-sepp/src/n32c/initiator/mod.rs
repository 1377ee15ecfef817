//! The requesting side.

mod redirection;
mod reply;

pub(crate) use self::redirection::Redirection;
pub(crate) use self::reply::{AcceptedReply, read_acknowledgement, read_reply};
use super::messages::Message;
pub use super::transport::{Reply, Target, Transport, TransportError};

/// Paths below the apiRoot (TS 29.573 §6.1.1).
pub(crate) mod paths {
    pub const API: &str = "/n32c-handshake/";
    pub const EXCHANGE_CAPABILITY: &str = "/n32c-handshake/v1/exchange-capability";
    pub const EXCHANGE_PARAMS: &str = "/n32c-handshake/v1/exchange-params";
    pub const N32F_TERMINATE: &str = "/n32c-handshake/v1/n32f-terminate";
    pub const N32F_ERROR: &str = "/n32c-handshake/v1/n32f-error";
}

/// Encodes a message as the body of a request.
pub(crate) fn body<T: Message + serde::Serialize>(message: &T) -> bytes::Bytes {
    serde_json::to_vec(message).unwrap_or_default().into()
}
