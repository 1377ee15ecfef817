//! What became of a flight, as the vault knows it.

use std::sync::Arc;

use tessera::handshake::Reply;
use tessera::resume::{Receipt, Receipts, SettleReceipt, TakePurpose, TakeSecret, Vault};

/// Receipts by a vault that answers at once.
///
/// None is ever `done`: a proxy knows which bytes its backend was given, not what the backend did with them. What was
/// taken stays `taken, not done`, also where the backend's connection broke before it had a byte. A backend that needs
/// exactly-once records the flight's name with its effect: a tunnel tells it (`send-proxy-identity`).
pub(super) struct OfVault<V: ?Sized>(pub(super) Arc<V>);

impl<V: Vault + ?Sized> Receipts for OfVault<V> {
    fn settle(&self, question: &SettleReceipt) -> Reply<Receipt> {
        match self.0.take(&TakeSecret::new(question.handle, TakePurpose::Burn, question.unix)) {
            Reply::Now(taken) => Reply::Now(Receipt::of(&taken, false)),
            Reply::Later => Reply::Later,
        }
    }
}
