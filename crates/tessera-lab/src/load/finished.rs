//! Whether a cell of a journal is one that its run can have finished.

use tessera_reports::load::Kind;

use super::grid;
use super::measure::may_fail;
use super::report::Cell;
use crate::experiment::limits::{CheckResult, counted, reasons, round_trip, time, within};
use crate::registration::LOCAL_BREAKOUT;

/// Returns the name of a complete cell, of a run with this many reconnections per user: none is missing, and not too
/// many failed.
///
/// # Errors
/// A description of what is wrong.
pub(super) fn check(cell: &Cell, reconnections: usize) -> Result<String, String> {
    let Cell { variant, kind, users, round, rtt_ms, failed, .. } = cell;
    let name =
        format!("{} of {users} at {rtt_ms} ms, {}, round {round}", kind.name(), variant.key());
    let (wanted, rounds) = match kind {
        Kind::Users => (reconnections, 1),
        Kind::Storm => (1, MOST_ROUNDS),
    };
    let is_load = (1..=MOST_USERS).contains(users)
        && (1..=rounds).contains(round)
        && (0.0..=MOST_RTT_MS).contains(rtt_ms);
    if !grid::is_of_the_grid(variant) || !is_load {
        return Err(format!("there is no cell {name}"));
    }
    if cell.reconnections != wanted {
        let reconnections = cell.reconnections;
        return Err(format!("{name} has {reconnections} reconnections per user, not {wanted}"));
    }
    let asked = (users * wanted) as u64;
    if !may_fail(asked, *failed) {
        return Err(format!("{failed} of {asked} reconnections of {name} failed"));
    }
    check_cell(cell).map_err(|what| format!("{name}: {what}"))?;
    Ok(name)
}

/// Refuses a cell that no run writes.
pub(crate) fn check_cell(cell: &Cell) -> CheckResult {
    round_trip(cell.rtt_ms)?;
    let connections = cell.users.checked_mul(cell.reconnections);
    let Some(asked) = connections.filter(|count| (1..=MOST_CONNECTIONS).contains(count)) else {
        let (users, each) = (cell.users, cell.reconnections);
        return Err(format!("{users} users with {each} reconnections each are no load"));
    };
    let asked = asked as u64;
    let Some(succeeded) = asked.checked_sub(cell.failed) else {
        return Err(format!("{} of {asked} reconnections failed", cell.failed));
    };
    reasons(cell.failed, cell.why_failed.values().copied())?;
    let (registrations, exchanges) = match cell.kind {
        Kind::Users => (succeeded, LOCAL_BREAKOUT.len() as u64),
        Kind::Storm => (0, 1),
    };
    // Connections that failed may have got this far.
    counted("requests accepted", cell.first_accepted_us.count(), succeeded..=asked)?;
    counted("requests", cell.requests, succeeded * exchanges..=asked * exchanges)?;
    counted("responses", cell.response_us.count(), succeeded..=succeeded)?;
    counted("registrations", cell.registration_us.count(), registrations..=registrations)?;
    within("the number of requests a second", cell.requests_per_second, 0.0..=1e9)?;
    if cell.seconds <= 0.0 {
        return Err(format!("it took {} s", cell.seconds));
    }
    let longest = [&cell.first_accepted_us, &cell.response_us, &cell.registration_us]
        .map(|it| it.quantile(1.0));
    let mut times = longest.into_iter().flatten().chain([
        cell.seconds * 1e6,
        cell.server_cpu_us_per_connection,
        cell.server_tls_us_per_connection,
        cell.client_cpu_us_per_connection,
    ]);
    times.try_for_each(|us| time("something of it", us))
}

/// More connections have no ports.
const MOST_USERS: usize = 65_535;
/// No run has more.
const MOST_ROUNDS: usize = 99;
/// A link's round-trip time is at most a minute.
const MOST_RTT_MS: f64 = 60_000.0;
/// More connections than a load has ports for, many times over.
const MOST_CONNECTIONS: usize = 10_000_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tessera_reports::{Store, Variant};

    use super::*;
    use crate::load::Histogram;
    use crate::variants;

    fn histogram(samples: u64) -> Histogram {
        let mut histogram = Histogram::default();
        (0..samples).for_each(|_| histogram.add(Duration::from_millis(5)));
        histogram
    }

    fn cell(kind: Kind, users: usize, reconnections: usize) -> Cell {
        let all = (users * reconnections) as u64;
        let exchanges = if kind == Kind::Users { 13 } else { 1 };
        Cell {
            variant: variants::all()[0],
            kind,
            users,
            round: 1,
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
        let second = Cell { round: 2, ..storm.clone() };
        assert_ne!(of(&storm).unwrap(), of(&second).unwrap());
        let why_failed = [("silence".to_owned(), 10)].into();
        let some_failed =
            Cell { failed: 10, why_failed, response_us: histogram(990), ..storm.clone() };
        assert!(of(&some_failed).is_ok());
        let ages: Histogram = serde_json::from_str("[[1e300,100]]").unwrap();
        let etcd = Variant { store: Store::Etcd, ..users.variant };
        for (cell, words) in [
            (Cell { variant: etcd, ..users.clone() }, "there is no cell"),
            (Cell { rtt_ms: 1e9, ..users.clone() }, "there is no cell"),
            (Cell { users: 0, ..users.clone() }, "there is no cell"),
            (Cell { round: 2, ..users.clone() }, "there is no cell"),
            (Cell { round: 0, ..storm.clone() }, "there is no cell"),
            (Cell { round: 100, ..storm.clone() }, "there is no cell"),
            (cell(Kind::Users, 5, 19), "19 reconnections per user, not 20"),
            (cell(Kind::Storm, 5, 20), "20 reconnections per user, not 1"),
            (Cell { users: usize::MAX, ..users.clone() }, "there is no cell"),
            (Cell { response_us: histogram(3), ..users.clone() }, "3 responses"),
            (Cell { failed: 501, response_us: histogram(499), ..storm.clone() }, "501 of 1000"),
            (Cell { first_accepted_us: histogram(0), ..storm.clone() }, "0 requests accepted"),
            (Cell { requests: 7, ..users.clone() }, "7 requests"),
            (Cell { first_accepted_us: ages, ..users.clone() }, "took 1"),
            (Cell { seconds: -1.0, ..users.clone() }, "it took -1 s"),
            (Cell { server_tls_us_per_connection: 1e300, ..users.clone() }, "took 1"),
        ] {
            let refusal = of(&cell).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
