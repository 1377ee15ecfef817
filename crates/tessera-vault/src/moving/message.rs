//! What sites send each other about secrets that move.

use std::fmt;
use std::time::Duration;

use tessera::crypto::SecretBytes;
use tessera::resume::{FlightHandle, Incarnation};

/// One process's time with a vault. A secret that moves names the life that it goes to: a message that comes late finds another
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VaultLife {
    /// The vault, as in [`Incarnation::vault`].
    pub vault: [u8; 16],
    /// As in [`Incarnation::number`].
    pub number: u64,
    /// Random: two processes may have one incarnation, one after the other.
    pub nonce: [u8; 16],
}

impl VaultLife {
    /// Returns the incarnation that it is a part of.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        Incarnation { vault: self.vault, number: self.number }
    }
}

/// Where a secret went, and how often it has moved, with this move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The life that it went to.
    pub to: VaultLife,
    /// How often it has moved.
    pub moves: u8,
}

/// A secret on its way to another site. It is the only copy.
pub struct MovedSecret {
    /// The name of its flight.
    pub handle: FlightHandle,
    /// The secret, as [`OneTimeSecret::encode`](tessera::resume::OneTimeSecret::encode) encodes it.
    pub secret: SecretBytes,
    /// When it expires, since the Unix epoch.
    pub expires_at: Duration,
    /// Its client, of at most [`MAX_CLIENT`](Self::MAX_CLIENT) bytes.
    pub client: Vec<u8>,
    /// Where it goes.
    pub departure: Departure,
}

impl MovedSecret {
    /// The longest name of a client whose secrets move, in bytes.
    pub const MAX_CLIENT: usize = 4096;
}

/// Without the secret, and without the handle, by which a party can have it burned.
impl fmt::Debug for MovedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MovedSecret")
            .field("expires_at", &self.expires_at)
            .field("departure", &self.departure)
            .finish_non_exhaustive()
    }
}

/// The question what became of a secret that moved.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BurnMoved {
    /// The name of its flight.
    pub handle: FlightHandle,
    /// Where it went.
    pub departure: Departure,
}

/// Without the handle.
impl fmt::Debug for BurnMoved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BurnMoved").field("departure", &self.departure).finish_non_exhaustive()
    }
}

/// Why a vault doesn't take a secret that moved: the secret is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalRefused {
    /// It is for another life of the vault.
    OtherLife,
    /// It came before, was refused to a flight, or has expired; or the other site's clock is far ahead.
    Late,
    /// There is no room, or it can't be read.
    NoRoom,
}

impl fmt::Display for ArrivalRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherLife => "the secret is for another life of this vault",
            Self::Late => "the secret came before, its flight was refused, or it has expired: compare the sites' clocks",
            Self::NoRoom => "the vault has no room for the secret, or can't read it",
        })
    }
}

impl std::error::Error for ArrivalRefused {}
