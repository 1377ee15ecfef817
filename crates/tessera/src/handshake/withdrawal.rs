//! What a new configuration withdraws from connections and sessions of an earlier one.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use core::{fmt, iter};

use zeroize::Zeroizing;

use super::client::ClientConfig;
use super::config::Checked;
use super::facts::Facts;
use super::server::{ConfigChooser, ServerConfig};
use crate::auth::VerifierDigest;
use crate::resume::{
    ClientSession, ExternalPsk, KnownServerKey, PskKind, SessionAuthentication, SessionStore, tlv,
};
use crate::wire::Writer;

/// What a connection rests on under its configuration: the verifiers that accept its peer, its
/// external PSK, and the policy epoch. It doesn't keep the configuration alive.
pub struct Foundation {
    policy_epoch: u64,
    /// The accepted verifiers, if one of them accepted the peer.
    verifiers: Vec<VerifierDigest>,
    /// The identity of the external PSK used, now or at the beginning of the chain, and its digest.
    external_psk: Option<(Vec<u8>, Option<VerifierDigest>)>,
    /// The chooser; it doesn't reveal from which of its configurations a value comes.
    chooser: Option<Weak<dyn ConfigChooser>>,
}

/// A PSK's digest is not shown: it suffices to test guesses of the PSK.
impl fmt::Debug for Foundation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epoch = &self.policy_epoch;
        f.debug_struct("Foundation").field("policy_epoch", epoch).finish_non_exhaustive()
    }
}

impl Foundation {
    /// Encodes it for another process; `None` with a chooser, which ends with this one. The result is as secret as the
    /// external PSK.
    #[must_use]
    pub fn encode(&self) -> Option<Zeroizing<Vec<u8>>> {
        if self.chooser.is_some() {
            return None;
        }
        let mut out = Zeroizing::new(Vec::new());
        tlv::put(&mut out, tag::POLICY_EPOCH, &self.policy_epoch.to_be_bytes());
        tlv::put_with(&mut out, tag::VERIFIERS, |out| {
            self.verifiers.iter().for_each(|VerifierDigest(digest)| out.bytes(digest));
        });
        if let Some((identity, digest)) = &self.external_psk {
            tlv::put(&mut out, tag::EXTERNAL_PSK, identity);
            if let Some(VerifierDigest(digest)) = digest {
                tlv::put(&mut out, tag::EXTERNAL_PSK_DIGEST, digest);
            }
        }
        Some(out)
    }

    /// Decodes the output of [`encode`](Self::encode).
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut it =
            Self { policy_epoch: 0, verifiers: Vec::new(), external_psk: None, chooser: None };
        tlv::read(bytes, |tag, value| {
            match tag {
                tag::POLICY_EPOCH => it.policy_epoch = u64::from_be_bytes(tlv::array(value)?),
                tag::VERIFIERS => {
                    let (digests, []) = value.as_chunks() else { return None };
                    it.verifiers = digests.iter().copied().map(VerifierDigest).collect();
                }
                tag::EXTERNAL_PSK => it.external_psk = Some((value.to_vec(), None)),
                tag::EXTERNAL_PSK_DIGEST => {
                    it.external_psk.as_mut()?.1 = Some(VerifierDigest(tlv::array(value)?));
                }
                _ => return None,
            }
            Some(())
        })?;
        Some(it)
    }
}

mod tag {
    pub(super) const POLICY_EPOCH: u8 = 1;
    pub(super) const VERIFIERS: u8 = 2;
    pub(super) const EXTERNAL_PSK: u8 = 3;
    pub(super) const EXTERNAL_PSK_DIGEST: u8 = 4;
}

impl<C> Checked<C> {
    /// Returns whether the sessions of an earlier configuration are valid here, as far as verifiers and
    /// `policy_epoch` decide.
    ///
    /// `false` means that a peer may have been withdrawn: a trust anchor or a pinned key is gone, a
    /// revocation list revokes more, or the epoch was raised.
    #[must_use]
    pub fn keeps_sessions_of(&self, earlier: &Self) -> bool {
        self.authentication().covers(earlier.authentication())
    }

    /// Returns the foundation without a server's parts; `None` if the connection authenticated no peer.
    fn common_foundation(&self, policy_epoch: u64, facts: &Facts) -> Option<Foundation> {
        let is_resumed = facts.psk.is_some_and(PskKind::resumes);
        let verifiers = match facts.peer {
            Some(_) => self.authentication().those_that_count().collect(),
            None => Vec::new(),
        };
        let rests = is_resumed || facts.peer.is_some();
        let (external_psk, chooser) = (None, None);
        rests.then_some(Foundation { policy_epoch, verifiers, external_psk, chooser })
    }

