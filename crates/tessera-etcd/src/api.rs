//! The messages of etcd's JSON gateway that this crate uses.
//!
//! Names are those of etcd's `rpc.proto`; bytes are base64, 64-bit integers are strings, and default values are
//! omitted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Encodes bytes for JSON.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes a key or a value of an answer. One that isn't base64 is not ours.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Returns the end of the range of all keys that begin with `prefix`, which must not end with 0xff.
pub(crate) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.wrapping_add(1);
    }
    end
}

/// A transaction: if all comparisons hold, all of `success` happens, else all of `failure`.
#[derive(Serialize, Default)]
pub(crate) struct Txn {
    pub(crate) compare: Vec<Compare>,
    pub(crate) success: Vec<Op>,
    pub(crate) failure: Vec<Op>,
}

#[derive(Serialize)]
pub(crate) struct Compare {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    range_end: Option<String>,
    target: &'static str,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    create_revision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mod_revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl Compare {
    fn new(key: &[u8], target: &'static str, result: &'static str) -> Self {
        Self {
            key: encode(key),
            range_end: None,
            target,
            result,
            create_revision: None,
            mod_revision: None,
            value: None,
        }
    }

    /// The key doesn't exist.
    pub(crate) fn is_absent(key: &[u8]) -> Self {
        Self { create_revision: Some("0"), ..Self::new(key, "CREATE", "EQUAL") }
    }

    /// The key exists.
    pub(crate) fn is_there(key: &[u8]) -> Self {
        Self { create_revision: Some("0"), ..Self::new(key, "CREATE", "GREATER") }
    }

    /// The key was last changed at this revision.
    pub(crate) fn is_unchanged(key: &[u8], revision: &str) -> Self {
        Self { mod_revision: Some(revision.into()), ..Self::new(key, "MOD", "EQUAL") }
    }

    /// No key that begins with `prefix` was written at this revision or later.
    pub(crate) fn none_since(prefix: &[u8], revision: u64) -> Self {
        let range_end = Some(encode(&prefix_end(prefix)));
        let mod_revision = Some(revision.to_string());
        Self { range_end, mod_revision, ..Self::new(prefix, "MOD", "LESS") }
    }

    /// The key exists, with this value.
    pub(crate) fn is_equal(key: &[u8], value: &[u8]) -> Self {
        Self { value: Some(encode(value)), ..Self::new(key, "VALUE", "EQUAL") }
    }

    /// The key exists, and its value is greater, as a byte string.
    pub(crate) fn is_greater(key: &[u8], than: &[u8]) -> Self {
        Self { value: Some(encode(than)), ..Self::new(key, "VALUE", "GREATER") }
    }
}

#[derive(Serialize)]
pub(crate) enum Op {
    #[serde(rename = "request_put")]
    Put(Put),
    #[serde(rename = "request_range")]
    Range(Range),
    #[serde(rename = "request_delete_range")]
    Delete(Delete),
}

#[derive(Serialize)]
pub(crate) struct Put {
    key: String,
    value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<String>,
}

impl Put {
    /// Creates a value that lives as long as the lease, or without limit.
    pub(crate) fn new(key: &[u8], value: &[u8], lease: Option<&LeaseId>) -> Self {
        let lease = lease.map(|lease| lease.0.clone());
        Self { key: encode(key), value: encode(value), lease }
    }
}

#[derive(Serialize, Default)]
pub(crate) struct Range {
    key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    range_end: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    count_only: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    serializable: bool,
}

impl Range {
    pub(crate) fn of(key: &[u8]) -> Self {
        Self { key: encode(key), ..Self::default() }
    }

    pub(crate) fn all(prefix: &[u8]) -> Self {
        let range_end = Some(encode(&prefix_end(prefix)));
        Self { key: encode(prefix), range_end, ..Self::default() }
    }

    /// Requests only the number of keys, as one member knows it.
    pub(crate) fn count(prefix: &[u8]) -> Self {
        Self { count_only: true, serializable: true, ..Self::all(prefix) }
    }
}

#[derive(Serialize)]
pub(crate) struct Delete {
    key: String,
    prev_kv: bool,
}

impl Delete {
    pub(crate) fn of(key: &[u8]) -> Self {
        Self { key: encode(key), prev_kv: false }
    }

    /// Deletes, and returns the value.
    pub(crate) fn taking(key: &[u8]) -> Self {
        Self { key: encode(key), prev_kv: true }
    }
}

#[derive(Deserialize)]
pub(crate) struct TxnAnswer {
    #[serde(default)]
    pub(crate) succeeded: bool,
    #[serde(default)]
    pub(crate) responses: Vec<OpAnswer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct OpAnswer {
    pub(crate) response_range: Option<RangeAnswer>,
    pub(crate) response_delete_range: Option<DeleteAnswer>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct RangeAnswer {
    header: Header,
    pub(crate) kvs: Vec<KeyValue>,
    pub(crate) count: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct DeleteAnswer {
    /// The number of keys; omitted if zero.
    pub(crate) deleted: Option<String>,
    pub(crate) prev_kvs: Vec<KeyValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Header {
    revision: String,
}

impl RangeAnswer {
    /// Returns the revision of the first change that this answer doesn't include.
    pub(crate) fn next_revision(&self) -> Option<u64> {
        self.header.revision.parse::<u64>().ok()?.checked_add(1)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct KeyValue {
    key: String,
    value: String,
    pub(crate) mod_revision: String,
}

impl KeyValue {
    pub(crate) fn key(&self) -> Option<Vec<u8>> {
        decode(&self.key)
    }

    pub(crate) fn value(&self) -> Option<Vec<u8>> {
        decode(&self.value)
    }
}

/// The id of a lease, as in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeaseId(pub(crate) String);

#[derive(Serialize)]
pub(crate) struct LeaseRequest<'a> {
    #[serde(rename = "TTL", skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<String>,
    #[serde(rename = "ID", skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct LeaseAnswer {
    #[serde(rename = "ID")]
    pub(crate) id: Option<String>,
    #[serde(rename = "TTL")]
    pub(crate) ttl: Option<String>,
}

/// The wrapper of a stream's answers.
#[derive(Deserialize)]
pub(crate) struct StreamAnswer<T> {
    pub(crate) result: T,
}

#[derive(Serialize)]
pub(crate) struct WatchRequest {
    pub(crate) create_request: WatchCreate,
}

#[derive(Serialize)]
pub(crate) struct WatchCreate {
    pub(crate) key: String,
    pub(crate) range_end: String,
    pub(crate) start_revision: String,
}
