//! Receipts: in a later handshake a client learns what became of a forward-secret flight.

use alloc::vec::Vec;
use core::time::Duration;

use super::forward_secret::{Absent, Taken};
use crate::question::{Question, Reply};
use crate::wire::FlightHandle;

/// What became of a flight. Treat what you do not know as [`Receipt::Unknown`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Receipt {
    /// Nothing of this flight was executed, and nobody can accept it any more. Send it again. It says
    /// nothing of other copies that were sent meanwhile.
    Burned,
    /// It was accepted, and its effect is not recorded: it may still be under way. Send it again only
    /// to an application that drops what it has already done under the same handle.
    TakenNotDone,
    /// It was executed. Never send it again.
    Done,
    /// Nobody knows. Treat it as [`Receipt::TakenNotDone`].
    Unknown,
}

impl Receipt {
    /// The receipt for what a vault answered when it was to burn the key, and what the application has
    /// recorded. What is recorded as done is done, whatever the vault remembers: the application may
    /// have done it under this name in another way.
    pub fn of(taken: &Taken, is_done: bool) -> Self {
        match taken {
            _ if is_done => Self::Done,
            Taken::Taken(_) | Taken::Absent(Absent::Burned) => Self::Burned,
            Taken::Absent(Absent::Used) => Self::TakenNotDone,
            Taken::Absent(Absent::Unknown | Absent::Lost { .. }) | Taken::Unavailable => {
                Self::Unknown
            }
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

    /// One that this version does not know means [`Receipt::Unknown`].
    pub(crate) fn from_wire(byte: u8) -> Self {
        match byte {
            1 => Self::Burned,
            2 => Self::TakenNotDone,
            3 => Self::Done,
            _ => Self::Unknown,
        }
    }
}

/// The question what became of a flight. To answer it, the flight's key is burned if it still
/// exists, so that the answer stays true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SettleReceipt {
    /// The flight.
    pub handle: FlightHandle,
    /// Since the Unix epoch, where a clock is known.
    pub unix: Option<Duration>,
}

impl Question for SettleReceipt {
    type Answer = Receipt;
}

/// Answers for flights. An application implements it over the store that its effects are in, with
/// [`Receipt::of`] and the vault.
///
/// The client has proved that it holds some PSK of this service, not that the flight was its own. Where a
/// take that finds nothing is dear, look first.
pub trait Receipts: Send + Sync {
    /// Burns the flight's key if it still exists, and reports what became of the flight, now or later.
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt>;
}

/// The flights of a connection that asked, and what became of them.
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
            (Taken::Absent(Absent::Burned), Receipt::Burned),
            (Taken::Absent(Absent::Used), Receipt::TakenNotDone),
            (Taken::Absent(Absent::Unknown), Receipt::Unknown),
            (Taken::Unavailable, Receipt::Unknown),
        ];
        for (taken, receipt) in receipts {
            assert_eq!(Receipt::of(&taken, false), receipt);
            assert_eq!(Receipt::of(&taken, true), Receipt::Done);
        }
    }
}
