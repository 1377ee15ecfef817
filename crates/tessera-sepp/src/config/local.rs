//! The identity of this SEPP.

use std::path::PathBuf;

use serde::Deserialize;

use super::values;
use crate::names::{Fqdn, PlmnSet};

/// `[local]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Local {
    /// Its name on N32, which its certificate must contain: `sepp1.5gc.mnc070.mcc999.3gppnetwork.org`.
    pub fqdn: Fqdn,
    /// The networks that it represents: `["999-70"]`.
    #[serde(deserialize_with = "values::plmns")]
    pub plmns: PlmnSet,
    /// The certificate chain, PEM, leaf first: for both roles on N32.
    #[serde(deserialize_with = "values::path")]
    pub certificate: PathBuf,
    /// Its private key, PEM. Default: in the certificate file.
    #[serde(default, deserialize_with = "values::some_path")]
    pub key: Option<PathBuf>,
    /// A DER-encoded OCSP response for the certificate, which is stapled (RFC 6066 §8). Default: none.
    #[serde(default, deserialize_with = "values::some_path")]
    pub ocsp: Option<PathBuf>,
}
