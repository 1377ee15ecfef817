//! Values in hexadecimal: handshake and context ids, sets of features.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The identifier of an exchange of capabilities (`n32HandshakeId`) or of an N32-f context (`n32fContextId`): eight
/// octets, in JSON 16 hexadecimal digits in either case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HandshakeId(u64);

impl HandshakeId {
    /// Creates it from its octets.
    pub const fn from_octets(octets: [u8; 8]) -> Self {
        Self(u64::from_be_bytes(octets))
    }

    /// Returns its octets.
    pub const fn to_octets(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

impl FromStr for HandshakeId {
    type Err = NotHexadecimal;

    fn from_str(text: &str) -> Result<Self, NotHexadecimal> {
        // from_str_radix() also accepts a sign.
        if text.len() != 16 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotHexadecimal);
        }
        u64::from_str_radix(text, 16).map(Self).map_err(|_| NotHexadecimal)
    }
}

impl fmt::Display for HandshakeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for HandshakeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Optional features by their numbers (`supportedFeatures`, TS 29.500 §6.6.2, TS 29.571 §5.2.2). Each digit of the text
/// holds four, the last digit the lowest; it may be empty.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Features {
    /// Values of the digits, lowest first, without trailing zeros.
    digits: Box<[u8]>,
}

impl Features {
    /// Returns whether it has the feature with this number; numbers start at 1.
    pub fn has(&self, number: usize) -> bool {
        let Some(index) = number.checked_sub(1) else { return false };
        self.digits.get(index / 4).is_some_and(|digit| digit >> (index % 4) & 1 == 1)
    }

    /// Returns the features that both have.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        Self::from_digits(self.digits.iter().zip(&other.digits).map(|(one, other)| one & other))
    }

    fn from_digits(digits: impl Iterator<Item = u8>) -> Self {
        let mut digits: Vec<_> = digits.collect();
        digits.truncate(digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1));
        Self { digits: digits.into() }
    }
}

impl FromStr for Features {
    type Err = NotHexadecimal;

    fn from_str(text: &str) -> Result<Self, NotHexadecimal> {
        if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotHexadecimal);
        }
        let value = |digit: char| digit.to_digit(16).unwrap_or_default() as u8;
        Ok(Self::from_digits(text.chars().rev().map(value)))
    }
}

impl fmt::Display for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits.is_empty() {
            return f.write_str("0");
        }
        self.digits.iter().rev().try_for_each(|digit| write!(f, "{digit:x}"))
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// It isn't in hexadecimal, or has another length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotHexadecimal;

impl fmt::Display for NotHexadecimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected hexadecimal digits, 16 for an id")
    }
}

impl std::error::Error for NotHexadecimal {}

/// Serialises as text.
macro_rules! by_text {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

by_text!(HandshakeId);
by_text!(Features);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_numbered_from_the_end() {
        let features: Features = "A1".parse().unwrap();
        let numbers: Vec<_> = (0..12).filter(|number| features.has(*number)).collect();
        assert_eq!(numbers, [1, 6, 8]);
        assert_eq!(features.to_string(), "a1");
        assert_eq!(features.common(&"3".parse().unwrap()).to_string(), "1");
        assert_eq!(features.common(&"50".parse().unwrap()).to_string(), "0");
    }

    #[test]
    fn no_feature_is_an_empty_text_or_zeros() {
        for text in ["", "0", "0000"] {
            assert_eq!(text.parse(), Ok(Features::default()), "{text}");
        }
        assert_eq!(Features::default().to_string(), "0");
        assert_eq!("g".parse::<Features>(), Err(NotHexadecimal));
    }

    #[test]
    fn an_id_is_16_digits() {
        let id: HandshakeId = "00000000DEADbeef".parse().unwrap();
        assert_eq!(id.to_string(), "00000000deadbeef");
        assert_eq!(HandshakeId::from_octets(id.to_octets()), id);
        for text in ["", "deadbeef", "+000000000000001", "00000000deadbeef0", "0000000 deadbeef"] {
            assert_eq!(text.parse::<HandshakeId>(), Err(NotHexadecimal), "{text}");
        }
    }
}
