//! N32-c: two SEPPs agree on how their networks communicate (3GPP TS 29.573 §5.2, §6.1).
//!
//! | module | purpose |
//! |---|---|
//! | [`messages`] | the JSON of both directions, and its validation |
//! | [`association`] | what was agreed with each peer, and how |
//! | [`initiator`] | the requesting side, over a [`Transport`] |
//! | [`responder`] | the answering side |

pub mod association;
mod failure;
pub mod initiator;
pub mod messages;
mod refusal;
pub mod responder;
mod transport;

pub(crate) use self::association::Backoff;
pub use self::association::{
    Association, AssociationId, Associations, Event, NoAssociation, Observer, PeerStatus, Settings,
    State,
};
pub use self::transport::{Reply, Target, Transport, TransportError};
