//! Connections to local network functions.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use http::uri::{Authority, Scheme as UriScheme};
use tessera_proxy::address::HostPort;
use tessera_proxy::http::client::{Connect, Pool, PoolOptions};

use crate::config::DialAddress;
use crate::names::Fqdn;
use crate::sbi::api_root::{ApiRoot, Scheme};
use crate::sbi::errors::{Problem, problems};

/// Connection pools of local network functions, created on demand: a bounded number, and few for each peer, so that one
/// peer alone can't evict what others use; the least recently used one is evicted.
pub(super) struct Functions {
    hosts: BTreeMap<Fqdn, DialAddress>,
    options: PoolOptions,
    pools: RwLock<HashMap<Box<str>, Function>>,
    uses: AtomicU64,
}

struct Function {
    pool: Pool,
    /// The peer that first asked for it; `None`: this SEPP.
    peer: Option<Fqdn>,
    used: AtomicU64,
}

/// How to reach a function.
#[derive(Clone)]
pub(super) struct FunctionRoute {
    pub(super) pool: Pool,
    pub(super) scheme: UriScheme,
    pub(super) authority: Authority,
}

impl Functions {
    pub(super) fn new(hosts: BTreeMap<Fqdn, DialAddress>, options: PoolOptions) -> Self {
        Self { hosts, options, pools: RwLock::default(), uses: AtomicU64::new(0) }
    }

    /// Returns whether another configuration locates the functions at the same addresses.
    pub(super) fn are_at(&self, hosts: &BTreeMap<Fqdn, DialAddress>) -> bool {
        self.hosts == *hosts
    }

    /// Returns the connections to a target, for a request of this peer or of this SEPP; `connect` opens them.
    pub(super) fn of(
        &self,
        target: &ApiRoot<'_>,
        peer: Option<&Fqdn>,
        connect: impl FnOnce(Scheme, &str) -> Arc<dyn Connect>,
    ) -> Result<FunctionRoute, Problem> {
        let host = target.host.strip_suffix('.').unwrap_or(target.host).to_ascii_lowercase();
        let port = target.port.unwrap_or(target.scheme.default_port());
        // A hidden name may resolve to an address.
        let address = || match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => DialAddress::Tcp((address, port).into()),
            Err(_) => DialAddress::Name(HostPort { host: host.clone(), port }),
        };
        let known = self.hosts.get(host.as_str());
        // Where the address is configured, ports make no difference.
        let scheme = target.scheme.as_str();
        let key = match known {
            Some(_) => format!("{scheme}://{host}"),
            None => format!("{scheme}://{host}:{port}"),
        };
        let pool = match self.find(&key) {
            Some(pool) => pool,
            None => {
                let connect = connect(target.scheme, &host);
                let address = known.cloned().unwrap_or_else(address);
                self.put(key, Pool::new(connect, address, self.options.clone()), peer)
            }
        };
        Ok(FunctionRoute {
            pool,
            scheme: match target.scheme {
                Scheme::Http => UriScheme::HTTP,
                Scheme::Https => UriScheme::HTTPS,
            },
            authority: target.authority.parse().map_err(|_| problems::BAD_TARGET)?,
        })
    }

    fn find(&self, key: &str) -> Option<Pool> {
        let pools = self.pools.read().unwrap_or_else(PoisonError::into_inner);
        let function = pools.get(key)?;
        function.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(function.pool.clone())
    }

    /// Adds a pool, and returns it, or the one that another request has added meanwhile.
    fn put(&self, key: String, pool: Pool, peer: Option<&Fqdn>) -> Pool {
        let mut pools = self.pools.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = pools.get(key.as_str()) {
            return function.pool.clone();
        }
        let is_peers = |function: &Function| function.peer.as_ref() == peer;
        if pools.values().filter(|function| is_peers(function)).count() >= FUNCTIONS_OF_PEER {
            evict(&mut pools, is_peers);
        } else if pools.len() >= MAX_FUNCTIONS {
            evict(&mut pools, |_| true);
        }
        let used = AtomicU64::new(self.uses.fetch_add(1, Ordering::Relaxed));
        pools.insert(key.into(), Function { pool: pool.clone(), peer: peer.cloned(), used });
        pool
    }
}

/// Removes the least recently used of these.
fn evict(pools: &mut HashMap<Box<str>, Function>, is_one: impl Fn(&Function) -> bool) {
    let oldest = pools
        .iter()
        .filter(|(_, function)| is_one(function))
        .min_by_key(|(_, function)| function.used.load(Ordering::Relaxed));
    if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
        pools.remove(&oldest);
    }
}

/// The maximum number of network functions with a pool.
const MAX_FUNCTIONS: usize = 1024;

/// The maximum number of them that one peer was the first to ask for: a home network has fewer that partners ask.
const FUNCTIONS_OF_PEER: usize = 64;

#[cfg(test)]
mod tests {
    use tessera_proxy::http::client::{Plaintext, Protocol};

    use super::*;

    #[tokio::test]
    async fn no_peer_takes_the_place_of_others() {
        let known: Fqdn = "udm.example.org".parse().unwrap();
        let hosts = [(known, DialAddress::Tcp(([127, 0, 0, 1], 1).into()))].into();
        let functions = Functions::new(hosts, PoolOptions::default());
        let ask = |target: &str, peer: &str| {
            let target = ApiRoot::parse(target).unwrap();
            let plain = |_, _: &str| Arc::new(Plaintext(Protocol::Http2)) as Arc<dyn Connect>;
            let route = functions.of(&target, Some(&peer.parse().unwrap()), plain).unwrap();
            assert_eq!(route.authority.as_str(), target.authority);
            functions.pools.read().unwrap().len()
        };
        // Its address is configured.
        for port in 1..100 {
            assert_eq!(ask(&format!("http://udm.example.org:{port}"), "a.example"), 1);
        }
        assert_eq!(ask("http://honest.example.org", "honest.example"), 2);
        // Two targets, though `http` and `s` are `https`.
        assert_eq!(ask("http://sudm.example.org", "a.example"), 3);
        assert_eq!(ask("https://udm.example.org", "a.example"), 4);
        for number in 0..2 * MAX_FUNCTIONS {
            let pools = ask(&format!("http://{number}.example.org"), "flood.example");
            assert!(pools <= 4 + FUNCTIONS_OF_PEER, "{pools}");
        }
        let honest = |it: &Functions| it.find("http://honest.example.org:80").is_some();
        assert!(honest(&functions), "{:?}", functions.pools.read().unwrap().keys());
    }
}
