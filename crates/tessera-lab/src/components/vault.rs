//! A vault whose memory is separate from that of connections.

use std::sync::Arc;

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    FlightHandle, Incarnation, OneTimeSecret, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault,
};

use super::books::{Account, Books};

/// Copies secrets that leave it into the memory of the connection that took them, since the vault's memory has its own
/// account.
pub(super) struct ApartVault {
    pub(super) inner: Arc<dyn Vault>,
    pub(super) books: &'static Books,
}

impl Vault for ApartVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.inner.put(put)
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        match self.inner.take(question) {
            Reply::Now(TakeAnswer::Taken(secret)) => {
                let encoded = secret.encode();
                let copied = self.books.within(Account::TicketsAndReplayState, || {
                    OneTimeSecret::decode(&encoded)
                        .map_or(TakeAnswer::Unavailable, TakeAnswer::Taken)
                });
                Reply::Now(copied)
            }
            other => other,
        }
    }

    fn burn(&self, handle: &FlightHandle) {
        self.inner.burn(handle);
    }

    fn key_form(&self) -> KeyForm {
        self.inner.key_form()
    }

    fn incarnation(&self) -> Option<Incarnation> {
        self.inner.incarnation()
    }

    fn len(&self) -> usize {
        self.inner.len()
    }
}
