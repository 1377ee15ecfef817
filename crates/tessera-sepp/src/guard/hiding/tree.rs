//! JSON rewritten by a tree: answers of an NRF, whose lists of addresses go, and texts with escapes where something
//! must change.

use serde_json::{Map, Value};

use super::super::fields::{Key, Text};
use super::super::uri::{Host, HttpUri, Look};
use super::{NotOurs, Translation, Way};

/// The text with names translated, and without addresses of functions if they are to be hidden: in their place is a
/// name that stands for the first. None if it isn't JSON.
pub(in super::super) fn rewritten(
    translation: &Translation<'_>,
    text: &str,
) -> Result<Option<String>, NotOurs> {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return Ok(None) };
    rewrite(translation, &mut value, false)?;
    Ok(serde_json::to_string(&value).ok())
}

/// Depth is bounded by serde_json's reader.
fn rewrite(translation: &Translation<'_>, value: &mut Value, is_name: bool) -> Result<(), NotOurs> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => {
            if let Some(new) = translated(translation, text, is_name)? {
                *text = new;
            }
            Ok(())
        }
        Value::Array(items) => {
            items.iter_mut().try_for_each(|item| rewrite(translation, item, is_name))
        }
        Value::Object(members) => {
            if translation.way == Way::Hide {
                without_addresses(translation, members)?;
            }
            for (name, value) in members.iter_mut() {
                rewrite(translation, value, names_function(name))?;
            }
            Ok(())
        }
    }
}

/// Whether a member is the name of a function that the function alone decides; the one for other networks is public.
fn names_function(name: &str) -> bool {
    matches!(Key::of(name), Key::Known(field) if field.text == Text::Name && field.name != PUBLIC)
}

/// The member for other networks (TS 29.510 §6.1.6.2.2).
pub(in super::super) const PUBLIC: &str = "interPlmnFqdn";

fn translated(
    translation: &Translation<'_>,
    text: &str,
    is_name: bool,
) -> Result<Option<String>, NotOurs> {
    if is_name {
        return translation.name(text);
    }
    let Look::Uri(uri) = HttpUri::look(text) else { return Ok(None) };
    let authority = translation.authority(&uri)?;
    Ok(authority.map(|authority| format!("{}{authority}{}", uri.scheme, uri.rest)))
}

/// Takes addresses out of a profile or service, and gives it a name if it has none.
fn without_addresses(
    translation: &Translation<'_>,
    members: &mut Map<String, Value>,
) -> Result<(), NotOurs> {
    let mut first = None;
    for list in ["ipv4Addresses", "ipv6Addresses"] {
        let addresses = members.remove(list);
        let found = addresses.as_ref().and_then(|list| list.get(0)).and_then(Value::as_str);
        first = first.or_else(|| Some((found?.parse().ok()?, None)));
    }
    if let Some(Value::Array(ends)) = members.get_mut("ipEndPoints") {
        for end in ends.iter_mut().filter_map(Value::as_object_mut) {
            let port =
                end.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok());
            for member in ["ipv4Address", "ipv6Address"] {
                let address = end.remove(member);
                let found = address.as_ref().and_then(Value::as_str);
                first = first.or_else(|| Some((found?.parse().ok()?, port)));
            }
        }
        ends.retain(|end| end.as_object().is_none_or(|end| !end.is_empty()));
        if ends.is_empty() {
            members.remove("ipEndPoints");
        }
    }
    let has_name = members.contains_key("fqdn") || members.contains_key(PUBLIC);
    if let Some((address, port)) = first.filter(|_| !has_name) {
        let name = translation.pseudonyms.hide(translation.peer, Host::Address(address), port)?;
        members.insert("fqdn".to_owned(), Value::String(name));
    }
    Ok(())
}
