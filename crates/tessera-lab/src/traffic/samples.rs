//! Flows for tests.

use tessera_reports::{Mode, Store, Suite};

use super::report::Flow;
use crate::ways::Way;

/// Returns a flow of this mode.
pub(crate) fn flow(mode: Mode, sizes_and_times: Vec<(i64, u64)>) -> Flow {
    let way = Way::all(&[mode])[0];
    Flow {
        variant: way.variant(Suite::default(), Store::default()),
        rtt_ms: 0.0,
        padding: None,
        sizes_and_times,
        plaintext: Vec::new(),
    }
}
