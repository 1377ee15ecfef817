//! What a handshake hands over from flight to flight, once both hellos are known.

use alloc::boxed::Box;
use alloc::string::String;

use super::config::{Checked, Config};
use super::lineage::Lineage;
use super::state::State;
use crate::auth::{ConnectionCodecs, Sign, VerifyPeer};
use crate::crypto::Suite;
use crate::question::Asked;
use crate::role::Role;
use crate::schedule::Transcript;

/// What lasts to the end of the handshake: `own` has only the role `P`; `K` are the secrets that are known so far.
pub struct Handover<P, K> {
    pub(super) own: P,
    pub(super) suite: &'static Suite,
    /// Under what the secrets are logged.
    pub(super) client_random: [u8; 32],
    pub(super) transcript: Transcript,
    pub(super) secrets: K,
    pub(super) codecs: ConnectionCodecs,
    pub(super) lineage: Lineage,
}

/// What only one role has of a handshake.
pub trait Part: Sized + Send + Sync + 'static {
    /// What it may ask.
    type Question: From<Asked<Sign>> + From<Asked<VerifyPeer>> + 'static;

    /// Its states; that after the peer's certificates is made of what was handed over.
    type State: State<Question = Self::Question> + From<Box<Handover<Self, Self::Secrets>>>;

    /// What is known when the peer's certificates come: the server's come before the first Finished, the client's
    /// after it.
    type Secrets: Send + Sync + 'static;

    /// Its configuration.
    type Config: Config;

    /// The role.
    const ROLE: Role;

    /// The configuration of this connection.
    fn config(&self) -> &Checked<Self::Config>;

    /// The name that the peer must have.
    fn peer_name(&self) -> Option<String> {
        None
    }
}
