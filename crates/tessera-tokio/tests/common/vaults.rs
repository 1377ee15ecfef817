//! Vaults with special answers for a key that is gone.

use std::sync::Arc;
use std::time::Duration;

use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, Incarnation, PutRefused, PutSecret, TakeAnswer, TakeSecret, Vault,
};
use tessera::{Clock, Time};

/// A vault whose life began an hour ago.
pub struct RestartedVault(pub Arc<dyn Vault>);

impl Vault for RestartedVault {
    fn put(&self, put: PutSecret<'_>) -> Result<(), PutRefused> {
        self.0.put(put)
    }

    fn take(&self, _: &TakeSecret) -> Reply<TakeAnswer> {
        let ended_before = Duration::from_secs(3600);
        Reply::Now(TakeAnswer::Absent(Absence::Lost { ended_before }))
    }

    fn burn(&self, handle: &FlightHandle) {
        self.0.burn(handle);
    }

    fn incarnation(&self) -> Option<Incarnation> {
        self.0.incarnation()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// A clock without a reading.
#[derive(Debug)]
pub struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Time {
        Time { monotonic: Duration::ZERO, unix: None }
    }
}
