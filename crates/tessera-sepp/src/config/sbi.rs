//! Local network functions.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use http::Uri;
use serde::Deserialize;

use super::{DialAddress, values};
use crate::names::Fqdn;

/// `[sbi]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Sbi {
    /// The certificate chain shown to network functions, PEM, in both roles. Default: none; the listener accepts
    /// plaintext HTTP/2 and HTTP/1.1.
    #[serde(deserialize_with = "values::some_path")]
    pub certificate: Option<PathBuf>,
    /// Its private key, PEM. Default: in the certificate file.
    #[serde(deserialize_with = "values::some_path")]
    pub key: Option<PathBuf>,
    /// The roots of network functions, PEM: required for requests to `https`, and to verify the certificates of
    /// connecting functions.
    #[serde(deserialize_with = "values::some_path")]
    pub ca: Option<PathBuf>,
    /// Whether connecting network functions must show a certificate of `ca`. Default: yes if there is a `ca`.
    pub client_certificates: Option<bool>,
    /// Addresses of network functions by name: `"nrf.5gc.mnc070.mcc999.3gppnetwork.org" = "127.0.0.1:8000"`. DNS
    /// resolves all others, with the port of the target.
    pub hosts: BTreeMap<Fqdn, DialAddress>,
    /// What foreign requests may reach: names; a leading `*.` matches everything below. Default: the domains of the
    /// local networks.
    pub allowed_targets: Option<Vec<TargetPattern>>,
    /// Prefixes of an API's path allowed in a foreign request's `3gpp-Sbi-Target-apiRoot` (TS 29.501 §4.4.1):
    /// `["/core1"]`. Default: none.
    pub target_prefixes: Vec<String>,
    /// The domain of telescopic names (TS 29.573 §6.3). The certificate must contain `*.` and this domain. Default: no
    /// telescopic names.
    pub telescopic_domain: Option<Fqdn>,
}

/// A name; a leading `*.` matches everything below it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct TargetPattern {
    /// The name, without the star.
    pub name: Fqdn,
    /// Whether it matches the names below, and not the name itself.
    pub is_wildcard: bool,
}

impl TargetPattern {
    /// Returns whether it matches this name.
    pub fn allows(&self, name: &Fqdn) -> bool {
        if self.is_wildcard {
            *name != self.name && name.is_within(self.name.as_str())
        } else {
            *name == self.name
        }
    }
}

impl FromStr for TargetPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let below = text.strip_prefix("*.");
        let name = below.unwrap_or(text).parse().map_err(|_| {
            format!("`{text}` is not a name: write \"udm.5gc.mnc070.mcc999.3gppnetwork.org\", or `*.` and a domain")
        })?;
        Ok(Self { name, is_wildcard: below.is_some() })
    }
}

impl TryFrom<String> for TargetPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for TargetPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_wildcard { "*." } else { "" }, self.name)
    }
}

/// `[nrf]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Nrf {
    /// Its address: `http://nrf.5gc.mnc070.mcc999.3gppnetwork.org:8000`. `[sbi] hosts` applies.
    #[serde(deserialize_with = "values::uri")]
    pub uri: Uri,
    /// This SEPP's UUID at the NRF. Default: derived from its FQDN, the same at each start.
    pub instance_id: Option<String>,
    /// The heartbeat interval, unless the NRF asks for another. Default: 10 seconds.
    #[serde(default = "ten_seconds", deserialize_with = "values::duration")]
    pub heartbeat: Duration,
}

fn ten_seconds() -> Duration {
    Duration::from_secs(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_subdomains_and_not_the_domain() {
        let [all, one]: [TargetPattern; 2] =
            ["*.example.org", "udm.example.org"].map(|text| text.parse().unwrap());
        let [below, domain, other]: [Fqdn; 3] =
            ["udm.example.org", "example.org", "udmexample.org"].map(|text| text.parse().unwrap());
        assert!(all.allows(&below) && !all.allows(&domain) && !all.allows(&other));
        assert!(one.allows(&below) && !one.allows(&domain));
        assert_eq!(all.to_string(), "*.example.org");
        for text in ["*", "*.", "a*.example.org", "127.0.0.1", "x.*.org"] {
            text.parse::<TargetPattern>().unwrap_err();
        }
    }
}
