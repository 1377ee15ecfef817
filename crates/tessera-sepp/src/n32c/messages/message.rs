//! What is common to the messages.

use serde::de::DeserializeOwned;

/// A message of N32-c.
pub trait Message: DeserializeOwned {
    /// Members without which it is none.
    const REQUIRED: &'static [&'static str];
}
