//! etcd as a store.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use tessera_store::{
    Change, ChangedEntry, Condition, LeaseId, Pending, Revision, Snapshot, Store, StoreError,
    StoredEntry, Transaction, Watch,
};
use tokio::time::timeout_at;

use crate::api::{
    Compare, Delete, Event, EventKind, Header, KeyValue, Op, Put, Range, StreamAnswer, Txn,
    WatchAnswer, WatchRequest,
};
use crate::client::EtcdClient;
use crate::connection::Sender;

/// The longest answer with entries of a prefix, or with changes of a watch, in bytes of JSON: room for 20 MiB.
const MAX_CHANGES: usize = 32 * 1024 * 1024;

/// How many entries are requested at a time: an answer must come within the deadline of a request, whose members serve others
/// meanwhile.
const PAGE: usize = 2000;

/// The longest snapshot, in bytes of its keys and values.
const MAX_SNAPSHOT: usize = 256 * 1024 * 1024;

/// Reads and commits are linearizable, whichever member answers.
///
/// A snapshot is read in pages, of one revision. One of more than 256 MiB is an error, as are changes of a watch of more than
/// 32 MiB in etcd's JSON. A transaction is bounded by etcd's `--max-txn-ops` and `--max-request-bytes`, whose defaults suffice. etcd grants no lease shorter
/// than its elections take: two seconds, by default.
///
/// A watch ends if its member has no leader, closes the connection, or can't be reached for about 15 seconds. It can't notice a
/// member that hangs: a client that must notice, or sooner, also reads at intervals, or writes an entry that it watches.
impl Store for EtcdClient {
    fn read<'a>(&'a self, prefix: &'a [u8]) -> Pending<'a, Snapshot> {
        Box::pin(async move {
            let mut range = Range::all(prefix).at_most(PAGE);
            let (mut entries, mut len, mut first) = (Vec::new(), 0, None);
            loop {
                let answer = self.range_within(&range, MAX_CHANGES).await?;
                for kv in &answer.kvs {
                    let entry = entry(kv).ok_or_else(|| senseless("an entry"))?;
                    len += entry.key.len() + entry.value.len();
                    entries.push(entry);
                }
                if len > MAX_SNAPSHOT {
                    let what = format!("the entries have more than {MAX_SNAPSHOT} bytes");
                    return Err(StoreError::Refused(what));
                }
                // All pages are of one revision; the headers of later ones have the present one.
                let header = first.get_or_insert(answer.header);
                match entries.last().filter(|_| answer.more) {
                    Some(last) => range = range.behind(&last.key, header),
                    None => return Ok(Snapshot { entries, revision: revision(header)? }),
                }
            }
        })
    }

    fn commit(&self, transaction: Transaction) -> Pending<'_, Option<Revision>> {
        Box::pin(async move {
            let Transaction { conditions, changes } = transaction;
            let never = |it: &Condition| matches!(it, Condition::Unchanged(_, Revision(0)));
            if conditions.iter().any(never) {
                // etcd would take it for "absent".
                return Ok(None);
            }
            let compare = conditions.iter().map(compare).collect();
            let success = changes.iter().map(op).collect();
            let answer = self.txn(&Txn { compare, success, failure: Vec::new() }).await?;
            match answer.succeeded {
                true => revision(&answer.header).map(Some),
                false => Ok(None),
            }
        })
    }

    fn grant(&self, lifetime: Duration) -> Pending<'_, LeaseId> {
        let up = u64::from(lifetime.subsec_nanos() > 0);
        let seconds = lifetime.as_secs().saturating_add(up).min(MAX_LIFETIME);
        Box::pin(self.grant(Duration::from_secs(seconds)))
    }

    fn keep_alive<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, bool> {
        Box::pin(self.keep_alive(lease))
    }

    fn revoke<'a>(&'a self, lease: &'a LeaseId) -> Pending<'a, ()> {
        Box::pin(async move {
            match self.revoke(lease).await {
                Err(StoreError::Refused(why)) if why.contains("lease not found") => Ok(()),
                other => other,
            }
        })
    }

    fn watch<'a>(&'a self, prefix: &'a [u8], after: Revision) -> Pending<'a, Box<dyn Watch>> {
        Box::pin(async move {
            let request = WatchRequest::new(prefix, after.0.saturating_add(1).min(MAX_REVISION));
            let deadline = self.deadline();
            let (body, sender) = self.stream(&request).await?;
            let mut watch = EtcdWatch { body, _sender: sender, received: Vec::new(), searched: 0 };
            let first = timeout_at(deadline, watch.message()).await;
            let first = first.map_err(|_| StoreError::Unknown("no answer in time".into()))??;
            if !first.created {
                return Err(senseless("the beginning of a watch"));
            }
            Ok(Box::new(watch) as Box<dyn Watch>)
        })
    }
}

