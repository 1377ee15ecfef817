//! The bodies of requests and answers, in etcd's JSON. A field that is not known is an error: it would change the
//! request's meaning.

use std::time::Duration;

use hyper::StatusCode;
use serde::{Deserialize, Serialize};
use tessera_store::{
    Change, ChangedEntry, Condition, LeaseId, Revision, Snapshot, StoredEntry, Transaction,
};

use super::error::GatewayError;
use crate::api::{decode, encode, prefix_end, prefix_start};

type Result<T> = std::result::Result<T, GatewayError>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeRequest {
    key: String,
    #[serde(default)]
    range_end: String,
    /// A limit bounds answers, and these are short: all are sent.
    #[serde(default, rename = "limit")]
    _limit: serde::de::IgnoredAny,
}

impl RangeRequest {
    pub(super) fn selection(&self) -> Result<Selection> {
        Selection::new(&self.key, &self.range_end)
    }
}

/// What a range selects.
pub(super) enum Selection {
    Key(Vec<u8>),
    Prefix(Vec<u8>),
}

impl Selection {
    fn new(key: &str, range_end: &str) -> Result<Self> {
        let (key, end) = (bytes(key)?, bytes(range_end)?);
        if end.is_empty() {
            return Ok(Self::Key(key));
        }
        if key == prefix_start(b"") && end == prefix_end(b"") {
            return Ok(Self::Prefix(Vec::new()));
        }
        match end == prefix_end(&key) {
            true => Ok(Self::Prefix(key)),
            false => Err(unimplemented("a range that is neither a key nor a prefix")),
        }
    }

    /// What all selected keys begin with; if one key is selected, others may as well.
    pub(super) fn prefix(&self) -> &[u8] {
        let (Self::Key(prefix) | Self::Prefix(prefix)) = self;
        prefix
    }

