//! The typical connection of many whose operations were timed.

use tessera_observed::{Operation, OperationTime};

use crate::statistics::Median;

/// Returns the median connection: for each operation the median count and the median time, separately. Operations that
/// most connections lack are absent.
pub fn typical(connections: &[Vec<OperationTime>]) -> Vec<OperationTime> {
    let median_of = |operation: Operation| {
        let of_each = |value: fn(&OperationTime) -> f64| {
            Median::of(connections.iter().map(move |connection| {
                connection.iter().find(|it| it.operation == operation).map_or(0.0, value)
            }))
        };
        let count = of_each(|it| it.count as f64)?.value.round() as u64;
        let us = of_each(|it| it.us)?.value;
        (count > 0).then_some(OperationTime { operation, count, us })
    };
    Operation::ALL.into_iter().filter_map(median_of).collect()
}

#[cfg(test)]
mod tests {
    use super::{Operation, OperationTime, typical};

    #[test]
    fn the_typical_connection_is_made_of_medians() {
        let signed = |count, us| OperationTime { operation: Operation::Signature, count, us };
        let random = OperationTime { operation: Operation::Random, count: 1, us: 0.5 };
        let connections =
            [vec![signed(1, 30.0)], vec![signed(1, 900.0), random], vec![signed(1, 20.0)]];
        assert_eq!(typical(&connections), [signed(1, 30.0)]);
        assert_eq!(typical(&[]), []);
    }
}
