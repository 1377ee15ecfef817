//! What a server remembers between connections; a row begins with all of it empty.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera::resume::{AlreadyUsed, SingleUseRegister, TicketKeys, Vault};
use tessera_harness::{OneVault, UnsealedTickets};

use super::Result;

pub(super) fn ticket_keys() -> Result<Arc<dyn TicketKeys>> {
    Ok(Arc::new(UnsealedTickets))
}

pub(super) fn vault() -> Arc<dyn Vault> {
    Arc::new(OneVault::default())
}

pub(super) fn register() -> Result<Arc<dyn SingleUseRegister>> {
    Ok(Arc::new(Seen::default()))
}

#[derive(Default)]
struct Seen(Mutex<HashSet<[u8; 32]>>);

impl SingleUseRegister for Seen {
    fn claim(
        &self,
        key: &[u8; 32],
        _: Duration,
        _: Duration,
        _: Duration,
    ) -> std::result::Result<(), AlreadyUsed> {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.insert(*key) { Ok(()) } else { Err(AlreadyUsed) }
    }
}
