//! Parses values of facts: words, numbers, times and bytes with their units.

use super::{Application, EarlyRequests, Need, PeerTls, Risk, SharedStore};

/// The longest lifetime of a ticket in TLS, in hours (RFC 8446 §4.6.1).
pub(super) const SEVEN_DAYS: f64 = 7.0 * 24.0;

/// The longest time for a round trip and the like: an hour, in seconds. Far more than any link has, and far less than
/// sums and products could overflow.
const LONGEST: f64 = 3600.0;
/// The greatest value of any number.
const MOST: f64 = 1e9;
/// The most memory: 1,024 TiB, in bytes.
const MOST_MEMORY: f64 = 1_125_899_906_842_624.0;
/// The lowest rate of reconnections per hour: one in a century.
const SELDOM: f64 = 1e-6;

/// A value with a fixed set of words.
pub(super) trait Value: Copy + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn read(text: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(word, _)| *word == text.trim());
        found.map(|(_, value)| *value).ok_or_else(|| {
            let words: Vec<_> = Self::WORDS.iter().map(|(word, _)| *word).collect();
            format!("use one of {}", words.join(", "))
        })
    }
}

impl Value for bool {
    const WORDS: &'static [(&'static str, Self)] = &[("true", true), ("false", false)];
}

impl Value for Application {
    const WORDS: &'static [(&'static str, Self)] =
        &[("own", Self::Own), ("sepp", Self::Sepp), ("tunnel", Self::Tunnel)];
}

impl Value for EarlyRequests {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("at-most-once", Self::AtMostOnce),
        ("repeatable", Self::Repeatable),
    ];
}

impl Value for Need {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("always", Self::Always),
        ("after-handshake", Self::AfterHandshake),
        ("not-needed", Self::NotNeeded),
    ];
}

impl Value for PeerTls {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("tessera", Self::Tessera),
        ("stock", Self::Stock),
        ("stock-without-tickets", Self::StockWithoutTickets),
    ];
}

impl Value for SharedStore {
    const WORDS: &'static [(&'static str, Self)] = &[("none", Self::None), ("etcd", Self::Etcd)];
}

impl Value for Risk {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("no-forward-secrecy", Self::NoForwardSecrecy),
        ("early-data-without-forward-secrecy", Self::EarlyDataWithoutForwardSecrecy),
        ("replay", Self::Replay),
        ("early-key-exchange", Self::EarlyKeyExchange),
    ];
}

/// Parses words, separated by commas.
pub(super) fn list<T: Value>(text: &str) -> Result<Vec<T>, String> {
    text.split(',').filter(|word| !word.trim().is_empty()).map(T::read).collect()
}

/// Parses a number from 0 on.
pub(super) fn number(text: &str) -> Result<f64, String> {
    positive(text)
        .filter(|number| *number <= MOST)
        .ok_or_else(|| format!("expected a number from 0 to {MOST}"))
}

/// Parses a number from 0 on, of any size.
fn positive(text: &str) -> Option<f64> {
    let number: f64 = text.trim().replace('_', "").parse().ok()?;
    (number.is_finite() && !number.is_sign_negative()).then_some(number)
}

/// Parses a rate of reconnections.
pub(super) fn reconnections(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if number == 0.0 {
        return Err(
            "a connection that never reconnects gains nothing from any way; set how often it does \
                    (0.001: once in six weeks)"
                .to_owned(),
        );
    }
    if number < SELDOM {
        return Err(format!("expected a number from {SELDOM} on, which is once in a century"));
    }
    Ok(number)
}

/// Parses a whole number from 1 on.
pub(super) fn at_least_one(text: &str) -> Result<f64, String> {
    let least_one = |number: &f64| *number >= 1.0 && number.fract() == 0.0;
    number(text)
        .ok()
        .filter(least_one)
        .ok_or_else(|| format!("expected a whole number from 1 to {MOST}"))
}

pub(super) fn milliseconds(text: &str) -> Result<f64, String> {
    // Not through seconds: 371 ms must equal a report's value exactly.
    const UNITS: &[(&str, f64)] = &[("us", 1e-3), ("µs", 1e-3), ("ms", 1.0)];
    let milliseconds = match with_unit(text, UNITS) {
        Some(milliseconds) => milliseconds,
        None => seconds(text)? * 1e3,
    };
    up_to_an_hour(milliseconds, LONGEST * 1e3)
}

pub(super) fn microseconds(text: &str) -> Result<f64, String> {
    up_to_an_hour(seconds(text)? * 1e6, LONGEST * 1e6)
}

/// Checks a time against the limit of an hour, in its unit.
fn up_to_an_hour(time: f64, hour: f64) -> Result<f64, String> {
    match time <= hour {
        true => Ok(time),
        false => Err("expected a time up to 1h".to_owned()),
    }
}

/// Parses the lifetime of a ticket, in hours.
pub(super) fn lifetime_hours(text: &str) -> Result<f64, String> {
    // In TLS it is a whole number of seconds.
    let seconds = seconds(text)?;
    if (1.0..=SEVEN_DAYS * 3600.0).contains(&seconds) {
        Ok(seconds / 3600.0)
    } else {
        Err("expected a time from 1s to 7d, TLS's limit (RFC 8446 §4.6.1)".to_owned())
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    const UNITS: &[(&str, f64)] = &[
        ("us", 1e-6),
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
    ];
    with_unit(text, UNITS)
        .ok_or_else(|| "expected a time with its unit: 134ms, 300us, 2h".to_owned())
}

/// Parses a number of bytes.
pub(super) fn bytes(text: &str) -> Result<f64, String> {
    const UNITS: &[(&str, f64)] =
        &[("B", 1.0), ("KiB", 1024.0), ("MiB", 1_048_576.0), ("GiB", 1_073_741_824.0)];
    let bytes = with_unit(text, UNITS)
        .ok_or_else(|| "expected bytes with their unit: 64 MiB, 512 KiB".to_owned())?;
    match bytes <= MOST_MEMORY {
        true => Ok(bytes),
        false => Err("expected bytes up to 1048576GiB".to_owned()),
    }
}

/// Parses a rate in bytes per second, at least one.
pub(super) fn bandwidth(text: &str) -> Result<f64, String> {
    const UNITS: &[(&str, f64)] =
        &[("bit", 0.125), ("kbit", 125.0), ("Mbit", 125_000.0), ("Gbit", 125_000_000.0)];
    text.trim()
        .strip_suffix("/s")
        .and_then(|amount| with_unit(amount, UNITS))
        .filter(|bytes| (1.0..=MOST * 1e3).contains(bytes))
        .ok_or_else(|| "expected the rate of a link, with its unit: 20kbit/s, 2Mbit/s".to_owned())
}

/// Parses a number with one of these units; 0 needs none.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let unit = text.strip_prefix(digits)?;
    let value = positive(digits)?;
    match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => Some(value * factor),
        None => (unit.is_empty() && value == 0.0).then_some(0.0),
    }
}
