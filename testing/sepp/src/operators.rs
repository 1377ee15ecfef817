//! The names of the operators' SEPPs.

use tessera_proxy::demo;

/// The home network's SEPP, with all its instances.
pub const HOME: &str = demo::HOME.fqdn;

/// The visited network's.
pub const VISITED: &str = demo::VISITED.fqdn;

/// A third operator's, which the home network knows.
pub const THIRD: &str = demo::THIRD.fqdn;
