//! Common properties of the messages.

use serde::de::DeserializeOwned;

/// A message of N32-c.
pub trait Message: DeserializeOwned {
    /// Its required members.
    const REQUIRED: &'static [&'static str];
}
