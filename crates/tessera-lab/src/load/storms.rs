//! Storms of several rounds: what they have in common.

use tessera_reports::load::Kind;
use tessera_reports::{Letter, Summary, Variant};

use super::report::{Cell, StormSummary};
use crate::variants;

/// The storms of one row and size at one round-trip time.
pub(crate) struct Storms<'c> {
    /// By their rounds, failed ones too.
    pub(crate) all: Vec<&'c Cell>,
}

/// Returns the storms among some cells: by the rows' order, then by size.
pub(crate) fn storms(cells: &[Cell]) -> Vec<Storms<'_>> {
    let mut found: Vec<Storms<'_>> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.kind == Kind::Storm) {
        match found.iter_mut().find(|storms| storms.are_of(&cell.variant, cell)) {
            Some(storms) => storms.all.push(cell),
            None => found.push(Storms { all: vec![cell] }),
        }
    }
    for storms in &mut found {
        storms.all.sort_by_key(|cell| cell.round);
    }
    let order = variants::all();
    found.sort_by_key(|storms| {
        let first = storms.all.first();
        first.map(|it| (order.iter().position(|row| *row == it.variant), it.users))
    });
    found
}

/// Summarises the storms among some cells.
pub(crate) fn summaries(cells: &[Cell]) -> Vec<StormSummary> {
    let all = storms(cells);
    let summary = |storms: &Storms<'_>| {
        let first = storms.all.first()?;
        let tls = |cell: &Cell| Some(cell.server_tls_us_per_connection);
        let full = storms.full_among(&all);
        Some(StormSummary {
            variant: first.variant,
            users: first.users,
            rtt_ms: first.rtt_ms,
            rounds: storms.measures().count(),
            first_accepted_us: storms.over_rounds(|cell| cell.first_accepted_us.quantile(0.5)),
            response_us: storms.over_rounds(|cell| cell.response_us.quantile(0.5)),
            server_cpu_us_per_connection: storms
                .over_rounds(|cell| Some(cell.server_cpu_us_per_connection)),
            server_tls_us_per_connection: storms.over_rounds(tls),
            tls_work_of_full: full.and_then(|full| storms.compared(full, tls_work)),
        })
    };
    all.iter().filter_map(summary).collect()
}

/// Returns the server's TLS work of one storm as a share of another's.
pub(crate) fn tls_work(one: &Cell, other: &Cell) -> Option<f64> {
    let share = one.server_tls_us_per_connection / other.server_tls_us_per_connection;
    Some(share).filter(|share| share.is_finite())
}

impl<'c> Storms<'c> {
    /// Whether they are of this row, with the size and round-trip time of a cell.
    fn are_of(&self, row: &Variant, like: &Cell) -> bool {
        self.all.first().is_some_and(|first| {
            (first.variant, first.users, first.rtt_ms) == (*row, like.users, like.rtt_ms)
        })
    }

