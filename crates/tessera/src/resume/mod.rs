//! Reconnecting: PSKs, tickets, sessions, early data, forward-secret 0-RTT.

mod client_session;
mod early_data;
mod forward_secret;
mod importer;
mod known_key;
mod lone_identity;
mod one_time_psk;
mod one_time_secret;
mod policy;
mod psk;
mod receipts;
mod scope;
mod session;
mod session_store;
mod tickets;
pub(crate) mod tlv;
mod verdict;

pub(crate) use client_session::SessionAge;
pub use client_session::{ClientSession, SessionClock, SessionImportError};
pub use early_data::{AlreadyUsed, SingleUseRegister};
pub use forward_secret::{
    Absence, FsClientTicket, Incarnation, PutRefused, PutSecret, TakeAnswer, TakePurpose,
    TakeSecret, TicketId, Vault,
};
pub(crate) use forward_secret::{FsIdentity, fs_secret, psk_for_flight};
pub use importer::ImportablePsk;
pub use known_key::KnownServerKey;
pub(crate) use known_key::{KnownKeyIdentity, psk_of_known_key};
pub(crate) use lone_identity::LoneIdentity;
pub(crate) use one_time_psk::{answer_one_time_key, one_time_keys};
pub use one_time_secret::OneTimeSecret;
pub use policy::{
    AcceptEarlyData, Continuation, OfferEarlyData, OneTimeKeyGuard, ReconnectPolicy, ReplayGuard,
};
pub(crate) use psk::KnownPsk;
pub use psk::{ExternalPsk, PskKind};
pub use receipts::*;
pub(crate) use scope::{AuthenticationScope, SessionAuthentication};
pub use session::{Ancestry, Companion, SessionState};
pub use session_store::SessionStore;
pub use tickets::*;
pub(crate) use verdict::Beginning;
pub use verdict::Verdict;

pub use crate::carrier::Carrier;
pub use crate::wire::FlightHandle;
