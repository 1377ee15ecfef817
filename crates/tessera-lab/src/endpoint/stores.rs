//! What a server remembers between connections; a row begins with all of it empty.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tessera::resume::{SingleUseRegister, TicketKeys, Vault};
use tessera_vault::{MemoryRegister, MemoryVault, TicketKey, TicketKeyRing};

use super::Result;

/// More than a row needs: a full store would turn measured connections into others.
const CAPACITY: usize = 100_000;

/// A ring with one key, which outlives the row.
pub(super) fn ticket_keys() -> Result<Arc<dyn TicketKeys>> {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let provider = tessera_aws_lc::provider();
    let now = unix_time()?;
    let key = TicketKey::generate(&provider, now, DAY, DAY)
        .map_err(|_| "no random bytes for a ticket key")?;
    let ring = TicketKeyRing::new(&provider);
    ring.install(vec![key], now)?;
    Ok(Arc::new(ring))
}

pub(super) fn vault() -> Arc<dyn Vault> {
    Arc::new(MemoryVault::new(CAPACITY))
}

pub(super) fn register() -> Result<Arc<dyn SingleUseRegister>> {
    // It refuses what was issued before it began, and tickets tell that in whole milliseconds. The
    // ring has no older tickets than the register, so the millisecond lets nothing else in.
    let began = unix_time()?.saturating_sub(Duration::from_millis(1));
    Ok(Arc::new(MemoryRegister::new(CAPACITY, began)))
}

fn unix_time() -> Result<Duration> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}
