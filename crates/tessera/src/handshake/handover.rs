//! What a handshake hands over from flight to flight, once both hellos are known.

use alloc::boxed::Box;
use alloc::string::String;

use super::context::SecretLog;
use super::lineage::Lineage;
use super::state::State;
use crate::auth::{ConnectionCodecs, Credential, PeerVerifier, Sign, VerifierDigest, VerifyPeer};
use crate::crypto::Suite;
use crate::error::Error;
use crate::question::Asked;
use crate::role::Role;
use crate::schedule::Transcript;

/// What lasts to the end of the handshake: `own` has only the role `P`; `K` are the secrets that are known so far.
pub struct Handover<P, K> {
    pub(super) own: P,
    pub(super) suite: &'static Suite,
    pub(super) transcript: Transcript,
    pub(super) secrets: K,
    pub(super) codecs: ConnectionCodecs,
    pub(super) lineage: Lineage,
}

/// What only one role has of a handshake, and how that role authenticates both ends.
pub trait Part: Sized + Send + Sync + 'static {
    /// What it may ask.
    type Question: From<Asked<Sign>> + From<Asked<VerifyPeer>> + 'static;

    /// Its states.
    type State: State<Question = Self::Question>;

    /// What is known when the peer's certificates come: the server's come before the first Finished, the client's
    /// after it.
    type Secrets: Send + Sync + 'static;

    /// The role.
    const ROLE: Role;

    /// Its certificates.
    fn credentials(&self) -> &[Credential];

    /// Judges the peer.
    fn verifier(&self) -> Result<&dyn PeerVerifier, Error>;

    /// What its policy is known by.
    fn verifier_digest(&self) -> Option<VerifierDigest>;

    /// The name that the peer must have.
    fn peer_name(&self) -> Option<String>;

    /// Under what the secrets of this handshake are logged.
    fn secret_log(&self) -> SecretLog<'_>;

    /// The peer is authenticated but for its Finished.
    fn read_finished(handover: Box<Handover<Self, Self::Secrets>>) -> Self::State;
}
