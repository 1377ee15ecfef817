//! The messages of the channel: two requests and their answers, each of a fixed size (docs/sites.md).

use std::time::Duration;

use tessera::resume::{FlightHandle, Incarnation};
use tessera_vault::{Acknowledgement, BurnAtHome};

/// A request to another site.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Burn a secret.
    Burn { id: u64, burn: BurnAtHome },
    /// Ask for a sign of life.
    Ping { id: u64 },
}

/// An answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Acknowledged { id: u64, acknowledgement: Acknowledgement },
    Pong { id: u64 },
}

/// The bytes are not of this protocol. Nothing after them can be read, so the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// The kinds, in the first byte.
const BURN: u8 = 1;
const PING: u8 = 2;

/// Kind, id, vault, number of the incarnation, handle.
const BURN_LEN: usize = 1 + 8 + 16 + 8 + FlightHandle::LEN;
/// Kind, id, the fate of the secret, milliseconds.
const ACKNOWLEDGED_LEN: usize = 1 + 8 + 1 + 8;
/// Kind, id.
const PING_LEN: usize = 1 + 8;

/// The fates of a secret.
const BURNED: u8 = 0;
const USED: u8 = 1;
const LOST: u8 = 2;
const UNKNOWN: u8 = 3;

impl Request {
    pub(crate) const MAX_LEN: usize = BURN_LEN;

    /// Appends the encoded request.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Burn { id, burn } => {
                to.push(BURN);
                to.extend_from_slice(&id.to_be_bytes());
                to.extend_from_slice(&burn.home.vault);
                to.extend_from_slice(&burn.home.number.to_be_bytes());
                to.extend_from_slice(&burn.handle.0);
            }
            Self::Ping { id } => {
                to.push(PING);
                to.extend_from_slice(&id.to_be_bytes());
            }
        }
    }

    /// Reads a request and advances `bytes`; `None` while it is incomplete.
    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Option<Self>, Malformed> {
        Ok(match bytes.first() {
            None => None,
            Some(&BURN) => take::<BURN_LEN>(bytes).map(|mut frame| {
                let frame = &mut frame;
                let id = number(frame);
                let home = Incarnation { vault: array(frame), number: number(frame) };
                Self::Burn { id, burn: BurnAtHome::new(FlightHandle(array(frame)), home) }
            }),
            Some(&PING) => take::<PING_LEN>(bytes).map(|mut frame| {
                let frame = &mut frame;
                Self::Ping { id: number(frame) }
            }),
            Some(_) => return Err(Malformed),
        })
    }
}

impl Answer {
    pub(crate) const MAX_LEN: usize = ACKNOWLEDGED_LEN;

    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Acknowledged { id, .. } | Self::Pong { id } => *id,
        }
    }

    /// Appends the encoded answer.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        match self {
            Self::Acknowledged { id, acknowledgement } => {
                let (outcome, ended_before) = match acknowledgement {
                    Acknowledgement::Burned => (BURNED, Duration::ZERO),
                    Acknowledgement::Used => (USED, Duration::ZERO),
                    Acknowledgement::Lost { ended_before } => (LOST, *ended_before),
                    // Also for what later versions may add.
                    _ => (UNKNOWN, Duration::ZERO),
                };
                // The meaning is "at least this long before": rounded down, and clamped.
                let millis = u64::try_from(ended_before.as_millis()).unwrap_or(u64::MAX);
                to.push(BURN);
                to.extend_from_slice(&id.to_be_bytes());
                to.push(outcome);
                to.extend_from_slice(&millis.to_be_bytes());
            }
            Self::Pong { id } => {
                to.push(PING);
                to.extend_from_slice(&id.to_be_bytes());
            }
        }
    }

    /// Reads an answer and advances `bytes`; `None` while it is incomplete.
    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Option<Self>, Malformed> {
        match bytes.first() {
            None => Ok(None),
            Some(&BURN) => take::<ACKNOWLEDGED_LEN>(bytes)
                .map(|mut frame| {
                    let frame = &mut frame;
                    let id = number(frame);
                    let [outcome] = array(frame);
                    let ended_before = Duration::from_millis(number(frame));
                    let acknowledgement = match outcome {
                        LOST => Acknowledgement::Lost { ended_before },
                        // Each meaning has one encoding.
                        _ if !ended_before.is_zero() => return Err(Malformed),
                        BURNED => Acknowledgement::Burned,
                        USED => Acknowledgement::Used,
                        UNKNOWN => Acknowledgement::Unknown,
                        _ => return Err(Malformed),
                    };
                    Ok(Self::Acknowledged { id, acknowledgement })
                })
                .transpose(),
            Some(&PING) => Ok(take::<PING_LEN>(bytes).map(|mut frame| {
                let frame = &mut frame;
                Self::Pong { id: number(frame) }
            })),
            Some(_) => Err(Malformed),
        }
    }
}

/// Returns the frame of this length without its kind, if it is complete.
fn take<'a, const LEN: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (frame, rest) = bytes.split_first_chunk::<LEN>()?;
    *bytes = rest;
    frame.get(1..)
}

/// Takes the next bytes of a frame, which must have them.
fn array<const LEN: usize>(frame: &mut &[u8]) -> [u8; LEN] {
    let (array, rest) = frame.split_first_chunk::<LEN>().unwrap_or((&[0; LEN], &[]));
    *frame = rest;
    *array
}

fn number(frame: &mut &[u8]) -> u64 {
    u64::from_be_bytes(array(frame))
}

#[cfg(test)]
mod tests;
