//! The messages of etcd's JSON gateway that this crate uses.
//!
//! Names are those of etcd's `rpc.proto`; bytes are base64, 64-bit integers are strings, and default values are
//! omitted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tessera_store::LeaseId;

/// Encodes bytes for JSON.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes a key or a value of an answer. One that isn't base64 is not ours.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// Returns the end of the range of all keys that begin with `prefix`: the first key after them, or 0, which stands for
/// the end of all keys.
pub(crate) fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let kept = prefix.iter().rposition(|byte| *byte != 0xff).map_or(0, |last| last + 1);
    let mut end = prefix[..kept].to_vec();
    match end.last_mut() {
        Some(last) => *last += 1,
        None => end.push(0),
    }
    end
}

/// Returns the beginning of that range. etcd has no empty key.
pub(crate) fn prefix_start(prefix: &[u8]) -> &[u8] {
    if prefix.is_empty() { &[0] } else { prefix }
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
        Self { range_end, mod_revision, ..Self::new(prefix_start(prefix), "MOD", "LESS") }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
}

impl Range {
    pub(crate) fn of(key: &[u8]) -> Self {
        Self { key: encode(key), ..Self::default() }
    }

    pub(crate) fn all(prefix: &[u8]) -> Self {
        let range_end = Some(encode(&prefix_end(prefix)));
        Self { key: encode(prefix_start(prefix)), range_end, ..Self::default() }
    }

    /// Requests at most this many.
    pub(crate) fn at_most(self, limit: usize) -> Self {
        Self { limit: Some(limit.to_string()), ..self }
    }

    /// Requests those behind this key, as they were at the revision of an answer.
    pub(crate) fn behind(self, key: &[u8], revision: &Header) -> Self {
        let next = [key, &[0]].concat();
        Self { key: encode(&next), revision: Some(revision.revision.clone()), ..self }
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
    pub(crate) header: Header,
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
    pub(crate) header: Header,
    pub(crate) kvs: Vec<KeyValue>,
    pub(crate) count: Option<String>,
    /// Whether the limit left some out.
    pub(crate) more: bool,
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

impl Header {
    pub(crate) fn revision(&self) -> Option<u64> {
        self.revision.parse().ok()
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

/// gRPC's codes of requests that were refused.
pub(crate) mod code {
    pub(crate) const INVALID_ARGUMENT: u32 = 3;
    pub(crate) const NOT_FOUND: u32 = 5;
    pub(crate) const PERMISSION_DENIED: u32 = 7;
    pub(crate) const FAILED_PRECONDITION: u32 = 9;
    pub(crate) const OUT_OF_RANGE: u32 = 11;
    pub(crate) const UNIMPLEMENTED: u32 = 12;
    pub(crate) const UNAUTHENTICATED: u32 = 16;
}

/// An answer with another status than 200.
#[derive(Deserialize)]
pub(crate) struct ErrorAnswer {
    /// One of [`code`], or another of gRPC's.
    pub(crate) code: u32,
    pub(crate) message: String,
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

impl WatchRequest {
    /// Requests the changes of a prefix from this revision on; from now on, if it is 0.
    pub(crate) fn new(prefix: &[u8], start_revision: u64) -> Self {
        let (key, range_end) = (encode(prefix_start(prefix)), encode(&prefix_end(prefix)));
        let start_revision = start_revision.to_string();
        Self { create_request: WatchCreate { key, range_end, start_revision } }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct WatchAnswer {
    /// The watch begins.
    pub(crate) created: bool,
    /// It has ended.
    pub(crate) canceled: bool,
    pub(crate) cancel_reason: String,
    /// It has ended because the changes until this revision were compacted.
    pub(crate) compact_revision: Option<String>,
    /// All changes of one or several revisions.
    pub(crate) events: Vec<Event>,
}

#[derive(Deserialize)]
pub(crate) struct Event {
    /// Omitted for a put.
    #[serde(default, rename = "type")]
    pub(crate) kind: EventKind,
    pub(crate) kv: KeyValue,
}

#[derive(Deserialize, Default, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum EventKind {
    #[default]
    Put,
    Delete,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_range_of_keys() {
        let cases: [(&[u8], &[u8]); 6] = [
            (b"/ring/", b"/ring0"),
            (b"a\xff", b"b"),
            (b"a\xfe\xff\xff", b"a\xff"),
            (b"\xff", b"\0"),
            (b"\xff\xff", b"\0"),
            (b"", b"\0"),
        ];
        for (prefix, end) in cases {
            assert_eq!(prefix_end(prefix), end, "{prefix:?}");
        }
        assert_eq!((prefix_start(b""), prefix_start(b"a")), (&[0][..], &b"a"[..]));
    }
}
