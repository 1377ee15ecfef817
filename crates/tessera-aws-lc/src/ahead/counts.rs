//! Kinds of key pairs that are made ahead, and how many of each.

/// A kind of key pairs that can be made ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyKind {
    /// Ephemeral keys of X25519.
    X25519,
    /// Ephemeral keys of ML-KEM-768.
    MlKem768,
    /// One-time keys of X25519.
    OneTimeX25519,
    /// One-time keys of X25519MLKEM768.
    OneTimeX25519MlKem768,
}

impl KeyKind {
    /// All of them.
    pub const ALL: &'static [Self] =
        &[Self::X25519, Self::OneTimeX25519, Self::MlKem768, Self::OneTimeX25519MlKem768];
}

/// How many key pairs of a kind are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyCounts {
    /// Of X25519, 250 bytes each: each handshake with a key exchange takes one.
    pub x25519: usize,
    /// Of ML-KEM-768, 4 kB each: only clients take them.
    pub ml_kem_768: usize,
    /// One-time keys of X25519, 150 bytes each, for tickets of a vault.
    pub one_time_x25519: usize,
    /// One-time keys of X25519MLKEM768, 3.7 kB each, expanded, for tickets of a vault.
    pub one_time_x25519_ml_kem_768: usize,
}

impl KeyCounts {
    /// None: [`fill`](super::KeysAhead::fill) wipes all that there are.
    pub const NONE: Self =
        Self { x25519: 0, ml_kem_768: 0, one_time_x25519: 0, one_time_x25519_ml_kem_768: 0 };

    /// Returns what a burst of this many handshakes takes of a server that issues forward-secret tickets.
    #[must_use]
    pub const fn of_server(burst: usize) -> Self {
        Self {
            x25519: burst,
            ml_kem_768: 0,
            one_time_x25519: burst,
            one_time_x25519_ml_kem_768: burst,
        }
    }

    /// Returns what a burst of this many handshakes takes of a client.
    #[must_use]
    pub const fn of_client(burst: usize) -> Self {
        Self { x25519: burst, ml_kem_768: burst, one_time_x25519: 0, one_time_x25519_ml_kem_768: 0 }
    }

    /// Returns what a function returns for each kind.
    pub(super) fn from_fn(of: impl Fn(KeyKind) -> usize) -> Self {
        Self {
            x25519: of(KeyKind::X25519),
            ml_kem_768: of(KeyKind::MlKem768),
            one_time_x25519: of(KeyKind::OneTimeX25519),
            one_time_x25519_ml_kem_768: of(KeyKind::OneTimeX25519MlKem768),
        }
    }

    /// Returns the count of a kind.
    #[must_use]
    pub const fn of(&self, kind: KeyKind) -> usize {
        match kind {
            KeyKind::X25519 => self.x25519,
            KeyKind::MlKem768 => self.ml_kem_768,
            KeyKind::OneTimeX25519 => self.one_time_x25519,
            KeyKind::OneTimeX25519MlKem768 => self.one_time_x25519_ml_kem_768,
        }
    }
}
