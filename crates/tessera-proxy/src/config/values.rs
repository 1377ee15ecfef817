//! Values that TOML has no type for.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};

/// A duration: a number of seconds, or a number with a unit, as `"500ms"`, `"1.5s"`, `"30s"`, `"5m"`, `"12h"` or
/// `"7d"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub Duration);

impl Seconds {
    /// Returns the duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl From<Seconds> for Duration {
    fn from(seconds: Seconds) -> Self {
        seconds.0
    }
}

const TIME: &str = "seconds, or a number with a unit: \"500ms\", \"10s\", \"5m\", \"12h\", \"7d\"";

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factors = |unit: &str| match unit {
            "us" => Some(1_000),
            "ms" => Some(1_000_000),
            "" | "s" => Some(1_000_000_000),
            "m" | "min" => Some(60_000_000_000),
            "h" => Some(3_600_000_000_000),
            "d" => Some(86_400_000_000_000),
            _ => None,
        };
        let nanos = scaled(text, factors).and_then(|nanos| u64::try_from(nanos).ok());
        nanos.map(|nanos| Self(Duration::from_nanos(nanos))).ok_or(format!("it must be {TIME}"))
    }
}

/// Parses a decimal number times the factor of its unit. Returns `None` if the result is not a whole number.
fn scaled(text: &str, factor: impl Fn(&str) -> Option<u128>) -> Option<u128> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end)?;
    let factor = factor(unit.trim_start())?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // More digits could overflow, and are of no use.
    if whole.is_empty() || fraction.is_empty() || whole.len() > 18 || fraction.len() > 9 {
        return None;
    }
    let parts = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction = fraction.parse::<u128>().ok()? * factor;
    (fraction % parts == 0).then_some(whole.parse::<u128>().ok()? * factor + fraction / parts)
}

/// Accepts a number or a text.
struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = Seconds;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(TIME)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Seconds, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Seconds, E> {
        let seconds = number.to_string().parse();
        seconds.map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Seconds, E> {
        let seconds = number.to_string().parse();
        seconds.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Seconds, E> {
        number.to_string().parse().map_err(|_| E::invalid_value(Unexpected::Float(number), &self))
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DurationVisitor)
    }
}

/// A length in bytes: a number, or a number with a unit, as `"64 KiB"` or `"1 MB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteLength(pub u64);

impl From<ByteLength> for u64 {
    fn from(length: ByteLength) -> Self {
        length.0
    }
}

const LENGTH: &str = "bytes, or a number with a unit: \"512 B\", \"64 KiB\", \"16 MiB\", \"1 MB\"";

impl FromStr for ByteLength {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let factors = |unit: &str| match unit {
            "" | "B" => Some(1),
            "kB" => Some(1_000),
            "MB" => Some(1_000_000),
            "GB" => Some(1_000_000_000),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        };
        let bytes = scaled(text, factors).and_then(|bytes| u64::try_from(bytes).ok());
        bytes.map(Self).ok_or(format!("it must be {LENGTH}"))
    }
}

struct LengthVisitor;

impl Visitor<'_> for LengthVisitor {
    type Value = ByteLength;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(LENGTH)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ByteLength, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ByteLength, E> {
        Ok(ByteLength(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ByteLength, E> {
        let length = u64::try_from(number).map(ByteLength);
        length.map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }
}

impl<'de> Deserialize<'de> for ByteLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LengthVisitor)
    }
}

/// The path of a file or directory. A relative path in a configuration starts at that file's directory, wherever the
/// program was started.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(PathBuf);

impl FilePath {
    /// Returns the path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl Deref for FilePath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for FilePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// Keeps a path as it is, such as one from a command line.
impl From<PathBuf> for FilePath {
    fn from(path: PathBuf) -> Self {
        Self(path)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(PathVisitor)
    }
}

struct PathVisitor;

impl Visitor<'_> for PathVisitor {
    type Value = FilePath;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path of a file, relative to this file")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FilePath, E> {
        // It may be the key itself instead of its file's name: don't repeat it, since errors are logged.
        if text.is_empty() || text.contains(['\n', '\0']) || text.starts_with("-----BEGIN") {
            return Err(E::custom("it must be the path of a file, not its content"));
        }
        let path = DIRECTORY.with_borrow(|directory| match directory {
            Some(directory) => directory.join(text),
            None => PathBuf::from(text),
        });
        Ok(FilePath(path))
    }
}

thread_local! {
    /// The directory where relative paths start in the configuration that this thread reads. serde has no other way to
    /// pass it.
    static DIRECTORY: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Runs `read` while relative paths start in this directory.
pub(super) fn with_directory<T>(directory: &Path, read: impl FnOnce() -> T) -> T {
    /// Restores the earlier directory, also if `read` panics.
    struct Restore(Option<PathBuf>);

    impl Drop for Restore {
        fn drop(&mut self) {
            DIRECTORY.set(self.0.take());
        }
    }

    let _restore = Restore(DIRECTORY.replace(Some(directory.to_owned())));
    read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_units_and_are_whole() {
        let read = |text: &str| text.parse::<ByteLength>().map(u64::from);
        assert_eq!(read("256 KiB"), Ok(262_144));
        assert_eq!(read("1.5MB"), Ok(1_500_000));
        assert_eq!(read("7"), Ok(7));
        for text in ["", "KiB", "-1", "0.5", "1 kib", "99999999999 GiB"] {
            read(text).unwrap_err();
        }
    }
}
