//! Names of networks and their SEPPs: PLMN IDs, and the domain names that follow from them.

mod domain;
mod fqdn;
mod plmn;
mod services;

pub use self::domain::NetworkDomain;
pub(crate) use self::fqdn::is_within;
pub use self::fqdn::{Fqdn, NotAnFqdn};
pub use self::plmn::{NotAPlmnId, PlmnId, PlmnSet};
pub(crate) use self::services::SERVICES;
