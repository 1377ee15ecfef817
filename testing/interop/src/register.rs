//! The simplest register that can guard replayable early data.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tessera::resume::{AlreadyUsed, SingleUseRegister, TicketId};

/// Remembers everything and forgets nothing: for one test's lifetime that is right.
#[derive(Default)]
pub struct Register(Mutex<HashSet<TicketId>>);

impl SingleUseRegister for Register {
    fn claim(
        &self,
        key: &TicketId,
        _: Duration,
        _: Duration,
        _: Duration,
    ) -> Result<(), AlreadyUsed> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.insert(*key) { Ok(()) } else { Err(AlreadyUsed) }
    }
}
