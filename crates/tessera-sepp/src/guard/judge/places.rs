//! Where a function is led to.

use std::borrow::Cow;

use super::Judge;
use crate::guard::network::{Named, Side};
use crate::guard::percent;
use crate::guard::uri::{Host, HttpUri};
use crate::guard::{Refusal, Rule};

/// Judges a URI, or a path, to which a function goes.
pub(in crate::guard) fn place(
    judge: &mut Judge<'_>,
    field: &'static str,
    side: Side,
    text: &str,
) -> Result<(), Refusal> {
    let is_fine = match HttpUri::parse(text) {
        Some(uri) => is_of(judge, side, &uri),
        // A path of the function that was asked; `//host` is another (RFC 3986 §4.2).
        None => HttpUri::parse(&format!("http://host{text}")).is_some_and(|uri| {
            uri.rest == text && text.starts_with('/') && !text.starts_with("//")
        }),
    };
    if is_fine { Ok(()) } else { elsewhere(judge, field, side, text) }
}

/// The parameters of a binding that are URIs by their names: `callback-uri-prefix` (TS 29.500 §5.2.3.2.5).
pub(in crate::guard) fn binding(
    judge: &mut Judge<'_>,
    side: Side,
    value: &str,
) -> Result<(), Refusal> {
    if !judge.is_incoming {
        return Ok(());
    }
    for part in value.split([';', ',']) {
        let Some((name, uri)) = part.split_once('=') else { continue };
        let name = name.to_ascii_lowercase();
        if name.contains("uri") || name.contains("apiroot") {
            let uri = uri.trim().trim_matches('"');
            let uri = percent::decode(uri).unwrap_or(Cow::Borrowed(uri));
            place(judge, "3gpp-sbi-binding", side, &uri)?;
        }
    }
    Ok(())
}

/// Whether a URI leads into a network of this side.
pub(in crate::guard) fn is_of(judge: &Judge<'_>, side: Side, uri: &HttpUri<'_>) -> bool {
    let Host::Name(name) = uri.host else { return false };
    Named::of_domain(name).is_some_and(|named| judge.sides.allow(side, &named))
}

/// Something leads elsewhere than to this side.
pub(in crate::guard) fn elsewhere(
    judge: &mut Judge<'_>,
    field: &'static str,
    side: Side,
    text: &str,
) -> Result<(), Refusal> {
    let refusal = Refusal::new(Rule::CallbackUri, field, text);
    judge.offence(Refusal { allowed: judge.sides.of(side), ..refusal })
}
