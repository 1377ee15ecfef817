//! Measures rotations from outside: by the order of changes in the store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tessera_stek_tests::Fleet;
use tessera_store::{ChangedEntry, Store};

/// When keys were written, and when which member acknowledged next.
#[derive(Clone, Default)]
pub(super) struct Observer(Arc<Mutex<Vec<Change>>>);

struct Change {
    at: Instant,
    /// None: a key.
    member: Option<String>,
}

impl Observer {
    /// Begins to watch the store.
    pub(super) async fn start(store: Arc<dyn Store>) -> Self {
        let observer = Self::default();
        let changes = observer.0.clone();
        let prefix = Fleet::PREFIX;
        let after = store.read(prefix.as_bytes()).await.unwrap().revision;
        let mut watch = store.watch(prefix.as_bytes(), after).await.unwrap();
        tokio::spawn(async move {
            loop {
                let events = watch.next().await.unwrap();
                let at = Instant::now();
                for event in events {
                    let ChangedEntry::Put(entry) = event else { continue };
                    let name = String::from_utf8_lossy(&entry.key[prefix.len()..]).into_owned();
                    let member = name.strip_prefix("a/").map(str::to_owned);
                    if name == "next" || member.is_some() {
                        changes.lock().unwrap().push(Change { at, member });
                    }
                }
            }
        });
        observer
    }

    /// Returns, for each key since the last call, the time until each member's acknowledgement.
    pub(super) fn take(&self) -> Vec<BTreeMap<String, Duration>> {
        let mut rotations = Vec::new();
        let mut key = None;
        for Change { at, member } in std::mem::take(&mut *self.0.lock().unwrap()) {
            let Some(member) = member else {
                key = Some(at);
                rotations.push(BTreeMap::new());
                continue;
            };
            if let (Some(key), Some(rotation)) = (key, rotations.last_mut()) {
                rotation.entry(member).or_insert(at - key);
            }
        }
        rotations
    }
}

/// Prints the distribution of the last acknowledgement of the members whose names begin so.
pub(super) fn report(kind: &str, rotations: &[BTreeMap<String, Duration>]) {
    let of_kind = |rotation: &BTreeMap<String, Duration>| {
        let members = rotation.iter().filter(|(name, _)| name.starts_with(kind));
        members.map(|(_, time)| *time).max()
    };
    let mut times: Vec<_> = rotations.iter().filter_map(of_kind).collect();
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    let what = if kind.is_empty() { "all" } else { kind };
    println!(
        "{what:<34} key written to last acknowledgement: p50 {:>6.1} ms, p95 {:>6.1} ms, most {:>6.1} ms",
        at(50),
        at(95),
        at(100)
    );
}
