//! Which proxy a client moves to.

use std::collections::{BTreeMap, HashMap, HashSet};

use tessera_bindings::{Binding, BindingState, BindingTable, DrainScope, ProxyEntry, ProxyName};

/// The live proxies, and how many clients each has.
pub(crate) struct Placement {
    pub(crate) proxies: BTreeMap<ProxyName, PlacedProxy>,
    /// The clients with a binding.
    pub(crate) clients: usize,
    /// Those whose moves are between their begin and the switch.
    pub(crate) moving: usize,
}

/// A live proxy.
pub(crate) struct PlacedProxy {
    pub(crate) entry: ProxyEntry,
    /// Those that it serves.
    pub(crate) clients: usize,
    /// Those of them that are moving to another proxy.
    pub(crate) leaving: usize,
    /// Those that are moving to it.
    pub(crate) arriving: usize,
    pub(crate) is_drained: bool,
}

/// The clients of a proxy.
#[derive(Default)]
struct Counts {
    clients: usize,
    leaving: usize,
    arriving: usize,
}

impl Placement {
    pub(crate) fn of(table: &BindingTable) -> Self {
        let proxies = table.proxies();
        let mut counts: HashMap<ProxyName, Counts> =
            proxies.iter().map(|(name, _)| (name.clone(), Counts::default())).collect();
        let (mut clients, mut moving) = (0, 0);
        table.for_each_binding(|_, binding| {
            clients += 1;
            let is_moving = matches!(
                binding.state,
                BindingState::Preparing { .. } | BindingState::Announced { .. }
            );
            moving += usize::from(is_moving);
            if let Some(counts) = counts.get_mut(binding.owner()) {
                counts.clients += 1;
                counts.leaving += usize::from(is_moving);
            }
            if is_moving && let Some(counts) = counts.get_mut(destination(binding)) {
                counts.arriving += 1;
            }
        });
        let drained: HashSet<_> = table.drains().into_iter().map(|(scope, _)| scope).collect();
        let placed = |(name, entry): (ProxyName, ProxyEntry)| {
            let is_drained = drained.contains(&DrainScope::Proxy(name.clone()))
                || drained.contains(&DrainScope::Site(entry.site.clone()));
            let Counts { clients, leaving, arriving } = counts.remove(&name).unwrap_or_default();
            (name, PlacedProxy { entry, clients, leaving, arriving, is_drained })
        };
        Self { proxies: proxies.into_iter().map(placed).collect(), clients, moving }
    }

    /// Returns the proxy with the fewest clients of those that resume the owner's sessions and aren't drained: not the owner
    /// itself, and `avoided` only if there is no other.
    pub(crate) fn best(
        &self,
        owner: &ProxyName,
        avoided: Option<&ProxyName>,
    ) -> Option<&ProxyName> {
        let own = self.proxies.get(owner);
        let fits = |(name, proxy): &(&ProxyName, &PlacedProxy)| {
            let resumes = own.is_none_or(|own| own.entry.resumption == proxy.entry.resumption);
            *name != owner && !proxy.is_drained && resumes
        };
        let order =
            |(name, proxy): &(&ProxyName, &PlacedProxy)| (Some(*name) == avoided, proxy.later());
        self.proxies.iter().filter(fits).min_by_key(order).map(|(name, _)| name)
    }

    /// Returns where a client of this owner is placed best: at its owner, unless that is drained or dead, or another has, with
    /// the client, at least `percent` percent fewer clients.
    pub(crate) fn better(&self, owner: &ProxyName, percent: u8) -> Option<&ProxyName> {
        let best = self.best(owner, None);
        let Some((own_name, own)) = self.proxies.get_key_value(owner) else { return best };
        if own.is_drained {
            return best;
        }
        let count = |name: &ProxyName| self.proxies.get(name).map_or(0, PlacedProxy::later);
        let most = own.later().saturating_mul(usize::from(100_u8.saturating_sub(percent)));
        let is_better = |name: &&ProxyName| (count(name) + 1).saturating_mul(100) <= most;
        best.filter(is_better).or(Some(own_name))
    }

