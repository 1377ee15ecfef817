//! Checks, state by state, what the ProVerif models assume.
//!
//! - [`vault`]: a key in a replicated vault is taken at most once, and a taken key is gone, over crash, restart and
//!   failover.
//! - [`flight`]: one flight of early data between a client, its home site and a foreign one, with lost, late and
//!   repeated messages, restarts, evicted tombstones, verdicts, receipts, and data that the client sends again.
//!
//! - [`moving`]: one key that moves between two sites and back, with the flight at both, lost, late and repeated messages,
//!   crashes, and sites that forget.
//!
//! Each slip that the design must avoid is a setting; its test shows the property that it breaks.

pub mod flight;
pub mod moving;
pub mod vault;
