//! Samples as columns: `{ "send_us": [1.5, 1.25], ... }`, since a report of all cells as rows would be three times as
//! long, most of it names. A column without values is absent; a missing value is null.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

use super::Sample;

/// A column's name, and its place in a sample.
type Column = (&'static str, fn(&mut Sample) -> &mut Option<f64>);

const COLUMNS: [Column; 10] = [
    ("send_us", |it| &mut it.send_us),
    ("receive_us", |it| &mut it.receive_us),
    ("tcp_us", |it| &mut it.tcp_us),
    ("first_byte_us", |it| &mut it.first_byte_us),
    ("handshake_us", |it| &mut it.handshake_us),
    ("response_us", |it| &mut it.response_us),
    ("client_engine_us", |it| &mut it.client_engine_us),
    ("server_engine_us", |it| &mut it.server_engine_us),
    ("client_cpu_us", |it| &mut it.client_cpu_us),
    ("server_cpu_us", |it| &mut it.server_cpu_us),
];

/// To a hundredth of a microsecond, which exceeds the resolution of clocks.
pub(in crate::roaming) fn serialize<S: Serializer>(
    samples: &[Sample],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let columns = COLUMNS.map(|(name, place)| {
        let values = samples.iter().copied().map(|mut sample| *place(&mut sample));
        (name, values.map(|us| us.map(|us| (us * 100.0).round() / 100.0)).collect::<Vec<_>>())
    });
    serializer
        .collect_map(columns.into_iter().filter(|(_, values)| values.iter().any(Option::is_some)))
}

pub(in crate::roaming) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Sample>, D::Error> {
    let columns = BTreeMap::<String, Vec<Option<f64>>>::deserialize(deserializer)?;
    let count = columns.values().map(Vec::len).max().unwrap_or(0);
    let mut samples = vec![Sample::default(); count];
    for (name, values) in columns {
        let (_, place) = COLUMNS
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
        for (number, (_, place)) in COLUMNS.into_iter().enumerate() {
            *place(&mut sample) = Some(number as f64);
        }
        let json = serde_json::to_value(sample).unwrap();
        assert_eq!(json.as_object().unwrap().len(), COLUMNS.len());
        for (number, (name, _)) in COLUMNS.into_iter().enumerate() {
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
    fn columns_that_are_not_samples_are_refused_by_name() {
        for (json, words) in [
            (json!({ "send_us": [1.0], "tcp_us": [] }), "column `tcp_us` has 0 samples"),
            (json!({ "weight": [1.0] }), "no column of samples is `weight`"),
        ] {
            let refusal = serde_json::from_value::<Samples>(json).unwrap_err().to_string();
            assert!(refusal.contains(words), "{refusal}");
        }
    }
}
