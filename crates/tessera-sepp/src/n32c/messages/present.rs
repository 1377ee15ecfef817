//! How members are read that may be missing: no type of TS 29.573 is nullable, so `null` isn't a missing member.

use serde::{Deserialize, Deserializer, de};

/// A member that is there.
pub(super) fn member<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// An array with `minItems: 1`.
pub(super) fn items<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let items = Vec::deserialize(deserializer)?;
    if items.is_empty() {
        return Err(de::Error::invalid_length(0, &"one item at least"));
    }
    Ok(items)
}

/// An array with `minItems: 1` that may be missing, and is there.
pub(super) fn items_if_any<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    items(deserializer).map(Some)
}
