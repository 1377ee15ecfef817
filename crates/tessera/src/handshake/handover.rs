//! What one flight of a handshake hands over to the next, once both hellos are known.

use alloc::boxed::Box;
use alloc::string::String;

use super::config::{Checked, Config};
use super::lineage::Lineage;
use super::state::State;
use crate::auth::{ConnectionCodecs, Decapsulate, PeerAcceptance, Sign, VerifyPeer};
use crate::crypto::Suite;
use crate::limits::Limits;
use crate::linked::KemAuthentication;
use crate::question::OpenQuestion;
use crate::role::Role;
use crate::schedule::Transcript;

/// What lasts to the end of the handshake: `own` is specific to the role `P`; `K` are the secrets known so far.
pub struct Handover<P, K> {
    pub(super) own: P,
    pub(super) suite: &'static Suite,
    /// Identifies the secrets in the log.
    pub(super) client_random: [u8; 32],
    pub(super) transcript: Transcript,
    pub(super) secrets: K,
    pub(super) codecs: ConnectionCodecs,
    pub(super) lineage: Lineage,
    /// A peer with a KEM that the verifier accepted: it has its key if its Finished is right.
    pub(super) unproved: Option<KemAuthentication<Box<PeerAcceptance>>>,
}

impl<P: Part, K> Handover<P, K> {
    /// Returns what this side accepts.
    pub(super) fn limits(&self) -> &Limits {
        self.own.config().limits()
    }

    /// Continues with the next secrets. Inlined: it is large, and would be moved.
    #[inline(always)]
    pub(super) fn map<L>(self, next: impl FnOnce(K) -> L) -> Handover<P, L> {
        let Self { own, suite, client_random, transcript, secrets, codecs, lineage, unproved } =
            self;
        let secrets = next(secrets);
        Handover { own, suite, client_random, transcript, secrets, codecs, lineage, unproved }
    }
}

/// The part of a handshake that is specific to one role.
pub trait Part: Sized + Send + Sync + 'static {
    /// The questions that it may ask.
    type Question: From<OpenQuestion<Sign>>
        + From<OpenQuestion<Decapsulate>>
        + From<OpenQuestion<VerifyPeer>>
        + 'static;

    /// Its states; the one after the peer's certificates is made from the handover.
    type State: State<Question = Self::Question> + From<Box<Handover<Self, Self::Secrets>>>;

    /// The secrets known when the peer's certificates arrive: the server's arrive before the first Finished, the
    /// client's after it.
    type Secrets: Send + Sync + 'static;

    /// Its configuration.
    type Config: Config;

    /// The role.
    const ROLE: Role;

    /// Returns the configuration of this connection.
    fn config(&self) -> &Checked<Self::Config>;

    /// Returns the name that the peer must have.
    fn peer_name(&self) -> Option<String> {
        None
    }
}
