//! Which local network functions a foreign request may reach.

use crate::config::TargetPattern;
use crate::names::{NetworkDomain, PlmnSet, is_within};
use crate::sbi::api_root::ApiRoot;

/// The names that are open to peers. They keep a SEPP from being an open relay (TS 33.501 §5.9.3.2: the destination
/// belongs to the local network).
#[derive(Debug, Clone)]
pub struct Targets {
    own: Vec<NetworkDomain>,
    /// `None`: all of the local domains.
    allowed: Option<Vec<TargetPattern>>,
    /// This SEPP's own names, which lead back to itself.
    never: Vec<String>,
}

impl Targets {
    /// Allows functions in the domains of these networks; only the `allowed` ones if there is such a list. Never this
    /// SEPP itself, or anything below its telescopic domain.
    pub fn new<'n>(
        plmns: &PlmnSet,
        allowed: Option<Vec<TargetPattern>>,
        never: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let mut own: Vec<_> = plmns.iter().map(NetworkDomain::from).collect();
        own.dedup();
        Self { own, allowed, never: never.into_iter().map(str::to_ascii_lowercase).collect() }
    }

    /// Returns whether a network is a local one.
    pub fn is_own(&self, domain: &NetworkDomain) -> bool {
        self.own.contains(domain)
    }

    /// Returns whether a foreign request may go there.
    pub fn allow(&self, target: &ApiRoot<'_>) -> bool {
        let host = target.host.strip_suffix('.').unwrap_or(target.host);
        let is_own = NetworkDomain::of_name(host).is_some_and(|domain| self.is_own(&domain));
        if !is_own || self.never.iter().any(|name| is_within(host, name)) {
            return false;
        }
        match &self.allowed {
            None => true,
            Some(patterns) => patterns.iter().any(|pattern| {
                let name = pattern.name.as_str();
                let is_same = host.eq_ignore_ascii_case(name);
                if pattern.is_wildcard { !is_same && is_within(host, name) } else { is_same }
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEPP: &str = "sepp1.5gc.mnc070.mcc999.3gppnetwork.org";

    fn targets(allowed: Option<&[&str]>) -> Targets {
        let allowed = allowed.map(|all| all.iter().map(|text| text.parse().unwrap()).collect());
        Targets::new(&["999-70".parse().unwrap()].into_iter().collect(), allowed, [SEPP])
    }

    fn allows(targets: &Targets, host: &str) -> bool {
        targets.allow(&ApiRoot::parse(&format!("http://{host}:8000")).unwrap())
    }

    #[test]
    fn only_own_functions_are_reached() {
        let targets = targets(None);
        assert!(allows(&targets, "nrf.5gc.mnc070.mcc999.3gppnetwork.org"));
        assert!(allows(&targets, "NRF.a.5GC.mnc070.mcc999.3gppnetwork.org."));
        for host in [
            "nrf.5gc.mnc001.mcc001.3gppnetwork.org",
            "nrf.5gc.mnc070.mcc999.3gppnetwork.org.evil.example",
            "localhost",
            "etcd.internal",
            SEPP,
            "nrf-n001001.sepp1.5gc.mnc070.mcc999.3gppnetwork.org",
        ] {
            assert!(!allows(&targets, host), "{host}");
        }
    }

    #[test]
    fn a_list_narrows_it_and_never_widens_it() {
        let targets =
            targets(Some(&["*.udm.5gc.mnc070.mcc999.3gppnetwork.org", "evil.example.org"]));
        assert!(allows(&targets, "a.udm.5gc.mnc070.mcc999.3gppnetwork.org"));
        assert!(!allows(&targets, "udm.5gc.mnc070.mcc999.3gppnetwork.org"));
        assert!(!allows(&targets, "nrf.5gc.mnc070.mcc999.3gppnetwork.org"));
        assert!(!allows(&targets, "evil.example.org"));
    }
}
