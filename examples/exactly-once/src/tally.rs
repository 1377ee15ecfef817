//! Counts what happened in the worlds: what never happens is not tested.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! happenings {
    ($($name:ident $words:literal,)*) => {
        /// Something that happens to an increment on its way.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[expect(missing_docs, reason = "the words stand in `ALL`")]
        pub enum IncrementEvent { $($name,)* }

        impl IncrementEvent {
            /// All of them, with descriptions.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$name, $words),)*];
        }
    };
}

happenings! {
    Connection "connections begun",
    Accepted "flights of early data accepted",
    VerdictBurned "verdicts: burned",
    VerdictUsed "verdicts: used",
    VerdictUnknown "verdicts: unknown",
    ReceiptBurned "receipts: burned",
    ReceiptTakenNotDone "receipts: taken, not done",
    ReceiptDone "receipts: done",
    ReceiptUnknown "receipts: unknown",
    DroppedToServer "pieces dropped, to the server",
    DroppedToClient "pieces dropped, to a client",
    DelayedToServer "pieces held back, to the server",
    DelayedToClient "pieces held back, to a client",
    DuplicatedToServer "pieces duplicated, to the server",
    DuplicatedToClient "pieces duplicated, to a client",
    ReorderedToServer "pieces reordered, to the server",
    ReorderedToClient "pieces reordered, to a client",
    ReplayedToServer "recorded flights replayed to the server",
    ReplayedToClient "recorded pieces replayed to a client",
    ReplayedAtTheEnd "recorded flights replayed when all was done",
    ArrivedTooLate "increments that came when their client was gone or elsewhere",
    VaultDidNotAnswer "takes that the vault did not get, or did not answer",
    VaultWasLost "keys lost with an earlier life of the server",
    ServerRestarted "restarts of the server",
    RestartedBeforeCommit "the server restarted with increments accepted and not begun",
    DiedBeforeTransaction "deaths after the take, before the transaction",
    DiedInTransaction "deaths within the transaction",
    DiedBeforeAnswer "deaths after the commit, before the answer",
    ClientRestarted "restarts of a client",
    RestartedBeforeStored "a client restarted with its increment counted and not known to it",
}

/// How often each of them happened.
#[derive(Default)]
pub struct Tally([AtomicU64; IncrementEvent::ALL.len()]);

impl Tally {
    /// It happened.
    pub fn count(&self, happening: IncrementEvent) {
        if let Some(count) = self.0.get(happening as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns how often each of them happened, with its description.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        IncrementEvent::ALL.iter().map(|(_, words)| *words).zip(counts)
    }
}
