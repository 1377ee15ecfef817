//! The fate of flights, from the vault.

use std::sync::Arc;

use tessera::handshake::Reply;
use tessera::resume::{Receipt, Receipts, SettleReceipt, TakePurpose, TakeSecret, Vault};

/// Receipts from a vault that answers at once.
///
/// None is ever `done`: a proxy knows which bytes it passed to its backend, not what the backend did with them. A taken
/// flight stays `taken, not done`, even if the backend's connection broke before the first byte. A backend that needs
/// exactly-once stores the flight's name with its effect; a tunnel sends it the name (`send-proxy-identity`).
pub(super) struct VaultReceipts<V: ?Sized>(pub(super) Arc<V>);

impl<V: Vault + ?Sized> Receipts for VaultReceipts<V> {
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt> {
        match self.0.take(&TakeSecret::new(question.handle, TakePurpose::Burn, question.unix)) {
            Reply::Now(taken) => Reply::Now(Receipt::of(&taken, false)),
            Reply::Later => Reply::Later,
        }
    }
}
