//! Sends receipts: the fate of the flights that the client names.

use alloc::vec::Vec;

use super::negotiation::Negotiation;
use super::psk_candidate::PskCandidate;
use super::stop::{Stop, answer};
use crate::resume::{FlightHandle, Receipt, SettleReceipt};

impl Negotiation<'_> {
    /// Settles the receipts that aren't settled yet, one after the other. This hello can't take a key that is
    /// burned here.
    ///
    /// Only for a client that holds a PSK, as its binder (or the proof of a lone identity) has shown:
    /// anyone can invent handles, and each is a question to the vault. In a full handshake the client proves
    /// nothing before its Finished, which comes after the answer.
    pub(super) fn settle_receipts(
        &self,
        proved: Option<&PskCandidate>,
        settled: &mut Vec<Receipt>,
        next: &mut Option<Receipt>,
    ) -> Result<(), Stop<SettleReceipt>> {
        let guard = self.config.policy.early_data.forward_secret.as_ref();
        let receipts = guard.and_then(|guard| guard.receipts.as_ref());
        let Some(receipts) = receipts.filter(|_| proved.is_some()) else { return Ok(()) };
        while let Some(handle) = self.forward_secret.flight_handles.get(settled.len()) {
            let ask = || {
                let handle = FlightHandle(*handle);
                let question = SettleReceipt { handle, unix: self.now.unix };
                let reply = receipts.settle(&question);
                (question, reply)
            };
            let receipt = *answer(next, ask)?;
            *next = None;
            settled.push(receipt);
        }
        Ok(())
    }
}