    /// Counts a client that moves to this proxy.
    pub(crate) fn place(&mut self, from: &ProxyName, to: &ProxyName) {
        if let Some(proxy) = self.proxies.get_mut(from) {
            proxy.leaving += 1;
        }
        if let Some(proxy) = self.proxies.get_mut(to) {
            proxy.arriving += 1;
        }
    }
}

impl PlacedProxy {
    /// Returns how many clients it serves once all moves are over.
    fn later(&self) -> usize {
        self.clients.saturating_add(self.arriving).saturating_sub(self.leaving)
    }
}

/// Returns the proxy at which a client is once its move is over.
pub(super) fn destination(binding: &Binding) -> &ProxyName {
    match &binding.state {
        BindingState::Preparing { next, .. } | BindingState::Announced { next, .. } => next,
        BindingState::Stable { owner } | BindingState::Switched { owner, .. } => owner,
    }
}

#[cfg(test)]
mod tests {
    use tessera_bindings::PoolSettings;

    use super::*;

    fn placement(proxies: &[(&str, usize, bool)]) -> Placement {
        let placed = |(name, clients, is_drained): &(&str, usize, bool)| {
            let entry = ProxyEntry {
                authority: String::new(),
                forward: String::new(),
                resumption: if name.starts_with('x') { "other" } else { "same" }.into(),
                site: String::new(),
                life: String::new(),
                vault: None,
                settings: PoolSettings::default(),
            };
            // As many come as go.
            let proxy = PlacedProxy {
                entry,
                clients: *clients,
                leaving: 1,
                arriving: 1,
                is_drained: *is_drained,
            };
            (ProxyName((*name).into()), proxy)
        };
        let proxies = proxies.iter().map(placed).collect();
        Placement { proxies, clients: 0, moving: 0 }
    }

    fn name(name: &str) -> ProxyName {
        ProxyName(name.into())
    }

    #[test]
    fn a_client_moves_to_the_fewest_clients_that_resume_its_session() {
        let pool = placement(&[
            ("a", 9, false),
            ("b", 3, false),
            ("c", 2, false),
            ("d", 0, true),
            ("x", 0, false),
        ]);
        assert_eq!(pool.best(&name("a"), None), Some(&name("c")));
        assert_eq!(pool.best(&name("a"), Some(&name("c"))), Some(&name("b")));
        assert_eq!(pool.best(&name("c"), None), Some(&name("b")));
        assert_eq!(pool.best(&name("x"), None), None);
        // A dead owner's sessions are what the others have.
        assert_eq!(pool.best(&name("dead"), None), Some(&name("x")));
        let two = placement(&[("a", 9, false), ("b", 3, false)]);
        assert_eq!(two.best(&name("a"), Some(&name("b"))), Some(&name("b")), "the only one");
    }

    #[test]
    fn a_client_stays_unless_another_proxy_has_far_fewer_clients() {
        let better = |here, there, percent| {
            let pool = placement(&[("a", here, false), ("b", there, false)]);
            pool.better(&name("a"), percent) == Some(&name("b"))
        };
        assert!(better(10, 7, 20), "8 of 10 with the client");
        assert!(!better(10, 8, 20));
        assert!(!better(1, 0, 20), "it would come back");
        assert!(better(2, 0, 20) && !better(1, 1, 20));
        assert!(better(1, 0, 0), "without hysteresis");
        let drained = placement(&[("a", 1, true), ("b", 9, false)]);
        assert_eq!(drained.better(&name("a"), 20), Some(&name("b")));
        let mut announced = placement(&[("a", 10, false), ("b", 0, false)]);
        for _ in 0..5 {
            announced.place(&name("a"), &name("b"));
        }
        assert_eq!(announced.better(&name("a"), 20), Some(&name("a")), "half are on their way");
        let alone = placement(&[("a", 1, true), ("b", 9, true)]);
        assert_eq!(alone.better(&name("a"), 20), None);
    }
}
