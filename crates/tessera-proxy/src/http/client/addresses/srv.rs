//! Addresses from DNS (RFC 2782).

use std::fmt;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::proto::rr::RData;
use tokio::time::{Instant, timeout};

use super::Target;
use crate::address::{DialAddress, HostPort};

/// A name whose SRV records list a service's hosts, ports, priorities and weights, such as `_n32c._tcp.sepp.example`.
/// The hosts' addresses are resolved at connecting.
pub struct Srv {
    name: String,
    resolver: TokioResolver,
}

/// Why DNS returned no address.
#[derive(Debug)]
pub struct SrvError(String);

impl Srv {
    /// Uses the system's name servers (`/etc/resolv.conf`).
    pub fn of_system(name: impl Into<String>) -> Result<Self, SrvError> {
        let builder =
            TokioResolver::builder_tokio().map_err(|error| SrvError(error.to_string()))?;
        let resolver = builder.build().map_err(|error| SrvError(error.to_string()))?;
        Ok(Self::new(name, resolver))
    }

    /// Uses this resolver.
    pub fn new(name: impl Into<String>, resolver: TokioResolver) -> Self {
        Self { name: name.into(), resolver }
    }

    /// Returns the hosts, at least one, and when to query again.
    pub(in crate::http::client) async fn look_up(
        &self,
    ) -> Result<(Vec<Target>, Instant), SrvError> {
        let asked = timeout(LONGEST_LOOK_UP, self.resolver.srv_lookup(self.name.as_str())).await;
        let failed = |why: &dyn fmt::Display| SrvError(format!("{}: {why}", self.name));
        let found = asked.map_err(|_| failed(&"no answer"))?.map_err(|error| failed(&error))?;
        let records = found.answers().iter();
        let targets: Vec<_> = records.filter_map(|record| target(&record.data)).collect();
        if targets.is_empty() {
            return Err(failed(&"there is no such service"));
        }
        let now = Instant::now();
        let valid = found.valid_until().saturating_duration_since(now.into_std());
        Ok((targets, now + valid.clamp(SHORTEST_TTL, LONGEST_TTL)))
    }
}

fn target(data: &RData) -> Option<Target> {
    let RData::SRV(srv) = data else { return None };
    // RFC 2782: the target "." means that the service isn't offered.
    if srv.target.is_root() || srv.port == 0 {
        return None;
    }
    let host = srv.target.to_utf8().trim_end_matches('.').to_ascii_lowercase();
    let address = DialAddress::Name(HostPort { host, port: srv.port });
    Some(Target { address, priority: srv.priority, weight: srv.weight })
}

/// Query no more often, even with a shorter TTL.
const SHORTEST_TTL: Duration = Duration::from_secs(5);
/// With a longer TTL, new hosts would be found too late.
const LONGEST_TTL: Duration = Duration::from_secs(300);
pub(in crate::http::client) const LONGEST_LOOK_UP: Duration = Duration::from_secs(5);

impl fmt::Debug for Srv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Srv").field(&self.name).finish()
    }
}

impl fmt::Display for SrvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SRV {}", self.0)
    }
}

impl std::error::Error for SrvError {}
