//! Ticket keys, vaults and registers, observed. Of an answer that comes later, only the question is observed.

use std::sync::Arc;
use std::time::Duration;

use tessera::crypto::KeyForm;
use tessera::handshake::Reply;
use tessera::resume::{
    AlreadyUsed, FlightHandle, Incarnation, OpenTicket, PutRefused, PutSecret, SessionState,
    SingleUseRegister, TakeAnswer, TakeSecret, TicketKeys, Vault,
};

use crate::observer::{ObservedPart, Observer};
use crate::operation::Operation;

impl<O: Observer> TicketKeys for ObservedPart<Arc<dyn TicketKeys>, O> {
    fn seal(&self, session: &SessionState, unix: Duration) -> Option<Vec<u8>> {
        self.during(Operation::TicketSealing, |inner| inner.seal(session, unix))
    }

    fn open(&self, question: &OpenTicket) -> Reply<Option<SessionState>> {
        self.during(Operation::TicketOpening, |inner| inner.open(question))
    }

    fn seal_for(&self, purpose: &[u8], contents: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.during(Operation::TicketSealing, |inner| inner.seal_for(purpose, contents, unix))
    }

    fn open_for(&self, purpose: &[u8], sealed: &[u8], unix: Duration) -> Option<Vec<u8>> {
        self.during(Operation::TicketOpening, |inner| inner.open_for(purpose, sealed, unix))
    }
}

impl<O: Observer> Vault for ObservedPart<Arc<dyn Vault>, O> {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.during(Operation::VaultPut, |inner| inner.put(put))
    }

    fn take(&self, question: &TakeSecret) -> Reply<TakeAnswer> {
        self.during(Operation::VaultTake, |inner| inner.take(question))
    }

    fn burn(&self, handle: &FlightHandle) {
        self.during(Operation::VaultTake, |inner| inner.burn(handle));
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

    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }
}

impl<O: Observer> SingleUseRegister for ObservedPart<Arc<dyn SingleUseRegister>, O> {
    fn claim(
        &self,
        key: &[u8; 32],
        issued_at: Duration,
        expires_at: Duration,
        now: Duration,
    ) -> Result<(), AlreadyUsed> {
        self.during(Operation::Register, |inner| inner.claim(key, issued_at, expires_at, now))
    }
}
