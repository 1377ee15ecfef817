//! Reading of messages.

use std::time::Duration;

use tessera::resume::{FlightHandle, Incarnation};
use tessera_vault::{Acknowledgement, BurnAtHome, BurnMoved, Departure, MovedSecret, VaultLife};

use super::*;

impl Request {
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
            Some(&BURN_MOVED) => take::<BURN_MOVED_LEN>(bytes).map(|mut frame| {
                let frame = &mut frame;
                let (id, departure) = (number(frame), departure(frame));
                let handle = FlightHandle(array(frame));
                Self::BurnMoved { id, question: BurnMoved { handle, departure } }
            }),
            Some(&LIFE) => take::<PING_LEN>(bytes).map(|mut frame| {
                let frame = &mut frame;
                Self::Life { id: number(frame) }
            }),
            Some(&CARRY) => return Self::read_carry(bytes),
            Some(_) => return Err(Malformed),
        })
    }

    fn read_carry(bytes: &mut &[u8]) -> Result<Option<Self>, Malformed> {
        let Some((mut head, rest)) = bytes.split_at_checked(CARRY_HEAD_LEN) else {
            return Ok(None);
        };
        let frame = &mut head;
        let [_kind] = array(frame);
        let (id, departure) = (number(frame), departure(frame));
        let handle = FlightHandle(array(frame));
        let expires_at = Duration::from_millis(number(frame));
        let (client, secret) = (length(frame), length(frame));
        // Before waiting for them.
        if client > MAX_CLIENT || secret > MAX_SECRET {
            return Err(Malformed);
        }
        let Some((client, rest)) = rest.split_at_checked(client) else { return Ok(None) };
        let Some((secret, rest)) = rest.split_at_checked(secret) else { return Ok(None) };
        let (client, secret) = (client.to_vec(), secret.into());
        *bytes = rest;
        let secret = MovedSecret { handle, secret, expires_at, client, departure };
        Ok(Some(Self::Carry { id, secret }))
    }
}

impl Answer {
    /// Reads an answer and advances `bytes`; `None` while it is incomplete.
    pub(crate) fn read(bytes: &mut &[u8]) -> Result<Option<Self>, Malformed> {
        match bytes.first() {
            None => Ok(None),
            Some(&BURN) => take::<ACKNOWLEDGED_LEN>(bytes).map(acknowledged).transpose(),
            Some(&PING) => Ok(take::<PING_LEN>(bytes).map(|mut frame| {
                let frame = &mut frame;
                Self::Pong { id: number(frame) }
            })),
            Some(&BURN_MOVED) => Ok(take::<MOVED_LEN>(bytes).map(|mut frame| {
                let frame = &mut frame;
                let id = number(frame);
                let acknowledgement = Acknowledgement::Moved(departure(frame));
                Self::Acknowledged { id, acknowledgement }
            })),
            Some(&LIFE) => take::<LIFE_ANSWER_LEN>(bytes).map(life_answer).transpose(),
            Some(&CARRY) => take::<CARRIED_LEN>(bytes)
                .map(|mut frame| {
                    let frame = &mut frame;
                    Ok(Self::Carried { id: number(frame), has_arrived: flag(frame)? })
                })
                .transpose(),
            Some(_) => Err(Malformed),
        }
    }
}

fn acknowledged(mut frame: &[u8]) -> Result<Answer, Malformed> {
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
    Ok(Answer::Acknowledged { id, acknowledgement })
}

fn life_answer(mut frame: &[u8]) -> Result<Answer, Malformed> {
    let frame = &mut frame;
    let (id, is_there) = (number(frame), flag(frame)?);
    let is_zero = frame.iter().all(|byte| *byte == 0);
    match is_there {
        true => Ok(Answer::Life { id, life: Some(life(frame)) }),
        false if is_zero => Ok(Answer::Life { id, life: None }),
        false => Err(Malformed),
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

fn length(frame: &mut &[u8]) -> usize {
    u16::from_be_bytes(array(frame)).into()
}

fn flag(frame: &mut &[u8]) -> Result<bool, Malformed> {
    match array(frame) {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(Malformed),
    }
}

fn departure(frame: &mut &[u8]) -> Departure {
    let to = life(frame);
    let [moves] = array(frame);
    Departure { to, moves }
}

fn life(frame: &mut &[u8]) -> VaultLife {
    VaultLife { vault: array(frame), number: number(frame), nonce: array(frame) }
}