    fn upholds_in_common(&self, policy_epoch: u64, foundation: &Foundation) -> bool {
        let mut needed = foundation.verifiers.iter();
        policy_epoch == foundation.policy_epoch && needed.all(|by| self.authentication().counts(by))
    }
}

impl Checked<ServerConfig> {
    /// Returns what a connection that began under this configuration rests on: the client that a verifier accepted,
    /// now or before the chain of resumptions; the external PSK; and the epoch. `None` if it authenticated
    /// no peer, and so rests on nothing.
    #[must_use]
    pub fn foundation(&self, facts: &Facts) -> Option<Foundation> {
        let foundation = self.common_foundation(self.policy_epoch, facts);
        let Some(identity) = &facts.external_psk else {
            let chooser = self.chooser.as_ref().map(Arc::downgrade);
            return foundation.map(|foundation| Foundation { chooser, ..foundation });
        };
        let psk = self.external_psks.iter().find(|psk| &psk.identity == identity);
        let digest = psk.map(|psk| psk.digest(&self.provider));
        Some(Foundation {
            policy_epoch: self.policy_epoch,
            verifiers: foundation.map(|foundation| foundation.verifiers).unwrap_or_default(),
            external_psk: Some((identity.clone(), digest)),
            chooser: self.chooser.as_ref().map(Arc::downgrade),
        })
    }

    /// Returns whether what a connection rests on is valid here too. With a [`chooser`](ServerConfig::chooser) it
    /// is unknown which verifier accepted a client: every authenticated client then counts, if the chooser and the
    /// epoch are the same.
    #[must_use]
    pub fn upholds(&self, foundation: &Foundation) -> bool {
        match (&self.chooser, &foundation.chooser) {
            (None, None) => (),
            (Some(chooser), Some(earlier)) => {
                let same = Weak::ptr_eq(&Arc::downgrade(chooser), earlier);
                return same && self.policy_epoch == foundation.policy_epoch;
            }
            _ => return false,
        }
        let is_known = |(identity, digest): &(Vec<u8>, Option<VerifierDigest>)| {
            let own = self.external_psks.iter().find(|psk| &psk.identity == identity);
            own.is_some_and(|psk| Some(psk.digest(&self.provider)) == *digest)
        };
        self.upholds_in_common(self.policy_epoch, foundation)
            && foundation.external_psk.as_ref().is_none_or(is_known)
    }

    /// Returns whether every external PSK of an earlier configuration is here, with the same secret.
    #[must_use]
    pub fn keeps_psks_of(&self, earlier: &Self) -> bool {
        let own: BTreeMap<_, _> =
            self.external_psks.iter().map(|psk| (&psk.identity, psk)).collect();
        let is_here =
            |psk: &ExternalPsk| own.get(&psk.identity).is_some_and(|own| own.is_same(psk));
        earlier.external_psks.iter().all(is_here)
    }
}

impl Checked<ClientConfig> {
    /// Returns what a connection that began under this configuration rests on: the server that the verifier
    /// accepted, now or before the chain of resumptions, and the epoch. External PSKs belong to
    /// destinations, and are not included. `None` if it rests on nothing in the configuration.
    #[must_use]
    pub fn foundation(&self, facts: &Facts) -> Option<Foundation> {
        self.common_foundation(self.policy_epoch, facts)
    }

    /// Returns whether what a connection rests on is valid here too.
    #[must_use]
    pub fn upholds(&self, foundation: &Foundation) -> bool {
        self.upholds_in_common(self.policy_epoch, foundation)
    }

    /// Returns whether a session's server was accepted as it would be here: by a verifier of the same policy, in
    /// the same epoch. Others are never offered. A session that began with an external PSK is valid in its
    /// epoch; whether the PSK still is depends on its destination.
    #[must_use]
    pub fn accepts_session(&self, session: &ClientSession) -> bool {
        self.authentication().weigh(&session.state) != SessionAuthentication::Elsewhere
    }

    /// Takes the newest session that may be offered out of a store, one that began with the known key
    /// ([`Destination::known_server_key`](super::Destination::known_server_key)) included. Those that began under
    /// withdrawn trust are dropped.
    #[must_use]
    pub fn take_session(
        &self,
        store: &dyn SessionStore,
        server_name: &str,
        known_key: Option<&KnownServerKey>,
    ) -> Option<Box<ClientSession>> {
        let pop = || store.pop(server_name).map(Box::new);
        iter::from_fn(pop).take(MAX_POPPED).find(|session| {
            self.accepts_session(session) || self.knows_key_behind(&session.state, known_key)
        })
    }
}

/// How many sessions are examined, so that a store that never runs out can't block a connection.
const MAX_POPPED: usize = 1024;
