//! What a table has.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tessera_store::{Revision, StoredEntry};

use crate::binding::{Binding, ProxyName};
use crate::clock::since_boot;
use crate::drain::{Drain, DrainScope};
use crate::entry::decode;
use crate::names::{ClientName, Subject};
use crate::proxies::ProxyEntry;

/// How long the store may be silent: what the table has may be older then.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(5);

/// Those of the store's entries that can be read, each with the revision of its last change.
#[derive(Default)]
pub(super) struct Entries {
    pub(super) bindings: HashMap<ClientName, (Binding, Revision)>,
    pub(super) proxies: HashMap<ProxyName, (ProxyEntry, Revision)>,
    pub(super) drains: HashMap<DrainScope, (Drain, Revision)>,
    /// Of the last change, or of the read.
    pub(super) revision: Revision,
    /// The revision of the mark; 0: there is none.
    pub(super) mark: Revision,
    /// Whether the store was read, and is watched since.
    pub(super) is_watched: bool,
    /// When the store was last heard of, by [`since_boot`].
    pub(super) heard: Duration,
}

impl Entries {
    /// Whether the store was heard of lately.
    pub(super) fn is_fresh(&self) -> bool {
        since_boot().saturating_sub(self.heard) < LONGEST_SILENCE
    }

    /// Takes an entry. One that can't be read counts as none.
    pub(super) fn put(&mut self, subject: Option<Subject>, entry: &StoredEntry) {
        match subject {
            Some(Subject::Client(name)) => put(&mut self.bindings, name, entry),
            Some(Subject::Proxy(name)) => put(&mut self.proxies, name, entry),
            Some(Subject::Drain(scope)) => put(&mut self.drains, scope, entry),
            Some(Subject::Mark) => self.mark = entry.revision,
            None => (),
        }
    }

    pub(super) fn remove(&mut self, subject: Option<Subject>) {
        match subject {
            Some(Subject::Client(name)) => drop(self.bindings.remove(&name)),
            Some(Subject::Proxy(name)) => drop(self.proxies.remove(&name)),
            Some(Subject::Drain(scope)) => drop(self.drains.remove(&scope)),
            Some(Subject::Mark) => self.mark = Revision(0),
            None => (),
        }
    }
}

fn put<K: Eq + Hash, T: DeserializeOwned>(
    all: &mut HashMap<K, (T, Revision)>,
    key: K,
    entry: &StoredEntry,
) {
    match decode(&entry.value) {
        Some(value) => drop(all.insert(key, (value, entry.revision))),
        None => drop(all.remove(&key)),
    }
}
