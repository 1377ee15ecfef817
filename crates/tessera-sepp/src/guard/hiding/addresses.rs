//! Address lists in profiles of functions, which peers don't see.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::super::uri::Host;
use super::{Translation, UnknownPseudonym};

/// The address lists of one object.
#[derive(Default)]
pub(in super::super) struct Addresses {
    first: Option<(IpAddr, Option<u16>)>,
    /// The object has a name.
    pub(in super::super) has_name: bool,
}

/// The member for other networks (TS 29.510 §6.1.6.2.2), which is not hidden.
pub(in super::super) const PUBLIC: &str = "interPlmnFqdn";

impl Addresses {
    /// Removes the addresses from `ipv4Addresses`, `ipv6Addresses` or `ipEndPoints`. Returns `None` if nothing remains.
    pub(in super::super) fn take(&mut self, value: Value) -> Option<Value> {
        let Value::Array(mut items) = value else { return None };
        for item in &mut items {
            match item {
                Value::String(text) => self.note(Some(text), None),
                Value::Object(end) => self.take_end(end),
                _ => {}
            }
        }
        items.retain(|item| item.as_object().is_some_and(|end| !end.is_empty()));
        (!items.is_empty()).then_some(Value::Array(items))
    }

    /// Keeps the port and its protocol; readers that ignore case accept several spellings of an address member.
    fn take_end(&mut self, end: &mut Map<String, Value>) {
        let port = end.get("port").and_then(Value::as_u64);
        let port = port.and_then(|port| u16::try_from(port).ok());
        for member in ["ipv4Address", "ipv6Address"] {
            self.note(end.get(member).and_then(Value::as_str), port);
        }
        end.retain(|name, value| match name.as_str() {
            "port" => value.is_u64(),
            "transport" => value.is_string(),
            _ => false,
        });
    }

    fn note(&mut self, text: Option<&str>, port: Option<u16>) {
        self.first = self.first.or_else(|| Some((text?.parse().ok()?, port)));
    }

    /// Returns a name for the first address, if the object has no name.
    pub(in super::super) fn name(
        &self,
        translation: &Translation<'_>,
    ) -> Result<Option<String>, UnknownPseudonym> {
        let Some((address, port)) = self.first.filter(|_| !self.has_name) else { return Ok(None) };
        translation.pseudonyms.hide(translation.peer, Host::Address(address), port).map(Some)
    }
}
