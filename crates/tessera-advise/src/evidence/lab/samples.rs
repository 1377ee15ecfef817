//! The lab's measurements of one connection; and samples as columns, which `lab roaming` writes: `{ "response_us":
//! [1.5, null], ... }`. A column without values is absent; a missing value is null.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::evidence::summary::Summary;
use crate::evidence::ways::Way;
use crate::evidence::{Cell, Link, Setup};

/// One connection, as far as evidence uses it; in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub(super) struct Sample {
    pub(super) first_byte_us: Option<f64>,
    pub(super) handshake_us: Option<f64>,
    pub(super) response_us: Option<f64>,
    pub(super) client_engine_us: Option<f64>,
    pub(super) server_engine_us: Option<f64>,
    pub(super) client_cpu_us: Option<f64>,
    pub(super) server_cpu_us: Option<f64>,
}

impl Sample {
    /// Returns each of its times, with the name in reports.
    pub(super) fn times(&self) -> [(&'static str, Option<f64>); 7] {
        let Self { first_byte_us, handshake_us, response_us, .. } = *self;
        let Self { client_engine_us, server_engine_us, client_cpu_us, server_cpu_us, .. } = *self;
        [
            ("first_byte_us", first_byte_us),
            ("handshake_us", handshake_us),
            ("response_us", response_us),
            ("client_engine_us", client_engine_us),
            ("server_engine_us", server_engine_us),
            ("client_cpu_us", client_cpu_us),
            ("server_cpu_us", server_cpu_us),
        ]
    }
}

/// Returns a cell with these samples and this many failed connections, and nothing else. Failed ones took longer than
/// all that succeeded; their work is unknown.
pub(super) fn cell(way: Way, samples: &[Sample], failed: usize) -> Cell {
    let of = |value: fn(&Sample) -> Option<f64>| Summary::of(samples.iter().filter_map(value));
    let until = |value: fn(&Sample) -> Option<f64>| {
        Summary::beside_failed(samples.iter().filter_map(value), failed)
    };
    Cell {
        way,
        suite: None,
        through: Setup::Endpoints,
        link: Link::default(),
        failed,
        first_byte_us: until(|sample| sample.first_byte_us),
        handshake_us: until(|sample| sample.handshake_us),
        response_us: until(|sample| sample.response_us),
        client_engine_us: of(|sample| sample.client_engine_us),
        server_engine_us: of(|sample| sample.server_engine_us),
        client_cpu_us: of(|sample| sample.client_cpu_us),
        server_cpu_us: of(|sample| sample.server_cpu_us),
        client_bytes: None,
        server_bytes: None,
        first_flight: None,
        issuing: None,
        with_issuing: false,
    }
}

/// Reads samples from their columns. Columns of unequal length, or that the lab doesn't write, are rejected: values
/// would be attributed to other connections, or be lost, unnoticed.
pub(super) fn of_columns<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Sample>, D::Error> {
    let columns = BTreeMap::<String, Vec<Option<f64>>>::deserialize(deserializer)?;
    let count = columns.values().map(Vec::len).max().unwrap_or(0);
    let mut samples = vec![Sample::default(); count];
    for (name, values) in columns {
        if values.len() != count {
            let len = values.len();
            let what = format!("column `{name}` has {len} samples, and another {count}");
            return Err(D::Error::custom(what));
        }
        let place: fn(&mut Sample) -> &mut Option<f64> = match name.as_str() {
            "first_byte_us" => |it| &mut it.first_byte_us,
            "handshake_us" => |it| &mut it.handshake_us,
            "response_us" => |it| &mut it.response_us,
            "client_engine_us" => |it| &mut it.client_engine_us,
            "server_engine_us" => |it| &mut it.server_engine_us,
            "client_cpu_us" => |it| &mut it.client_cpu_us,
            "server_cpu_us" => |it| &mut it.server_cpu_us,
            // The paper's latencies and connect(), which advice doesn't use.
            "send_us" | "receive_us" | "tcp_us" => continue,
            _ => return Err(D::Error::custom(format!("no column of samples is `{name}`"))),
        };
        samples.iter_mut().zip(values).for_each(|(sample, value)| *place(sample) = value);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(columns: Value) -> Result<Vec<Sample>, String> {
        of_columns(columns).map_err(|error| error.to_string())
    }

    #[test]
    fn each_column_goes_to_its_place_and_null_stays_away() {
        let columns = json!({
            "send_us": [0, 0], "receive_us": [0, 0], "tcp_us": [0, 0], "first_byte_us": [1, 11],
            "handshake_us": [2, 12], "response_us": [3, null], "client_engine_us": [4, 14],
            "server_engine_us": [5, 15], "client_cpu_us": [6, 16],
        });
        let first = Sample {
            first_byte_us: Some(1.0),
            handshake_us: Some(2.0),
            response_us: Some(3.0),
            client_engine_us: Some(4.0),
            server_engine_us: Some(5.0),
            client_cpu_us: Some(6.0),
            server_cpu_us: None,
        };
        let samples = read(columns).unwrap();
        assert_eq!((samples.len(), samples[0]), (2, first));
        assert_eq!((samples[1].handshake_us, samples[1].response_us), (Some(12.0), None));
        let cpu = read(json!({ "server_cpu_us": [7] })).unwrap();
        assert_eq!(cpu, [Sample { server_cpu_us: Some(7.0), ..Sample::default() }]);
        assert_eq!(read(json!({})), Ok(Vec::new()));
    }

    #[test]
    fn columns_that_are_not_samples_are_refused_by_name() {
        for (columns, words) in [
            (
                json!({ "response_us": [1, 2], "first_byte_us": [1] }),
                "`first_byte_us` has 1 samples",
            ),
            (json!({ "response_us": [1], "first_byte_us": [1, 2] }), "`response_us` has 1 samples"),
            (json!({ "response_us": [1], "tcp_us": [] }), "`tcp_us` has 0 samples"),
            (json!({ "weight": [1] }), "no column of samples is `weight`"),
            (json!({ "response_us": [], "weight": [] }), "no column of samples is `weight`"),
        ] {
            let refusal = read(columns).unwrap_err();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
