//! Which certificates are trusted, and for which networks.

use std::path::PathBuf;

use serde::Deserialize;

use super::values;
use crate::names::PlmnSet;

/// `[trust.NAME]`: a trust anchor of TS 33.501 §13.1.2: roots, and the networks that they may represent. A network is
/// in at most one anchor, and a certificate is judged only by the anchor of its networks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrustAnchor {
    /// The networks: `["001-01"]`.
    #[serde(deserialize_with = "values::plmns")]
    pub plmns: PlmnSet,
    /// Roots, PEM.
    #[serde(deserialize_with = "values::path")]
    pub roots: PathBuf,
    /// Revocation lists, PEM or DER. Default: none; revocation isn't checked.
    #[serde(default, deserialize_with = "values::paths")]
    pub crl: Vec<PathBuf>,
}
