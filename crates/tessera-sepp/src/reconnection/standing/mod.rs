//! Whether an earlier identity is still valid.

use std::sync::Arc;
use std::time::Duration;

use tessera::Facts;
use tessera_kit::clock::unix;

use super::Mode;
use super::identity_refusal::IdentityRefusal;
use crate::identity::{AssociationLookup, Direction, Identity, KnownPeers, Listener};

/// What is valid under a configuration, with the associations of now.
pub struct Standing {
    known: Arc<KnownPeers>,
    associations: Arc<dyn AssociationLookup>,
}

/// A connection, as seen by handlers of its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerConnection {
    /// The peer's identity. Its association is the one at the time of the handshake, and may have ended since.
    pub identity: Arc<Identity>,
    /// How the connection was established.
    pub mode: Mode,
}

impl PeerConnection {
    /// Returns whether its requests may be N32-c's: N32-c requires both certificates in each handshake, so a resumed
    /// connection of a shared listener only carries N32-f.
    #[must_use]
    pub fn carries_n32c(&self) -> bool {
        match self.identity.listener {
            Listener::N32c => true,
            Listener::Shared => self.mode == Mode::Full,
            Listener::N32f => false,
        }
    }

    /// Returns whether its requests may be N32-f's.
    #[must_use]
    pub fn carries_n32f(&self) -> bool {
        self.identity.listener != Listener::N32c
    }
}

/// The purpose for which a connection is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose {
    /// Which side opens it.
    pub direction: Direction,
    /// The listener that accepts it, or that it is dialled to.
    pub listener: Listener,
}

impl Standing {
    /// Judges by this configuration.
    pub fn new(known: Arc<KnownPeers>, associations: Arc<dyn AssociationLookup>) -> Self {
        Self { known, associations }
    }

    /// Returns the peers of this configuration.
    #[must_use]
    pub fn known(&self) -> &Arc<KnownPeers> {
        &self.known
    }

    /// Returns the associations.
    #[must_use]
    pub fn associations(&self) -> &Arc<dyn AssociationLookup> {
        &self.associations
    }

    /// Identifies the other end of a connection, resumed or not: at a server as soon as early data can be read, at a
    /// client when the handshake is complete. [`TlsStream::facts`](tessera_tokio::TlsStream::facts) has the facts.
    ///
    /// # Errors
    /// If the peer would not be accepted under this configuration, because another one accepted it. The caller must end
    /// the connection.
    pub fn identify(&self, facts: &Facts) -> Result<PeerConnection, IdentityRefusal> {
        let identity = facts.peer.as_ref().and_then(Identity::decode);
        let identity = identity.ok_or(IdentityRefusal::Unreadable)?;
        self.stands(&identity, unix())?;
        Ok(PeerConnection { identity: Arc::new(identity), mode: Mode::of(facts) })
    }

    /// Checks that the peer of an open connection would still be accepted: none of its settings have changed, and its
    /// certificate has not expired. `unix` is since the Unix epoch. The association isn't checked here, but for each
    /// request.
    ///
    /// # Errors
    /// Why it would not.
    pub fn stands(&self, identity: &Identity, unix: Duration) -> Result<(), IdentityRefusal> {
        let known = &self.known;
        let Some(epoch) = known.epoch_of(&identity.peer) else {
            return Err(IdentityRefusal::UnknownPeer);
        };
        let peer = known.get(&identity.peer);
        if peer.is_none_or(|peer| peer.anchor != identity.certificate.anchor) {
            return Err(IdentityRefusal::OtherAnchor);
        }
        if epoch != identity.epoch {
            return Err(IdentityRefusal::OtherEpoch);
        }
        if identity.certificate.expires_at <= unix.as_secs() {
            return Err(IdentityRefusal::Expired);
        }
        Ok(())
    }

    /// Checks that a connection with this identity may be resumed for this purpose: the purpose is the same, the peer
    /// [stands](Self::stands), its association is still established, and the certificate is within that of N32-c.
    ///
    /// # Errors
    /// Why it may not; it is then a full handshake.
    pub fn resumes(
        &self,
        identity: &Identity,
        purpose: Purpose,
        unix: Duration,
    ) -> Result<(), IdentityRefusal> {
        if identity.direction != purpose.direction {
            return Err(IdentityRefusal::OtherDirection);
        }
        // TS 29.573's N32-c requires certificates in each handshake.
        if identity.listener != purpose.listener || purpose.listener == Listener::N32c {
            return Err(IdentityRefusal::OtherListener);
        }
        self.stands(identity, unix)?;
        let Some((id, n32c)) = self.associations.established(&identity.peer) else {
            return Err(IdentityRefusal::NoAssociation);
        };
        if identity.association != Some(id) {
            return Err(IdentityRefusal::OtherAssociation);
        }
        if !identity.certificate.is_within(&n32c) {
            return Err(IdentityRefusal::BeyondN32c);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
