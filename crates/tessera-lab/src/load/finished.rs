//! Whether a cell of a journal is one that its run can have finished.

use super::grid;
use super::kind::Kind;
use super::measure::may_fail;
use super::report::Cell;
use crate::registration::LOCAL_BREAKOUT;

/// Returns the name of a complete cell, of a run with this many reconnections per user: none is missing, and not too
/// many failed.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn check(cell: &Cell, reconnections: usize) -> Result<String, String> {
    let Cell { variant, kind, users, rtt_ms, failed, .. } = cell;
    let name = format!("{} of {users} at {rtt_ms} ms, {}", kind.name(), variant.key());
    let wanted = match kind {
        Kind::Users => reconnections,
        Kind::Storm => 1,
    };
    let is_load = (1..=MOST_USERS).contains(users) && (0.0..=MOST_RTT_MS).contains(rtt_ms);
    if !grid::is_of_the_grid(variant) || !is_load {
        return Err(format!("there is no cell {name}"));
    }
    if cell.reconnections != wanted {
        let reconnections = cell.reconnections;
        return Err(format!("{name} has {reconnections} reconnections of {wanted}"));
    }
    let asked = (users * wanted) as u64;
    if !may_fail(asked, *failed) {
        return Err(format!("{failed} of {asked} reconnections of {name} failed"));
    }
    let whole = asked - failed;
    let registrations = if *kind == Kind::Users { whole } else { 0 };
    let (response, registration) = (cell.response_us.count(), cell.registration_us.count());
    // The server may have accepted requests of connections that failed afterwards.
    let first = cell.first_accepted_us.count();
    if (response, registration) != (whole, registrations) || first == 0 || first > asked {
        return Err(format!("{name} has {response} samples of {whole}"));
    }
    let exchanges = if *kind == Kind::Users { LOCAL_BREAKOUT.len() as u64 } else { 1 };
    if !(whole * exchanges..=asked * exchanges).contains(&cell.requests) {
        return Err(format!("{name} has {} requests", cell.requests));
    }
    let times = [&cell.first_accepted_us, &cell.response_us, &cell.registration_us];
    let longest = times.into_iter().filter_map(|times| times.quantile(1.0));
    let numbers = [
        cell.seconds,
        cell.requests_per_second,
        cell.server_cpu_us_per_connection,
        cell.server_tls_us_per_connection,
        cell.client_cpu_us_per_connection,
    ];
    match numbers.into_iter().chain(longest).find(|number| !(0.0..=MOST).contains(number)) {
        Some(number) => Err(format!("{name} has the number {number}")),
        None => Ok(name),
    }
}

/// More connections have no ports.
const MOST_USERS: usize = 65_535;
/// A link's round-trip time is at most a minute.
const MOST_RTT_MS: f64 = 60_000.0;
/// The limit of seconds, requests per second, and microseconds of one connection: far above all time limits.
const MOST: f64 = 1e9;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::Histogram;
    use crate::variants::{Store, Variant};

    fn histogram(samples: u64) -> Histogram {
        let mut histogram = Histogram::default();
        (0..samples).for_each(|_| histogram.add(Duration::from_millis(5)));
        histogram
    }

    fn cell(kind: Kind, users: usize, reconnections: usize) -> Cell {
        let all = (users * reconnections) as u64;
        let exchanges = if kind == Kind::Users { 13 } else { 1 };
        Cell {
            variant: Variant::all()[0],
            kind,
            users,
            rtt_ms: 33.0,
            reconnections,
            failed: 0,
            why_failed: [].into(),
            requests: all * exchanges,
            seconds: 2.0,
            requests_per_second: 10.0,
            first_accepted_us: histogram(all),
            response_us: histogram(all),
            registration_us: histogram(if kind == Kind::Users { all } else { 0 }),
            server_cpu_us_per_connection: 1.0,
            server_tls_us_per_connection: 1.0,
            client_cpu_us_per_connection: 1.0,
            server_memory_bytes: Some(1),
            vault_bytes: Some(0),
            tickets: 0,
        }
    }

    #[test]
    fn only_a_whole_cell_of_this_run_is_finished() {
        let of = |cell: &Cell| check(cell, 20);
        let (users, storm) = (cell(Kind::Users, 5, 20), cell(Kind::Storm, 1_000, 1));
        assert_ne!(of(&users).unwrap(), of(&storm).unwrap());
        let some_failed = Cell { failed: 10, response_us: histogram(990), ..storm.clone() };
        assert!(of(&some_failed).is_ok());
        let ages: Histogram = serde_json::from_str("[[1e300,100]]").unwrap();
        let etcd = Variant { store: Store::Etcd, ..users.variant };
        for (cell, words) in [
            (Cell { variant: etcd, ..users.clone() }, "there is no cell"),
            (Cell { rtt_ms: 1e9, ..users.clone() }, "there is no cell"),
            (Cell { users: 0, ..users.clone() }, "there is no cell"),
            (cell(Kind::Users, 5, 19), "19 reconnections of 20"),
            (cell(Kind::Storm, 5, 20), "20 reconnections of 1"),
            (Cell { users: usize::MAX, ..users.clone() }, "there is no cell"),
            (Cell { response_us: histogram(3), ..users.clone() }, "3 samples of 100"),
            (Cell { failed: 501, response_us: histogram(499), ..storm.clone() }, "501 of 1000"),
            (Cell { first_accepted_us: histogram(0), ..storm.clone() }, "samples"),
            (Cell { requests: 7, ..users.clone() }, "7 requests"),
            (Cell { first_accepted_us: ages, ..users.clone() }, "the number"),
            (Cell { seconds: -1.0, ..users.clone() }, "the number -1"),
            (Cell { server_tls_us_per_connection: 1e300, ..users.clone() }, "the number 1"),
        ] {
            let refusal = of(&cell).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
