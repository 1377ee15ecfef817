//! What a ticket costs that was made beforehand.

use super::connection::{Made, connect};
use super::{Ends, median};
use crate::bench::{SESSIONS_AT_ONCE, us};
use crate::endpoint;
use crate::roaming::report::Issuing;
use crate::statistics::Median;

/// How many connections without tickets are compared.
const WITHOUT: usize = 21;

/// What the connections that brought tickets took more than such without, for each ticket.
pub(super) fn of_a_ticket(ends: &Ends, with: &[Made]) -> endpoint::Result<Issuing> {
    let without = (0..WITHOUT).map(|_| connect(ends.client.clone(), ends.server.clone(), None, 0));
    let without = without.collect::<endpoint::Result<Vec<_>>>()?;
    let each = |value: fn(&Made) -> f64| {
        let median = |made: &[Made]| Median::of(made.iter().map(value)).map_or(0.0, |it| it.value);
        (median(with) - median(&without)) / f64::from(SESSIONS_AT_ONCE)
    };
    let sent = |made: &[Made]| median(made, |made| made.server.sent).unwrap_or(0);
    Ok(Issuing {
        server_us: each(|made| us(made.server.engine)),
        client_us: each(|made| us(made.client.engine)),
        bytes: sent(with).saturating_sub(sent(&without)) / u64::from(SESSIONS_AT_ONCE),
    })
}
