//! The messages of the channel: requests and their answers (docs/sites.md).

mod read;

use std::time::Duration;

use tessera::resume::FlightHandle;
use tessera_vault::{Acknowledgement, BurnAtHome, BurnMoved, Departure, MovedSecret, VaultLife};

/// A request to another site.
pub(crate) enum Request {
    /// Burn a secret.
    Burn { id: u64, burn: BurnAtHome },
    /// Ask for a sign of life.
    Ping { id: u64 },
    /// Burn a secret that moved there.
    BurnMoved { id: u64, question: BurnMoved },
    /// Ask for the life to which secrets may be sent.
    Life { id: u64 },
    /// Take a secret.
    Carry { id: u64, secret: MovedSecret },
}

/// An answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// To both requests to burn.
    Acknowledged {
        id: u64,
        acknowledgement: Acknowledgement,
    },
    Pong {
        id: u64,
    },
    Life {
        id: u64,
        life: Option<VaultLife>,
    },
    Carried {
        id: u64,
        has_arrived: bool,
    },
}

/// The bytes are not of this protocol. Nothing after them can be read, so the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The kinds, in the first byte; those of answers are the same.
const BURN: u8 = 1;
const PING: u8 = 2;
const BURN_MOVED: u8 = 3;
const LIFE: u8 = 4;
const CARRY: u8 = 5;

/// Kind, id.
const PING_LEN: usize = 1 + 8;
/// Vault, number of the incarnation, nonce.
const LIFE_LEN: usize = 16 + 8 + 16;
/// A life, and the number of moves.
const DEPARTURE_LEN: usize = LIFE_LEN + 1;
/// Kind, id, vault, number of the incarnation, handle.
const BURN_LEN: usize = PING_LEN + 16 + 8 + FlightHandle::LEN;
const BURN_MOVED_LEN: usize = PING_LEN + DEPARTURE_LEN + FlightHandle::LEN;
/// Kind, id, departure, handle, expiry, the lengths of client and secret.
const CARRY_HEAD_LEN: usize = PING_LEN + DEPARTURE_LEN + FlightHandle::LEN + 8 + 2 + 2;
/// Kind, id, the fate of the secret, milliseconds.
const ACKNOWLEDGED_LEN: usize = PING_LEN + 1 + 8;
/// Kind, id, the departure.
const MOVED_LEN: usize = PING_LEN + DEPARTURE_LEN;
/// Kind, id, whether there is one, the life.
const LIFE_ANSWER_LEN: usize = PING_LEN + 1 + LIFE_LEN;
/// Kind, id, whether it arrived.
const CARRIED_LEN: usize = PING_LEN + 1;

/// The longest name of a client, and the longest secret: an expanded post-quantum key has 2.5 kB.
const MAX_CLIENT: usize = MovedSecret::MAX_CLIENT;
const MAX_SECRET: usize = 4096;

/// The fates of a secret.
const BURNED: u8 = 0;
const USED: u8 = 1;
const LOST: u8 = 2;
const UNKNOWN: u8 = 3;

impl Request {
    pub(crate) const MAX_LEN: usize = CARRY_HEAD_LEN + MAX_CLIENT + MAX_SECRET;

    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Burn { id, .. }
            | Self::Ping { id }
            | Self::BurnMoved { id, .. }
            | Self::Life { id }
            | Self::Carry { id, .. } => *id,
        }
    }

    /// Whether it fits into a frame.
    pub(crate) fn is_sendable(&self) -> bool {
        match self {
            Self::Carry { secret, .. } => {
                secret.client.len() <= MAX_CLIENT && secret.secret.len() <= MAX_SECRET
            }
            _ => true,
        }
    }

    /// Whether this is an answer to such a request.
    pub(crate) fn fits(&self, answer: &Answer) -> bool {
        matches!(
            (self, answer),
            (Self::Burn { .. } | Self::BurnMoved { .. }, Answer::Acknowledged { .. })
                | (Self::Ping { .. }, Answer::Pong { .. })
                | (Self::Life { .. }, Answer::Life { .. })
                | (Self::Carry { .. }, Answer::Carried { .. })
        )
    }

    /// Appends the encoded request, which must be [sendable](Self::is_sendable).
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let kind = match self {
            Self::Burn { .. } => BURN,
            Self::Ping { .. } => PING,
            Self::BurnMoved { .. } => BURN_MOVED,
            Self::Life { .. } => LIFE,
            Self::Carry { .. } => CARRY,
        };
        to.push(kind);
        to.extend_from_slice(&self.id().to_be_bytes());
        match self {
            Self::Burn { burn, .. } => {
                to.extend_from_slice(&burn.home.vault);
                to.extend_from_slice(&burn.home.number.to_be_bytes());
                to.extend_from_slice(&burn.handle.0);
            }
            Self::BurnMoved { question, .. } => {
                write_departure(&question.departure, to);
                to.extend_from_slice(&question.handle.0);
            }
            Self::Carry {
                secret: MovedSecret { handle, secret, expires_at, client, departure },
                ..
            } => {
                write_departure(departure, to);
                to.extend_from_slice(&handle.0);
                to.extend_from_slice(&millis(*expires_at).to_be_bytes());
                to.extend_from_slice(&(client.len() as u16).to_be_bytes());
                to.extend_from_slice(&(secret.len() as u16).to_be_bytes());
                to.extend_from_slice(client);
                to.extend_from_slice(secret);
            }
            Self::Ping { .. } | Self::Life { .. } => {}
        }
    }
}

impl Answer {
    pub(crate) const MAX_LEN: usize = LIFE_ANSWER_LEN;

    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Acknowledged { id, .. }
            | Self::Pong { id }
            | Self::Life { id, .. }
            | Self::Carried { id, .. } => *id,
        }
    }

    /// Appends the encoded answer.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let kind = match self {
            Self::Acknowledged { acknowledgement: Acknowledgement::Moved(_), .. } => BURN_MOVED,
            Self::Acknowledged { .. } => BURN,
            Self::Pong { .. } => PING,
            Self::Life { .. } => LIFE,
            Self::Carried { .. } => CARRY,
        };
        to.push(kind);
        to.extend_from_slice(&self.id().to_be_bytes());
        match self {
            Self::Acknowledged { acknowledgement, .. } => {
                let (outcome, ended_before) = match acknowledgement {
                    Acknowledgement::Moved(departure) => return write_departure(departure, to),
                    Acknowledgement::Burned => (BURNED, Duration::ZERO),
                    Acknowledgement::Used => (USED, Duration::ZERO),
                    Acknowledgement::Lost { ended_before } => (LOST, *ended_before),
                    // Also for what later versions may add.
                    _ => (UNKNOWN, Duration::ZERO),
                };
                to.push(outcome);
                // The meaning is "at least this long before": rounded down, and clamped.
                to.extend_from_slice(&millis(ended_before).to_be_bytes());
            }
            Self::Life { life, .. } => {
                to.push(life.is_some().into());
                let none = VaultLife { vault: [0; 16], number: 0, nonce: [0; 16] };
                write_life(life.as_ref().unwrap_or(&none), to);
            }
            Self::Carried { has_arrived, .. } => to.push((*has_arrived).into()),
            Self::Pong { .. } => {}
        }
    }
}

fn write_departure(departure: &Departure, to: &mut Vec<u8>) {
    write_life(&departure.to, to);
    to.push(departure.moves);
}

fn write_life(life: &VaultLife, to: &mut Vec<u8>) {
    to.extend_from_slice(&life.vault);
    to.extend_from_slice(&life.number.to_be_bytes());
    to.extend_from_slice(&life.nonce);
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
