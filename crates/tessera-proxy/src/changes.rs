//! What a reload exchanges, all or nothing, and what of a new configuration has to wait for the next start: that is put
//! back, and named.

use std::collections::BTreeMap;

use crate::logging::tracing;

/// What was loaded again, and is not in use yet. Dropped, it changes nothing.
#[must_use = "it is in use only when it is exchanged"]
pub struct Prepared<'e, C>(Box<dyn FnOnce() -> C + 'e>);

impl<'e, C> Prepared<'e, C> {
    /// With what puts it to use, which can't fail, and returns what has changed.
    pub fn new(exchange: impl FnOnce() -> C + 'e) -> Self {
        Self(Box::new(exchange))
    }

    /// Exchanges it.
    pub fn exchange(self) -> C {
        (self.0)()
    }
}

/// A section of which some keys can't change while the process runs: [`lasting!`](crate::lasting) lists them.
pub trait Lasting: Clone {
    /// Puts those keys of `wanted` back to what they are here, and returns the names of those that differed.
    fn keep(&self, wanted: &mut Self) -> Vec<String>;
}

/// Lists the keys of a section that can't change while the process runs, by their fields.
#[macro_export]
macro_rules! lasting {
    ($section:ident: $($key:ident),+) => {
        impl $crate::changes::Lasting for $section {
            fn keep(&self, wanted: &mut Self) -> Vec<String> {
                use $crate::changes::put_back;
                let keys = [$(put_back(stringify!($key), &self.$key, &mut wanted.$key)),+];
                keys.into_iter().flatten().map(|key| key.replace('_', "-")).collect()
            }
        }
    };
}

/// Makes what is wanted what it is, and returns its name if it was something else.
pub fn put_back<'n, T: Clone + PartialEq>(
    name: &'n str,
    running: &T,
    wanted: &mut T,
) -> Option<&'n str> {
    let differs = running != wanted;
    wanted.clone_from(running);
    differs.then_some(name)
}

/// What waits for a restart, as an operator would write it: `[server.postgres] listen`.
#[derive(Debug, Default)]
pub struct Waiting(pub Vec<String>);

impl Waiting {
    /// Keeps a key, or a section as a whole, of this name.
    pub fn keep<T: Clone + PartialEq>(&mut self, name: &str, running: &T, wanted: &mut T) {
        self.0.extend(put_back(name, running, wanted).map(str::to_owned));
    }

    /// Keeps those keys of the section `[name]` that can't change.
    pub fn keep_in<S: Lasting>(&mut self, name: &str, running: &S, wanted: &mut S) {
        self.0.extend(running.keep(wanted).iter().map(|key| format!("[{name}] {key}")));
    }

    /// Keeps all sections `[role.NAME]`, of which none comes and none goes, and those keys of theirs that can't change.
    pub fn keep_all<S: Lasting>(
        &mut self,
        role: &str,
        running: &BTreeMap<String, S>,
        wanted: &mut BTreeMap<String, S>,
    ) {
        let new = wanted.keys().filter(|name| !running.contains_key(*name));
        self.0.extend(new.map(|name| format!("[{role}.{name}], which is new,")));
        wanted.retain(|name, _| running.contains_key(name));
        for (name, section) in running {
            match wanted.get_mut(name) {
                Some(other) => self.keep_in(&format!("{role}.{name}"), section, other),
                None => {
                    self.0.push(format!("[{role}.{name}], which is gone,"));
                    wanted.insert(name.clone(), section.clone());
                }
            }
        }
    }

    /// Warns of it in the log.
    pub fn warn(&self) {
        for key in &self.0 {
            tracing::warn!("{key} has changed in the configuration, and waits for a restart");
        }
    }
}
