//! N32-c: two SEPPs agree on how their networks talk (3GPP TS 29.573 §5.2, §6.1).
//!
//! | module | what it is for |
//! |---|---|
//! | [`messages`] | the JSON of both directions, and what is wrong with it |
//! | [`association`] | what was agreed with each peer, and how it comes to that |
//! | [`initiator`] | the side that asks, over a [`Transport`] |
//! | [`responder`] | the side that answers |

pub mod association;
mod failure;
pub mod initiator;
pub mod messages;
mod refusal;
pub mod responder;
mod transport;

pub use self::association::{
    Association, AssociationId, Associations, Event, NotEstablished, Observer, PeerStatus,
    Settings, State,
};
pub use self::transport::{Reply, Target, Transport, TransportError};
