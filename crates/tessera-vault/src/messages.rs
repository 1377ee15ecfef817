//! What sites send each other about their secrets.

use std::fmt;
use std::time::Duration;

use tessera::crypto::SecretBytes;
use tessera::resume::{Absence, FlightHandle, Incarnation, TakeAnswer, TakePurpose, TakeSecret};

/// The request to burn a secret at the site that has it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BurnAtHome {
    /// The name of the flight that the secret is for.
    pub handle: FlightHandle,
    /// The vault that has it, and in which life.
    pub home: Incarnation,
}

/// A party that knows the handle can have the key burned, so keep it out of logs.
impl fmt::Debug for BurnAtHome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BurnAtHome").field("home", &self.home).finish_non_exhaustive()
    }
}

/// The answer of a secret's home to a burn request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acknowledgement {
    /// The secret is gone, now or since earlier, and no flight was or will be accepted with it.
    Burned,
    /// It was taken to accept a flight.
    Used,
    /// It ended with an earlier life of the vault, at least this long before the answer.
    Lost {
        /// As in [`Absence::Lost`].
        ended_before: Duration,
    },
    /// It moved to another site, which must be asked ([`SiteChannel::burn_moved`](crate::SiteChannel::burn_moved)). This one doesn't accept its flight.
    Moved(Departure),
    /// The home vault doesn't know, or is not available itself.
    Unknown,
}

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

impl BurnAtHome {
    /// Makes a request as received from the channel.
    pub fn new(handle: FlightHandle, home: Incarnation) -> Self {
        Self { handle, home }
    }

    /// Returns the question for the home vault.
    pub fn question(&self, unix: Option<Duration>) -> TakeSecret {
        let mut question = TakeSecret::new(self.handle, TakePurpose::Burn, unix);
        question.incarnation = Some(self.home);
        question
    }
}

impl Acknowledgement {
    /// Converts the home vault's answer to a take with the purpose [`Burn`](TakePurpose::Burn).
    pub fn of(taken: &TakeAnswer) -> Self {
        match taken {
            TakeAnswer::Taken(_) | TakeAnswer::Absent(Absence::Burned) => Self::Burned,
            TakeAnswer::Absent(Absence::Used) => Self::Used,
            TakeAnswer::Absent(Absence::Lost { ended_before }) => {
                Self::Lost { ended_before: *ended_before }
            }
            // As are outcomes that a later version may add.
            _ => Self::Unknown,
        }
    }

    /// Converts to what the asking site reports to its own client.
    pub(crate) fn to_taken(self) -> TakeAnswer {
        TakeAnswer::Absent(match self {
            Self::Burned => Absence::Burned,
            Self::Used => Absence::Used,
            Self::Lost { ended_before } => Absence::Lost { ended_before },
            Self::Moved(_) | Self::Unknown => Absence::Unknown,
        })
    }
}
