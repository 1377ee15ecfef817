//! Receipts, by which a client learns the fate of a forward-secret flight in a later handshake.

use alloc::vec::Vec;
use core::time::Duration;

use super::forward_secret::{Absence, TakeAnswer};
use crate::question::{Question, Reply};
use crate::wire::FlightHandle;

/// The fate of a flight. Treat an unknown variant as [`Receipt::Unknown`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Receipt {
    /// The flight was not executed, and can't be accepted any more. Send it again. It doesn't cover
    /// other copies sent meanwhile.
    Burned,
    /// It was accepted, and its effect is not recorded: it may still be in progress. Send it again only
    /// to an application that ignores what it has already done under the same handle.
    TakenNotDone,
    /// It was executed. Never send it again.
    Done,
    /// Unknown. Treat it as [`Receipt::TakenNotDone`].
    Unknown,
}

impl Receipt {
    /// Returns the receipt for the vault's answer to a burn, and what the application has
    /// recorded. What is recorded as done is done, whatever the vault remembers: the application may
    /// have done it under this name in another way.
    pub fn of(taken: &TakeAnswer, is_done: bool) -> Self {
        match taken {
            _ if is_done => Self::Done,
            TakeAnswer::Taken(_) | TakeAnswer::Absent(Absence::Burned) => Self::Burned,
            TakeAnswer::Absent(Absence::Used) => Self::TakenNotDone,
            TakeAnswer::Absent(Absence::Unknown | Absence::Lost { .. })
            | TakeAnswer::Unavailable => Self::Unknown,
        }
    }

    pub(crate) fn to_wire(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Burned => 1,
            Self::TakenNotDone => 2,
            Self::Done => 3,
        }
    }

    /// Reads a receipt; an unknown one is [`Receipt::Unknown`].
    pub(crate) fn from_wire(byte: u8) -> Self {
        match byte {
            1 => Self::Burned,
            2 => Self::TakenNotDone,
            3 => Self::Done,
            _ => Self::Unknown,
        }
    }
}

/// The question about the fate of a flight. Answering burns the flight's key if it still
/// exists, so that the answer stays true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettleReceipt {
    /// The flight.
    pub handle: FlightHandle,
    /// The current time since the Unix epoch, if known.
    pub unix: Option<Duration>,
}

impl Question for SettleReceipt {
    type Answer = Receipt;
}

/// Answers questions about flights. Implement it over the store of the application's effects, with
/// [`Receipt::of`] and the vault.
///
/// The client has proved that it holds some PSK of this service, not that the flight was its own. If a
/// take that finds nothing is expensive, look first.
pub trait Receipts: Send + Sync {
    /// Burns the flight's key if it still exists, and returns the flight's fate, now or later.
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt>;
}

/// The flights that a client asked about, with their fate.
pub type SettledFlights = Vec<(FlightHandle, Receipt)>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_read_from_the_wire_as_they_were_written() {
        for receipt in [Receipt::Unknown, Receipt::Burned, Receipt::TakenNotDone, Receipt::Done] {
            assert_eq!(Receipt::from_wire(receipt.to_wire()), receipt);
        }
        assert_eq!(Receipt::from_wire(4), Receipt::Unknown);
    }

    #[test]
    fn an_answer_of_the_vault_becomes_the_receipt_that_it_means() {
        let receipts = [
            (TakeAnswer::Absent(Absence::Burned), Receipt::Burned),
            (TakeAnswer::Absent(Absence::Used), Receipt::TakenNotDone),
            (TakeAnswer::Absent(Absence::Unknown), Receipt::Unknown),
            (TakeAnswer::Unavailable, Receipt::Unknown),
        ];
        for (taken, receipt) in receipts {
            assert_eq!(Receipt::of(&taken, false), receipt);
            assert_eq!(Receipt::of(&taken, true), Receipt::Done);
        }
    }
}