    pub(super) fn selects(&self, key: &[u8]) -> bool {
        match self {
            Self::Key(selected) => key == selected,
            Self::Prefix(prefix) => key.starts_with(prefix),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TxnRequest {
    #[serde(default)]
    compare: Vec<CompareRequest>,
    #[serde(default)]
    success: Vec<OpRequest>,
    #[serde(default)]
    failure: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompareRequest {
    key: String,
    #[serde(default)]
    range_end: String,
    target: String,
    result: String,
    create_revision: Option<String>,
    mod_revision: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
enum OpRequest {
    #[serde(rename = "request_put")]
    Put(PutRequest),
    #[serde(rename = "request_delete_range")]
    Delete(DeleteRequest),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutRequest {
    key: String,
    #[serde(default)]
    value: String,
    lease: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeleteRequest {
    key: String,
    #[serde(default)]
    prev_kv: bool,
}

impl TxnRequest {
    pub(super) fn transaction(self) -> Result<Transaction> {
        if !self.failure.is_empty() {
            return Err(unimplemented("what happens on failure"));
        }
        let conditions = self.compare.iter().map(CompareRequest::condition);
        let changes = self.success.into_iter().map(OpRequest::change);
        Ok(Transaction {
            conditions: conditions.collect::<Result<_>>()?,
            changes: changes.collect::<Result<_>>()?,
        })
    }
}

impl CompareRequest {
    fn condition(&self) -> Result<Condition> {
        let selection = Selection::new(&self.key, &self.range_end)?;
        let revisions = (self.create_revision.as_deref(), self.mod_revision.as_deref());
        match (&self.target[..], &self.result[..], selection, revisions) {
            ("CREATE", "EQUAL", Selection::Key(key), (Some("0"), None)) => {
                Ok(Condition::Absent(key))
            }
            ("MOD", "EQUAL", Selection::Key(key), (None, Some(revision))) => {
                // etcd takes 0 for "absent".
                Ok(Condition::Unchanged(key, Revision(number(revision, 1)?)))
            }
            ("MOD", "LESS", Selection::Prefix(prefix), (None, Some(revision))) => {
                let since = Revision(number(revision, 1)? - 1);
                Ok(Condition::NoneWrittenSince(prefix, since))
            }
            (target, result, ..) => {
                Err(unimplemented(&format!("the comparison {target} {result} of these fields")))
            }
        }
    }
}

impl OpRequest {
    fn change(self) -> Result<Change> {
        match self {
            Self::Put(PutRequest { key, value, lease }) => {
                let (key, value) = (bytes(&key)?, bytes(&value)?);
                Ok(Change::Put { key, value, lease: lease.map(LeaseId) })
            }
            Self::Delete(DeleteRequest { prev_kv: true, .. }) => {
                Err(unimplemented("the value of a deleted key"))
            }
            Self::Delete(DeleteRequest { key, .. }) => Ok(Change::Delete { key: bytes(&key)? }),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GrantRequest {
    #[serde(rename = "TTL")]
    pub(super) ttl: String,
}

impl GrantRequest {
    pub(super) fn lifetime(&self) -> Result<Duration> {
        number(&self.ttl, 1).map(Duration::from_secs)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LeaseRequest {
    #[serde(rename = "ID")]
    pub(super) id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WatchRequest {
    create_request: WatchCreate,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WatchCreate {
    key: String,
    #[serde(default)]
    range_end: String,
    start_revision: String,
}

impl WatchRequest {
    /// Returns what is watched, and after which revision.
    pub(super) fn begin(&self) -> Result<(Selection, Revision)> {
        let WatchCreate { key, range_end, start_revision } = &self.create_request;
        let start = number(start_revision, 1)?;
        Ok((Selection::new(key, range_end)?, Revision(start - 1)))
    }
}

#[derive(Serialize)]
pub(super) struct RangeResponse {
    header: Header,
    kvs: Vec<KeyValue>,
    count: String,
}

impl RangeResponse {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let kvs: Vec<_> = snapshot.entries.iter().map(KeyValue::new).collect();
        Self { header: Header::new(snapshot.revision), count: kvs.len().to_string(), kvs }
    }
}

#[derive(Serialize)]
pub(super) struct TxnResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<Header>,
    succeeded: bool,
}

impl TxnResponse {
    pub(super) fn new(revision: Option<Revision>) -> Self {
        Self { header: revision.map(Header::new), succeeded: revision.is_some() }
    }
}

#[derive(Serialize)]
pub(super) struct GrantAnswer {
    #[serde(rename = "ID")]
    pub(super) id: String,
    #[serde(rename = "TTL")]
    pub(super) ttl: String,
}

#[derive(Serialize)]
pub(super) struct KeepAliveAnswer {
    result: KeptLease,
}

#[derive(Serialize)]
struct KeptLease {
    #[serde(rename = "ID")]
    id: String,
    /// Absent if it has ended.
    #[serde(rename = "TTL", skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl KeepAliveAnswer {
    pub(super) fn new(id: String, lives: bool) -> Self {
        // A store doesn't return the lifetime: at least a second.
        Self { result: KeptLease { id, ttl: lives.then_some("1") } }
    }
}

#[derive(Serialize)]
struct Header {
    revision: String,
}

impl Header {
    fn new(Revision(revision): Revision) -> Self {
        Self { revision: revision.to_string() }
    }
}

#[derive(Serialize)]
struct KeyValue {
    key: String,
    mod_revision: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    value: String,
}

impl KeyValue {
    fn new(entry: &StoredEntry) -> Self {
        let StoredEntry { key, value, revision } = entry;
        Self { key: encode(key), mod_revision: revision.0.to_string(), value: encode(value) }
    }
}

/// A change, as a watch has it.
#[derive(Serialize)]
pub(super) struct Event {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    kv: KeyValue,
}

impl Event {
    pub(super) fn new(change: &ChangedEntry) -> Self {
        match change {
            ChangedEntry::Put(entry) => Self { kind: None, kv: KeyValue::new(entry) },
            ChangedEntry::Deleted { key, revision } => {
                let (key, mod_revision) = (encode(key), revision.0.to_string());
                let kv = KeyValue { key, mod_revision, value: String::new() };
                Self { kind: Some("DELETE"), kv }
            }
        }
    }
}

fn bytes(base64: &str) -> Result<Vec<u8>> {
    decode(base64).ok_or_else(|| invalid("a key or a value is not base64".into()))
}

fn number(text: &str, min: u64) -> Result<u64> {
    let number = text.parse().ok().filter(|number| *number >= min);
    number.ok_or_else(|| invalid(format!("`{text}` is not a number of at least {min}")))
}

fn invalid(message: String) -> GatewayError {
    GatewayError::invalid(StatusCode::BAD_REQUEST, message)
}

fn unimplemented(what: &str) -> GatewayError {
    let message = format!("{what} is not served: this is a store of Tessera, not etcd");
    GatewayError::unimplemented(StatusCode::NOT_IMPLEMENTED, message)
}
