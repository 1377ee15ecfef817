//! Reloads, which apply all changes or none. Changes that need a restart are reverted and named.

use std::collections::BTreeMap;

use crate::logging::tracing;

/// A reload that is loaded but not applied yet. Dropping it changes nothing.
#[must_use = "it is in use only when it is exchanged"]
pub struct PreparedReload<'e, C>(Box<dyn FnOnce() -> C + 'e>);

impl<'e, C> PreparedReload<'e, C> {
    /// Creates a reload from the function that applies it. That can't fail, and returns what has changed.
    pub fn new(exchange: impl FnOnce() -> C + 'e) -> Self {
        Self(Box::new(exchange))
    }

    /// Applies it.
    pub fn exchange(self) -> C {
        (self.0)()
    }
}

/// A section with keys that can't change while the process runs, listed by [`lasting!`](crate::lasting).
pub trait LastingKeys: Clone {
    /// Resets those keys of `wanted` to their values here, and returns the names of those that differed.
    fn keep(&self, wanted: &mut Self) -> Vec<String>;
}

/// Lists the keys of a section that can't change while the process runs, by their fields.
#[macro_export]
macro_rules! lasting {
    ($section:ident: $($key:ident),+) => {
        impl $crate::changes::LastingKeys for $section {
            fn keep(&self, wanted: &mut Self) -> Vec<String> {
                use $crate::changes::put_back;
                let keys = [$(put_back(stringify!($key), &self.$key, &mut wanted.$key)),+];
                keys.into_iter().flatten().map(|key| key.replace('_', "-")).collect()
            }
        }
    };
}

/// Resets `wanted` to the running value, and returns its name if it differed.
pub fn put_back<'n, T: Clone + PartialEq>(
    name: &'n str,
    running: &T,
    wanted: &mut T,
) -> Option<&'n str> {
    let differs = running != wanted;
    wanted.clone_from(running);
    differs.then_some(name)
}

/// Changes that wait for a restart, as an operator would write them: `[server.postgres] listen`.
#[derive(Debug, Default)]
pub struct PendingChanges(pub Vec<String>);

impl PendingChanges {
    /// Reverts a key, or a whole section, of this name.
    pub fn keep<T: Clone + PartialEq>(&mut self, name: &str, running: &T, wanted: &mut T) {
        self.0.extend(put_back(name, running, wanted).map(str::to_owned));
    }

    /// Reverts the keys of the section `[name]` that can't change.
    pub fn keep_in<S: LastingKeys>(&mut self, name: &str, running: &S, wanted: &mut S) {
        self.0.extend(running.keep(wanted).iter().map(|key| format!("[{name}] {key}")));
    }

    /// Reverts all sections `[role.NAME]`: none can be added or removed, and some of their keys can't change.
    pub fn keep_all<S: LastingKeys>(
        &mut self,
        role: &str,
        running: &BTreeMap<String, S>,
        wanted: &mut BTreeMap<String, S>,
    ) {
        let new = wanted.keys().filter(|name| !running.contains_key(*name));
        self.0.extend(new.map(|name| format!("[{role}.{name}] (new section)")));
        wanted.retain(|name, _| running.contains_key(name));
        for (name, section) in running {
            match wanted.get_mut(name) {
                Some(other) => self.keep_in(&format!("{role}.{name}"), section, other),
                None => {
                    self.0.push(format!("[{role}.{name}] (removed section)"));
                    wanted.insert(name.clone(), section.clone());
                }
            }
        }
    }

    /// Logs a warning for each.
    pub fn warn(&self) {
        for key in &self.0 {
            tracing::warn!("{key} changed in the configuration, and waits for a restart");
        }
    }
}
