//! 307: another SEPP is responsible.

use serde::{Deserialize, Serialize};

use super::{Message, present};
use crate::names::Fqdn;

/// The body of a 307 (`ExtRedirectResponse` of TS 29.573, with the members of `RedirectResponse` of TS 29.571).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtRedirectResponse {
    /// Why.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub cause: Option<String>,
    /// The apiRoot of the other SEPP.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub target_sepp: Option<String>,
    /// The name for discovering the other SEPP.
    #[serde(
        default,
        deserialize_with = "present::member",
        skip_serializing_if = "Option::is_none"
    )]
    pub sepp_fqdn_for_discovery: Option<Fqdn>,
}

impl Message for ExtRedirectResponse {
    const REQUIRED: &'static [&'static str] = &[];
}
