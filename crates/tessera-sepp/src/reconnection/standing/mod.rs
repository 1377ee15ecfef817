//! Whether an identity of earlier counts still.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tessera::Facts;
use tessera_kit::clock::unix;
use tokio::sync::watch;

use super::Mode;
use super::no_longer::NoLonger;
use crate::identity::{AssociationsOf, Direction, Identity, KnownPeers, Listener};

/// What counts now: the configuration that was loaded last, and the associations.
pub struct Standing {
    known: RwLock<Arc<KnownPeers>>,
    associations: Arc<dyn AssociationsOf>,
    changes: watch::Sender<u64>,
}

/// A connection, as handlers of its requests see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// Who the peer is. The association in it is that of the handshake, and not always one that is established now.
    pub identity: Arc<Identity>,
    /// How the connection came about.
    pub mode: Mode,
}

impl Connected {
    /// Whether its requests may be N32-c's: N32-c has both certificates in each handshake, so that a resumed connection
    /// of a shared listener carries N32-f alone.
    #[must_use]
    pub fn carries_n32c(&self) -> bool {
        match self.identity.listener {
            Listener::N32c => true,
            Listener::Shared => self.mode == Mode::Full,
            Listener::N32f => false,
        }
    }

    /// Whether its requests may be N32-f's.
    #[must_use]
    pub fn carries_n32f(&self) -> bool {
        self.identity.listener != Listener::N32c
    }
}

/// For what a connection is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose {
    /// Who begins it.
    pub direction: Direction,
    /// Where it is accepted, or to what it is dialled.
    pub listener: Listener,
}

impl Standing {
    /// Counts by this configuration.
    pub fn new(known: Arc<KnownPeers>, associations: Arc<dyn AssociationsOf>) -> Self {
        let changes = watch::Sender::new(0);
        Self { known: RwLock::new(known), associations, changes }
    }

    /// The configuration that counts now.
    #[must_use]
    pub fn known(&self) -> Arc<KnownPeers> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The associations.
    #[must_use]
    pub fn associations(&self) -> &Arc<dyn AssociationsOf> {
        &self.associations
    }

    /// From now on another configuration counts.
    pub fn replace(&self, known: Arc<KnownPeers>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
        self.changes.send_modify(|count| *count += 1);
    }

    /// Counts the configurations: whoever holds connections looks at each again ([`stands`](Self::stands)).
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Who is at the other end of a connection, resumed or not: of a server's as soon as early data can be read, of a
    /// client's when the handshake is complete. [`TlsStream::facts`](tessera_tokio::TlsStream::facts) has the facts.
    ///
    /// # Errors
    /// If the peer would not be accepted now: the configuration was replaced meanwhile. The connection ends then.
    pub fn identify(&self, facts: &Facts) -> Result<Connected, NoLonger> {
        let identity = facts.peer.as_ref().and_then(Identity::decode);
        let identity = identity.ok_or(NoLonger::Unreadable)?;
        self.stands(&identity, unix())?;
        Ok(Connected { identity: Arc::new(identity), mode: Mode::of(facts) })
    }

    /// Whether the peer of a connection that goes on would be accepted now: nothing that the configuration says of it
    /// has changed, and its certificate has not ended. `unix` is since the Unix epoch. Whether there is an association
    /// is asked of each request, and not here.
    ///
    /// # Errors
    /// Why it would not.
    pub fn stands(&self, identity: &Identity, unix: Duration) -> Result<(), NoLonger> {
        let known = self.known();
        let Some(epoch) = known.epoch_of(&identity.peer) else {
            return Err(NoLonger::UnknownPeer);
        };
        let peer = known.get(&identity.peer);
        if peer.is_none_or(|peer| peer.anchor != identity.certificate.anchor) {
            return Err(NoLonger::OtherAnchor);
        }
        if epoch != identity.epoch {
            return Err(NoLonger::OtherEpoch);
        }
        if identity.certificate.expires_at <= unix.as_secs() {
            return Err(NoLonger::Expired);
        }
        Ok(())
    }

    /// Whether a connection of this identity may be resumed for this purpose: the same one, the peer
    /// [stands](Self::stands), the association of then is established still, and the certificate is within that of
    /// N32-c.
    ///
    /// # Errors
    /// Why it may not; it is a full handshake then.
    pub fn resumes(
        &self,
        identity: &Identity,
        purpose: Purpose,
        unix: Duration,
    ) -> Result<(), NoLonger> {
        if identity.direction != purpose.direction {
            return Err(NoLonger::OtherDirection);
        }
        // TS 29.573's N32-c has certificates in each handshake.
        if identity.listener != purpose.listener || purpose.listener == Listener::N32c {
            return Err(NoLonger::OtherListener);
        }
        self.stands(identity, unix)?;
        let Some((id, n32c)) = self.associations.established(&identity.peer) else {
            return Err(NoLonger::NoAssociation);
        };
        if identity.association != Some(id) {
            return Err(NoLonger::OtherAssociation);
        }
        if !identity.certificate.is_within(&n32c) {
            return Err(NoLonger::BeyondN32c);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