    /// Returns those that are a valid measure; all if none is.
    pub(crate) fn measures(&self) -> impl Iterator<Item = &'c Cell> {
        let any_succeeded = self.all.iter().any(|cell| cell.succeeded());
        self.all.iter().copied().filter(move |cell| cell.succeeded() || !any_succeeded)
    }

    /// Summarises a number that each storm has.
    pub(crate) fn over_rounds(&self, number: impl Fn(&Cell) -> Option<f64>) -> Option<Summary> {
        Summary::of(self.measures().filter_map(number))
    }

    /// Summarises a number that the storms of two rows have in each round: what disturbs the machine for longer than a
    /// round disturbs both.
    pub(crate) fn compared(
        &self,
        other: &Self,
        number: impl Fn(&Cell, &Cell) -> Option<f64>,
    ) -> Option<Summary> {
        let in_round = |one: &Cell| {
            let other = other.measures().find(|other| other.round == one.round)?;
            number(one, other)
        };
        self.over_rounds(in_round)
    }

    /// Returns the full handshakes that this row is compared with.
    fn full_among<'s>(&self, all: &'s [Self]) -> Option<&'s Self> {
        let first = self.all.first()?;
        let full = variants::all().into_iter().filter(|row| {
            row.option == Letter::A
                && (row.suite, row.store) == (first.variant.suite, first.variant.store)
        });
        let full: Vec<_> = full.collect();
        let same = full.iter().find(|row| row.kx == first.variant.kx);
        let row = same.or(full.first())?;
        all.iter().find(|storms| storms.are_of(row, first))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tessera_reports::{KeyExchange, Store, Suite};

    use super::*;
    use crate::load::Histogram;

    fn row(option: Letter, kx: Option<KeyExchange>) -> Variant {
        let mut all = variants::all().into_iter().filter(|row| {
            (row.suite, row.store) == (Suite::default(), Store::Memory) && row.option == option
        });
        all.find(|row| row.kx == kx).expect("it is of the grid")
    }

    fn cell(variant: Variant, users: usize, round: usize, tls_us: f64) -> Cell {
        let mut times = Histogram::default();
        (0..users).for_each(|_| times.add(Duration::from_secs_f64(tls_us / 1e3)));
        Cell {
            variant,
            kind: Kind::Storm,
            users,
            round,
            rtt_ms: 134.0,
            reconnections: 1,
            failed: 0,
            why_failed: [].into(),
            requests: 0,
            seconds: 1.0,
            requests_per_second: 0.0,
            first_accepted_us: times.clone(),
            response_us: times,
            registration_us: Histogram::default(),
            server_cpu_us_per_connection: 2.0 * tls_us,
            server_tls_us_per_connection: tls_us,
            client_cpu_us_per_connection: 0.0,
            server_memory_bytes: None,
            vault_bytes: None,
            tickets: 0,
        }
    }

    const X25519: Option<KeyExchange> = Some(KeyExchange::X25519);
    const HYBRID: Option<KeyExchange> = Some(KeyExchange::X25519MlKem768);

    #[test]
    fn nine_rounds_have_the_median_and_the_second_and_eighth_as_its_interval() {
        let row = row(Letter::C, X25519);
        // In an order of their own.
        let tls = [50.0, 10.0, 90.0, 30.0, 70.0, 20.0, 80.0, 40.0, 60.0];
        let cells: Vec<_> = (1..).zip(tls).map(|(round, us)| cell(row, 100, round, us)).collect();
        let [storms] = &summaries(&cells)[..] else { panic!("one row") };
        let tls = storms.server_tls_us_per_connection.unwrap();
        assert_eq!((storms.rounds, tls.samples, tls.median), (9, 9, 50.0));
        assert_eq!(tls.interval, Some((20.0, 80.0)));
        assert_eq!(storms.server_cpu_us_per_connection.unwrap().interval, Some((40.0, 160.0)));
        let first = storms.first_accepted_us.unwrap();
        assert!((first.median / 50_000.0 - 1.0).abs() < 0.006, "{first:?}");
        assert_eq!(storms.tls_work_of_full, None, "no full handshake was measured");
        let few = summaries(&cells[..5]);
        assert_eq!(few[0].server_tls_us_per_connection.unwrap().interval, None);
    }

    /// The machine takes twice as long from round to round, and the rows' shares stay.
    #[test]
    fn rows_are_compared_round_by_round() {
        let rows = [row(Letter::A, X25519), row(Letter::A, HYBRID), row(Letter::C, HYBRID)];
        let mut cells = Vec::new();
        for round in 1..=9_u32 {
            let slow = 2.0_f64.powi(round as i32);
            for (row, us) in rows.into_iter().zip([10.0, 40.0, 20.0]) {
                cells.push(cell(row, 100, round as usize, us * slow));
            }
        }
        // Another size doesn't count, and nothing pairs with a round that failed.
        cells.push(cell(rows[1], 50, 1, 1.0));
        cells[4].failed = 100;
        cells.rotate_left(7);
        let shares: Vec<_> = summaries(&cells)
            .into_iter()
            .filter_map(|it| Some((it.users, it.rounds, it.tls_work_of_full?)))
            .map(|(users, rounds, it)| (users, rounds, it.samples, it.median, it.interval))
            .collect();
        let one = Some((1.0, 1.0));
        assert_eq!(
            shares,
            [
                (100, 9, 9, 1.0, one),
                (50, 1, 1, 1.0, None),
                (100, 8, 8, 1.0, one),
                (100, 9, 8, 0.5, Some((0.5, 0.5)))
            ]
        );
    }

    #[test]
    fn a_row_without_a_key_exchange_is_compared_with_x25519() {
        let rows = [row(Letter::A, HYBRID), row(Letter::A, X25519), row(Letter::B, None)];
        let cells: Vec<_> =
            rows.into_iter().zip([40.0, 10.0, 5.0]).map(|(row, us)| cell(row, 9, 1, us)).collect();
        let last = summaries(&cells).pop().unwrap();
        assert_eq!(last.variant.option, Letter::B);
        assert_eq!(last.tls_work_of_full.unwrap().median, 0.5);
    }
}
