//! Mistakes, to show that the count reveals them.

use std::sync::Arc;

use tessera::handshake::Reply;
use tessera::resume::{FlightHandle, Receipt, Receipts, SettleReceipt, Verdict};

use crate::journal::{Journal, increment, mark_done};

/// A mistake that an application can make.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slip {
    /// The server counts without looking into its journal.
    ServerForgets,
    /// The server marks an increment as done, and counts it in a separate transaction.
    ServerMarksFirst,
    /// The server counts an increment, and marks it as done in a separate transaction.
    ServerMarksLast,
    /// The server answers before it counts.
    ServerAnswersFirst,
    /// The server answers receipts without burning the key: "burned" unless the work is done.
    ReceiptsDoNotBurn,
    /// The client saves an increment in progress only when it knows the outcome.
    ClientSavesLate,
    /// The client treats the verdict "unknown" as "burned".
    ClientTakesUnknownForBurned,
    /// The client treats the verdict "used" as "burned".
    ClientTakesUsedForBurned,
    /// The client treats the receipt "taken, not done" as "burned".
    ClientTakesTakenForBurned,
    /// The client treats the receipt "unknown" as "burned".
    ClientTakesNoReceiptForBurned,
    /// The client applies "burned" to the increment, whatever else it sent.
    ClientForgetsCopies,
    /// The client applies a verdict on one flight to another.
    ClientMixesFlightsUp,
}

/// Returns a verdict as a client with this slip understands it.
pub(crate) fn heard_verdict(slip: Option<Slip>, verdict: Verdict) -> Verdict {
    match (slip, verdict) {
        (Some(Slip::ClientTakesUnknownForBurned), Verdict::Unknown)
        | (Some(Slip::ClientTakesUsedForBurned), Verdict::Used) => Verdict::Burned,
        _ => verdict,
    }
}

/// Returns a receipt as a client with this slip understands it.
pub(crate) fn heard_receipt(slip: Option<Slip>, receipt: Receipt) -> Receipt {
    match (slip, receipt) {
        (Some(Slip::ClientTakesTakenForBurned), Receipt::TakenNotDone)
        | (Some(Slip::ClientTakesNoReceiptForBurned), Receipt::Unknown) => Receipt::Burned,
        _ => receipt,
    }
}

/// Counts as a server with this slip does; the other servers use [`Journal::once`].
pub(crate) fn count_wrongly<E: From<rusqlite::Error>>(
    slip: Slip,
    journal: &Journal,
    key: &FlightHandle,
    between: impl FnOnce() -> Result<(), E>,
) -> Result<(), E> {
    let mut connection = journal.lock();
    let first = connection.transaction()?;
    let is_new = match slip {
        Slip::ServerMarksFirst => mark_done(&first, key)?,
        Slip::ServerForgets => true,
        _ => {
            let sql = "SELECT count(*) FROM done WHERE key = ?1";
            first.query_row(sql, [&key.0], |row| row.get::<_, u64>(0))? == 0
        }
    };
    if is_new && slip != Slip::ServerMarksFirst {
        increment(&first)?;
    }
    first.commit()?;
    between()?;
    let second = connection.transaction()?;
    if is_new && slip == Slip::ServerMarksFirst {
        increment(&second)?;
    }
    mark_done(&second, key)?;
    Ok(second.commit()?)
}

/// Receipts of a server that burns nothing.
pub(crate) struct UnburnedReceipts(pub(crate) Arc<Journal>);

impl Receipts for UnburnedReceipts {
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt> {
        Reply::Now(match self.0.is_done(&question.handle) {
            Ok(true) => Receipt::Done,
            _ => Receipt::Burned,
        })
    }
}
