//! Connections to local network functions.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use http::uri::{Authority, Scheme as UriScheme};
use tessera_proxy::address::HostPort;
use tessera_proxy::http::client::{Pool, PoolOptions};

use super::connects::ConnectorFactory;
use crate::config::DialAddress;
use crate::names::Fqdn;
use crate::sbi::api_root::{ApiRoot, Scheme};
use crate::sbi::errors::{Problem, problems};

/// Connection pools of local network functions, created on demand: a bounded number; the least recently used one is
/// evicted.
pub(super) struct Functions {
    hosts: BTreeMap<Fqdn, DialAddress>,
    connects: Arc<dyn ConnectorFactory>,
    options: PoolOptions,
    pools: RwLock<HashMap<Box<str>, Function>>,
    uses: AtomicU64,
}

struct Function {
    reached: FunctionRoute,
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
    pub(super) fn new(
        hosts: BTreeMap<Fqdn, DialAddress>,
        connects: Arc<dyn ConnectorFactory>,
        options: PoolOptions,
    ) -> Self {
        Self { hosts, connects, options, pools: RwLock::default(), uses: AtomicU64::new(0) }
    }

    /// Returns whether another configuration locates the functions at the same addresses.
    pub(super) fn are_at(&self, hosts: &BTreeMap<Fqdn, DialAddress>) -> bool {
        self.hosts == *hosts
    }

    /// Returns the connections to a target.
    pub(super) fn of(&self, target: &ApiRoot<'_>) -> Result<FunctionRoute, Problem> {
        // `http` and `https` differ in length, so no two targets share a key.
        let mut key = format!("{}{}", target.scheme.as_str(), target.authority);
        key.make_ascii_lowercase();
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        let pools = self.pools.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = pools.get(key.as_str()) {
            function.used.store(now, Ordering::Relaxed);
            return Ok(function.reached.clone());
        }
        drop(pools);
        let reached = self.make(target)?;
        let mut pools = self.pools.write().unwrap_or_else(PoisonError::into_inner);
        if pools.len() >= MAX_FUNCTIONS {
            let oldest = pools.iter().min_by_key(|(_, one)| one.used.load(Ordering::Relaxed));
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                pools.remove(&oldest);
            }
        }
        let function = Function { reached, used: AtomicU64::new(now) };
        Ok(pools.entry(key.into()).or_insert(function).reached.clone())
    }

    fn make(&self, target: &ApiRoot<'_>) -> Result<FunctionRoute, Problem> {
        let host = target.host.strip_suffix('.').unwrap_or(target.host).to_ascii_lowercase();
        let address = self.hosts.get(host.as_str()).cloned().unwrap_or_else(|| {
            let port = target.port.unwrap_or(target.scheme.default_port());
            // A hidden name may resolve to an address.
            match host.trim_matches(['[', ']']).parse::<IpAddr>() {
                Ok(address) => DialAddress::Tcp((address, port).into()),
                Err(_) => DialAddress::Name(HostPort { host: host.clone(), port }),
            }
        });
        let connect = self.connects.function(target.scheme, &host).ok_or(match target.scheme {
            Scheme::Https => NO_TLS,
            Scheme::Http => problems::UNREACHABLE,
        })?;
        Ok(FunctionRoute {
            pool: Pool::new(connect, address, self.options.clone()),
            scheme: match target.scheme {
                Scheme::Http => UriScheme::HTTP,
                Scheme::Https => UriScheme::HTTPS,
            },
            authority: target.authority.parse().map_err(|_| problems::BAD_TARGET)?,
        })
    }
}

/// The maximum number of network functions with a pool.
const MAX_FUNCTIONS: usize = 1024;

const NO_TLS: Problem = Problem::new(
    http::StatusCode::GATEWAY_TIMEOUT,
    "TARGET_NF_NOT_REACHABLE",
    "the target uses https, but [sbi] ca is not configured",
);
