//! The kinds of PSK, and their properties.

use alloc::boxed::Box;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::policy::Continuation;
use super::session::SessionState;
use crate::auth::{VerifierDigest, VerifierPolicy};
use crate::crypto::{Provider, equal};
use crate::schedule::Label;
use crate::wire::{CipherSuite, PskModes};

/// The origin of a PSK. Every decision about PSKs depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PskKind {
    /// From a ticket of an earlier connection.
    Resumption,
    /// Agreed outside of TLS.
    External,
    /// External, imported for TLS 1.3 (RFC 9258).
    Imported,
    /// From a forward-secret ticket: it includes a key agreed on for this flight alone.
    ForwardSecret,
    /// From the server's static key of a KEM, which the client knows ([`KnownServerKey`](super::KnownServerKey)): the server
    /// is authenticated, the client is not.
    KnownKey,
}

impl PskKind {
    /// Returns the label of the binder key (RFC 8446 §7.1, RFC 9258 §5.2). To a stock TLS stack, forward-secret
    /// PSKs are external.
    pub(crate) fn binder_label(self) -> Label {
        match self {
            Self::Resumption => Label::RESUMPTION_BINDER,
            Self::External | Self::ForwardSecret | Self::KnownKey => Label::EXTERNAL_BINDER,
            Self::Imported => Label::IMPORTED_BINDER,
        }
    }

    /// Returns whether both ends agreed on it outside of TLS: its identity then identifies the peer.
    pub(crate) fn is_agreed_outside(self) -> bool {
        matches!(self, Self::External | Self::Imported)
    }

    /// Returns whether a client may offer nothing else where it wants no key exchange.
    pub(crate) fn may_go_alone(self) -> bool {
        !matches!(self, Self::ForwardSecret | Self::KnownKey)
    }

    /// Returns whether it continues a session of an earlier connection.
    pub fn resumes(self) -> bool {
        matches!(self, Self::Resumption | Self::ForwardSecret)
    }

    /// Returns the key exchange modes in which a PSK of this kind may be used; both ends enforce them.
    pub(crate) fn modes(self, psk_only: bool, continuation: Option<Continuation>) -> PskModes {
        let psk_ke = match self {
            Self::Resumption | Self::External | Self::Imported => psk_only,
            Self::ForwardSecret => continuation == Some(Continuation::PskKe),
            // Without a key exchange the static key would open recordings.
            Self::KnownKey => false,
        };
        PskModes { psk_ke, psk_dhe_ke: true }
    }
}

/// A PSK agreed on outside of TLS, used as it is or [imported](super::ImportablePsk).
#[derive(Clone)]
pub struct ExternalPsk {
    /// Its name on the wire: 1 to 65,535 bytes.
    pub identity: Vec<u8>,
    /// The key: at least 16 bytes of entropy (RFC 9257 §6).
    pub secret: Zeroizing<Vec<u8>>,
    /// A suite with the PSK's hash; RFC 8446 §4.2.11 takes SHA-256 if none is specified.
    pub suite: CipherSuite,
    kind: PskKind,
}

impl ExternalPsk {
    /// Creates a PSK to use as it is.
    pub fn new(identity: Vec<u8>, secret: Zeroizing<Vec<u8>>, suite: CipherSuite) -> Self {
        Self { identity, secret, suite, kind: PskKind::External }
    }

    pub(crate) fn imported(
        identity: Vec<u8>,
        secret: Zeroizing<Vec<u8>>,
        suite: CipherSuite,
    ) -> Self {
        Self { identity, secret, suite, kind: PskKind::Imported }
    }

    pub(crate) fn of_known_key(
        identity: Vec<u8>,
        secret: Zeroizing<Vec<u8>>,
        suite: CipherSuite,
    ) -> Self {
        Self { identity, secret, suite, kind: PskKind::KnownKey }
    }

    /// Returns the PSK's digest: a session that began with another secret under the same name doesn't match
    /// it.
    pub(crate) fn digest(&self, provider: &Provider) -> VerifierDigest {
        let policy = VerifierPolicy::new(match self.kind {
            PskKind::Imported => "tessera: imported PSK, 1",
            _ => "tessera: external PSK, 1",
        });
        VerifierDigest::keyed(&self.secret, &policy.with(&self.identity), provider)
    }

    /// Returns whether a session began with it.
    pub(crate) fn began(&self, session: &SessionState, provider: &Provider) -> bool {
        session.external_psk.as_ref() == Some(&self.identity)
            && session.accepted_by == Some(self.digest(provider))
    }

    /// Returns whether both have the same name and key, and are used alike.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let same_use = self.kind == other.kind && self.suite == other.suite;
        same_use && self.identity == other.identity && equal(&self.secret, &other.secret)
    }

    /// Returns whether it is used as it is, or imported.
    pub fn kind(&self) -> PskKind {
        self.kind
    }
}

impl core::fmt::Debug for ExternalPsk {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ExternalPsk").field("suite", &self.suite).finish_non_exhaustive()
    }
}

/// What a server knows about an identity that a client offered.
#[derive(Debug)]
pub(crate) enum KnownPsk {
    /// A ticket, opened.
    Session(Box<SessionState>),
    /// An external PSK.
    External(ExternalPsk),
    /// An opened ticket that vouches for the forward-secret identity around it. Only the vault has the
    /// PSK itself.
    Vouching(Box<SessionState>),
}

impl KnownPsk {
    pub(crate) fn kind(&self) -> PskKind {
        match self {
            Self::Session(_) => PskKind::Resumption,
            Self::External(psk) => psk.kind,
            Self::Vouching(_) => PskKind::ForwardSecret,
        }
    }

    /// Returns the PSK, if known before anything is taken.
    pub(crate) fn secret(&self) -> Option<&[u8]> {
        match self {
            Self::Session(session) => Some(session.psk.expose()),
            Self::External(psk) => Some(&psk.secret),
            Self::Vouching(_) => None,
        }
    }

    pub(crate) fn suite(&self) -> CipherSuite {
        match self {
            Self::Session(session) | Self::Vouching(session) => session.suite,
            Self::External(psk) => psk.suite,
        }
    }

    pub(crate) fn session(&self) -> Option<&SessionState> {
        match self {
            Self::Session(session) | Self::Vouching(session) => Some(session),
            Self::External(_) => None,
        }
    }
}
