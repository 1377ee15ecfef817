//! The cost of tickets that are made beforehand.

use tessera_reports::roaming::IssuingCost;

use crate::bench::{SESSIONS_AT_ONCE, us};
use crate::in_memory::FinishedConnection;
use crate::statistics::{Median, median_count};

/// Returns the cost per ticket, as the median difference between connections that brought tickets and those right after
/// them that brought none.
pub(super) fn of_a_ticket(pairs: &[[FinishedConnection; 2]]) -> IssuingCost {
    let each = |value: fn(&FinishedConnection) -> f64| {
        let more = pairs.iter().map(|[with, without]| value(with) - value(without));
        Median::of(more).map_or(0.0, |it| it.value) / f64::from(SESSIONS_AT_ONCE)
    };
    let more =
        pairs.iter().map(|[with, without]| with.server.sent.saturating_sub(without.server.sent));
    IssuingCost {
        server_us: each(|made| us(made.server.engine)),
        client_us: each(|made| us(made.client.engine)),
        bytes: median_count(more.map(|bytes| bytes as f64)).unwrap_or_default()
            / u64::from(SESSIONS_AT_ONCE),
    }
}
