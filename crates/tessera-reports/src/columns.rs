//! Samples as columns: `{ "send_us": [1.5, 1.25], ... }`, since a report of all cells as rows would be three times as
//! long, most of it names. A column without values is absent; a missing value is null.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use crate::sample::Sample;

/// To a hundredth of a microsecond, which exceeds the resolution of clocks.
pub(crate) fn serialize<S: Serializer>(
    samples: &[Sample],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let columns = Sample::COLUMNS.map(|(name, place)| {
        let values = samples.iter().map(|sample| *place(&mut { *sample }));
        (name, values.map(|us| us.map(|us| (us * 100.0).round() / 100.0)).collect::<Vec<_>>())
    });
    serializer
        .collect_map(columns.into_iter().filter(|(_, values)| values.iter().any(Option::is_some)))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Sample>, D::Error> {
    let columns = BTreeMap::<String, Vec<Option<f64>>>::deserialize(deserializer)?;
    let count = columns.values().map(Vec::len).max().unwrap_or(0);
    let mut samples = vec![Sample::default(); count];
    for (name, values) in columns {
        let (_, place) = Sample::COLUMNS
            .into_iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| D::Error::custom(format!("no column of samples is `{name}`")))?;
        if values.len() != count {
            let len = values.len();
            let what = format!("column `{name}` has {len} samples, and another {count}");
            return Err(D::Error::custom(what));
        }
        samples.iter_mut().zip(values).for_each(|(sample, value)| *place(sample) = value);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Samples(#[serde(with = "super")] Vec<Sample>);

    #[test]
    fn every_field_of_a_sample_has_a_column() {
        let mut sample = Sample::default();
        for (number, (_, place)) in Sample::COLUMNS.into_iter().enumerate() {
            *place(&mut sample) = Some(number as f64);
        }
        let json = serde_json::to_value(sample).unwrap();
        assert_eq!(json.as_object().unwrap().len(), Sample::COLUMNS.len());
        for (number, (name, _)) in Sample::COLUMNS.into_iter().enumerate() {
            assert_eq!(json[name], number as f64);
        }
    }

    #[test]
    fn samples_come_back_with_what_they_lack() {
        let samples = Samples(vec![
            Sample { send_us: Some(1.5), ..Sample::default() },
            Sample { send_us: Some(0.126), response_us: Some(1e6), ..Sample::default() },
        ]);
        let json = serde_json::to_value(&samples).unwrap();
        assert_eq!(json, json!({ "send_us": [1.5, 0.13], "response_us": [null, 1e6] }));
        let read: Samples = serde_json::from_value(json).unwrap();
        assert_eq!(read.0[0], samples.0[0]);
        assert_eq!(read.0[1].response_us, Some(1e6));
        assert_eq!(serde_json::from_value::<Samples>(json!({})).unwrap(), Samples(Vec::new()));
    }

    #[test]
    fn each_column_goes_to_its_place_and_null_stays_away() {
        let columns = json!({
            "send_us": [0, 0], "receive_us": [0, 0], "tcp_us": [0, 0], "first_byte_us": [1, 11],
            "handshake_us": [2, 12], "response_us": [3, null], "client_engine_us": [4, 14],
            "server_engine_us": [5, 15], "client_cpu_us": [6, 16],
        });
        let first = Sample {
            send_us: Some(0.0),
            receive_us: Some(0.0),
            tcp_us: Some(0.0),
            first_byte_us: Some(1.0),
            handshake_us: Some(2.0),
            response_us: Some(3.0),
            client_engine_us: Some(4.0),
            server_engine_us: Some(5.0),
            client_cpu_us: Some(6.0),
            server_cpu_us: None,
        };
        let samples = deserialize(columns).unwrap();
        assert_eq!((samples.len(), samples[0]), (2, first));
        assert_eq!((samples[1].handshake_us, samples[1].response_us), (Some(12.0), None));
        let cpu = deserialize(json!({ "server_cpu_us": [7] })).unwrap();
        assert_eq!(cpu, [Sample { server_cpu_us: Some(7.0), ..Sample::default() }]);
    }

    #[test]
    fn columns_that_are_not_samples_are_refused_by_name() {
        for (json, words) in [
            (json!({ "send_us": [1.0], "tcp_us": [] }), "column `tcp_us` has 0 samples"),
            (
                json!({ "response_us": [1, 2], "first_byte_us": [1] }),
                "`first_byte_us` has 1 samples",
            ),
            (json!({ "response_us": [1], "first_byte_us": [1, 2] }), "`response_us` has 1 samples"),
            (json!({ "response_us": [1], "tcp_us": [] }), "`tcp_us` has 0 samples"),
            (json!({ "weight": [1.0] }), "no column of samples is `weight`"),
            (json!({ "response_us": [], "weight": [] }), "no column of samples is `weight`"),
        ] {
            let refusal = serde_json::from_value::<Samples>(json).unwrap_err().to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
