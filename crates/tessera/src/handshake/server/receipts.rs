//! Receipts out: what became of the flights that the client names.

use alloc::vec::Vec;

use super::ServerState;
use super::decision::Decided;
use super::hello::{Paused, Received};
use crate::error::Error;
use crate::handshake::context::Context;
use crate::handshake::question::{Reply, Waiting};
use crate::resume::{FlightHandle, Receipt, SettleReceipt};

impl Decided {
    /// Settles the receipts that aren't settled yet, one after the other; then the early data. A key
    /// that is burned here can't be taken by this very hello.
    pub(super) fn settle_receipts(
        mut self,
        early_data_allowed: bool,
        received: &Received<'_>,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        let guard = self.negotiation.config.policy.early_data.forward_secret.as_ref();
        if let Some(receipts) = guard.and_then(|guard| guard.receipts.clone()) {
            let asked = received.hello.flight_handles;
            while let Some(handle) = asked.get(self.receipts.len()) {
                let handle = FlightHandle(*handle);
                let question = SettleReceipt { handle, unix: ctx.now.unix };
                match receipts.settle(&question) {
                    Reply::Now(receipt) => self.receipts.push(receipt),
                    Reply::Later => {
                        let paused = (Paused::new(self, received), early_data_allowed);
                        return Ok(ServerState::SettlingReceipt(Waiting::new(question, paused)));
                    }
                }
            }
        }
        self.settle_early_data(early_data_allowed, received, ctx)
    }

    /// The receipts as EncryptedExtensions has them.
    pub(super) fn receipts_on_the_wire(&self) -> Vec<u8> {
        self.receipts.iter().map(|receipt| receipt.to_wire()).collect()
    }
}

impl Paused<Decided> {
    /// Someone settled a receipt.
    pub(super) fn receipt_settled(
        mut self,
        early_data_allowed: bool,
        receipt: Receipt,
        ctx: &mut Context<'_>,
    ) -> Result<ServerState, Error> {
        self.then.receipts.push(receipt);
        self.then.settle_receipts(early_data_allowed, &Received::again(&self.hello)?, ctx)
    }
}