/// etcd's longest, in seconds: 285 years.
const MAX_LIFETIME: u64 = 9_000_000_000;

/// etcd's revisions are signed.
const MAX_REVISION: u64 = i64::MAX as u64;

struct EtcdWatch {
    body: Incoming,
    /// Keeps the connection open.
    _sender: Sender,
    /// What has arrived, and was not returned yet: it survives a dropped future.
    received: Vec<u8>,
    /// How much of it is known to have no end of a line.
    searched: usize,
}

impl Watch for EtcdWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(async {
            loop {
                let message = self.message().await?;
                if !message.events.is_empty() {
                    let changes = message.events.iter().map(changed).collect::<Option<_>>();
                    return changes.ok_or_else(|| senseless("a change"));
                }
            }
        })
    }
}

impl EtcdWatch {
    /// Waits for the next message: a line.
    async fn message(&mut self) -> Result<WatchAnswer, StoreError> {
        let line = loop {
            let end = self.received[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let line: Vec<_> = self.received.drain(..=self.searched + end).collect();
                self.searched = 0;
                break line;
            }
            self.searched = self.received.len();
            if self.received.len() > MAX_CHANGES {
                return Err(StoreError::Refused("too many changes at once: read again".into()));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.received.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
                }
                Some(Err(error)) => return Err(StoreError::Unknown(error.to_string())),
                None => return Err(StoreError::Unknown("the watch has ended".into())),
            }
        };
        let message = serde_json::from_slice::<StreamAnswer<WatchAnswer>>(&line);
        let message = message.map_err(|_| {
            let shown = &line[..line.len().min(300)];
            StoreError::Unknown(format!("the watch has ended: {}", String::from_utf8_lossy(shown)))
        })?;
        let message = message.result;
        match message.canceled {
            true => Err(StoreError::Refused(match &message.compact_revision {
                Some(compacted) => format!(
                    "the changes until revision {compacted} are no longer known: read again, and watch from there"
                ),
                None => format!("the watch has ended: {}", message.cancel_reason),
            })),
            false => Ok(message),
        }
    }
}

fn compare(condition: &Condition) -> Compare {
    match condition {
        Condition::Absent(key) => Compare::is_absent(key),
        Condition::Unchanged(key, revision) => {
            Compare::is_unchanged(key, &revision.0.min(MAX_REVISION).to_string())
        }
        Condition::NoneWrittenSince(prefix, revision) => {
            Compare::none_since(prefix, revision.0.saturating_add(1).min(MAX_REVISION))
        }
    }
}

fn op(change: &Change) -> Op {
    match change {
        Change::Put { key, value, lease } => Op::Put(Put::new(key, value, lease.as_ref())),
        Change::Delete { key } => Op::Delete(Delete::of(key)),
    }
}

fn changed(event: &Event) -> Option<ChangedEntry> {
    let StoredEntry { key, value, revision } = entry(&event.kv)?;
    Some(match event.kind {
        EventKind::Put => ChangedEntry::Put(StoredEntry { key, value, revision }),
        EventKind::Delete => ChangedEntry::Deleted { key, revision },
    })
}

fn entry(kv: &KeyValue) -> Option<StoredEntry> {
    let revision = Revision(kv.mod_revision.parse().ok()?);
    Some(StoredEntry { key: kv.key()?, value: kv.value()?, revision })
}

fn revision(header: &Header) -> Result<Revision, StoreError> {
    header.revision().map(Revision).ok_or_else(|| senseless("an answer's revision"))
}

fn senseless(what: &str) -> StoreError {
    StoreError::Unknown(format!("etcd sent no sense for {what}"))
}
