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
    /// Those that it serves, or will serve when their moves are over.
    pub(crate) clients: usize,
    pub(crate) is_drained: bool,
}

impl Placement {
    pub(crate) fn of(table: &BindingTable) -> Self {
        let mut counts: HashMap<ProxyName, usize> = HashMap::new();
        let (mut clients, mut moving) = (0, 0);
        table.for_each_binding(|_, binding| {
            clients += 1;
            moving += usize::from(matches!(
                binding.state,
                BindingState::Preparing { .. } | BindingState::Announced { .. }
            ));
            match counts.get_mut(destination(binding)) {
                Some(count) => *count += 1,
                None => drop(counts.insert(destination(binding).clone(), 1)),
            }
        });
        let drained: HashSet<_> = table.drains().into_iter().map(|(scope, _)| scope).collect();
        let placed = |(name, entry): (ProxyName, ProxyEntry)| {
            let is_drained = drained.contains(&DrainScope::Proxy(name.clone()))
                || drained.contains(&DrainScope::Site(entry.site.clone()));
            let clients = counts.remove(&name).unwrap_or_default();
            (name, PlacedProxy { entry, clients, is_drained })
        };
        Self { proxies: table.proxies().into_iter().map(placed).collect(), clients, moving }
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
            |(name, proxy): &(&ProxyName, &PlacedProxy)| (Some(*name) == avoided, proxy.clients);
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
        let count = |name: &ProxyName| self.proxies.get(name).map_or(0, |proxy| proxy.clients);
        let most = own.clients.saturating_mul(usize::from(100_u8.saturating_sub(percent)));
        let is_better = |name: &&ProxyName| (count(name) + 1).saturating_mul(100) <= most;
        best.filter(is_better).or(Some(own_name))
    }

    /// Counts a client that moves to this proxy.
    pub(crate) fn place(&mut self, from: &ProxyName, to: &ProxyName) {
        if let Some(proxy) = self.proxies.get_mut(from) {
            proxy.clients = proxy.clients.saturating_sub(1);
        }
        if let Some(proxy) = self.proxies.get_mut(to) {
            proxy.clients += 1;
        }
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
            let proxy = PlacedProxy { entry, clients: *clients, is_drained: *is_drained };
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
        let alone = placement(&[("a", 1, true), ("b", 9, true)]);
        assert_eq!(alone.better(&name("a"), 20), None);
    }
}
