//! The form of an entry: JSON, so that an operator can read it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version that this code writes, and the newest that it reads. Unknown fields are ignored.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Entry<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

/// Encodes an entry.
pub(crate) fn encode<T: Serialize>(content: &T) -> Vec<u8> {
    // Maps with string keys and numbers always have a form in JSON.
    serde_json::to_vec(&Entry { version: VERSION, content }).unwrap_or_default()
}

/// Decodes an entry; `None` if it is of a newer version, or malformed.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let Version { version } = serde_json::from_slice(bytes).ok()?;
    if version > VERSION {
        return None;
    }
    serde_json::from_slice::<Entry<T>>(bytes).ok().map(|entry| entry.content)
}
