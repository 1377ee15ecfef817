//! Values that need more than a string or a number.

use http::{Method, Uri};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
pub(super) use tessera_proxy::config::de::{
    bytes, duration, path, paths, some_duration, some_key, some_path,
};

use super::api;
use crate::names::{PlmnId, PlmnSet};

/// Reads networks as `999-70`, at least one.
pub(super) fn plmns<'de, D: Deserializer<'de>>(from: D) -> Result<PlmnSet, D::Error> {
    let wrong = |text: &str, why| D::Error::custom(format!("`{text}`: {why}"));
    let texts = Vec::<String>::deserialize(from)?;
    if texts.is_empty() {
        return Err(D::Error::custom("must have at least one network, such as [\"999-70\"]"));
    }
    let parse = |text: &String| text.parse::<PlmnId>().map_err(|why| wrong(text, why));
    texts.iter().map(parse).collect()
}

/// Reads methods by their names.
pub(super) fn methods<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Method>, D::Error> {
    let names = Vec::<String>::deserialize(from)?;
    names.iter().map(|name| api::method(name).map_err(D::Error::custom)).collect()
}

/// Reads `http://` or `https://` and an authority.
pub(super) fn uri<'de, D: Deserializer<'de>>(from: D) -> Result<Uri, D::Error> {
    let text = String::deserialize(from)?;
    let uri = text.parse::<Uri>().ok().filter(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some()
            && uri.query().is_none()
    });
    uri.ok_or_else(|| {
        D::Error::custom(
            "must be an address such as \"http://nrf.5gc.mnc070.mcc999.3gppnetwork.org:8000\"",
        )
    })
}
