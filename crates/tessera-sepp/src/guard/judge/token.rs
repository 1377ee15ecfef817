//! Access tokens (TS 29.510 §6.3.5.2.4): compares their claims without verifying the signature, which the responding
//! function does (TS 33.501 §13.4.1.2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::places::{elsewhere, is_of};
use super::{Judge, Scope, json};
use crate::guard::fields::Text;
use crate::guard::members::FoldedName;
use crate::guard::network::Side;
use crate::guard::uri::HttpUri;
use crate::guard::{Refusal, Rule};

const CLAIMS: Scope = Scope { name: "access token", side: None, text: Text::Plain, maps: 0 };

/// Judges a JWS in compact form.
pub(in crate::guard) fn judge(judge: &mut Judge<'_>, token: &str) -> Result<(), Refusal> {
    // No claim may be a token: nesting would be unbounded.
    if judge.rule == Rule::PlmnInToken {
        return judge.against(Rule::Malformed, CLAIMS.name, "contains another token");
    }
    let Some([header, claims]) = parts(token) else {
        return judge.against(Rule::Malformed, CLAIMS.name, "not a JWT");
    };
    let around = std::mem::replace(&mut judge.rule, Rule::PlmnInToken);
    // An issuer may add its own claims (RFC 7519 §4.3).
    let knows_members = std::mem::take(&mut judge.knows_members);
    // If the header has a duplicate member, receivers may take either.
    let judged = json::judge(judge, Scope { name: "JOSE header", ..CLAIMS }, &header)
        .and_then(|header| places_of_keys(judge, &header))
        .and_then(|()| json::judge(judge, CLAIMS, &claims))
        .map(|_| ());
    (judge.rule, judge.knows_members) = (around, knows_members);
    judged
}

/// Judges where the header, as it was read, locates keys and certificates (RFC 7515 §4.1): a function that follows it fetches from
/// there.
fn places_of_keys(judge: &mut Judge<'_>, header: &str) -> Result<(), Refusal> {
    match json::tree(header) {
        Some(header @ Value::Object(_)) => places_in(judge, &header),
        _ => judge.against(Rule::Malformed, CLAIMS.name, "has no header"),
    }
}

/// Also judges keys within the header (RFC 7517 §4.6).
fn places_in(judge: &mut Judge<'_>, value: &Value) -> Result<(), Refusal> {
    let members = match value {
        Value::Array(items) => return items.iter().try_for_each(|item| places_in(judge, item)),
        Value::Object(members) => members,
        _ => return Ok(()),
    };
    for (name, value) in members {
        places_in(judge, value)?;
        let name = FoldedName::of(name).whole;
        let is_place = ["jku", "x5u"].iter().any(|place| name == FoldedName::of(place).whole);
        if is_place && judge.is_incoming {
            let text = value.as_str().unwrap_or_default();
            let is_fine = HttpUri::parse(text).is_some_and(|uri| is_of(judge, Side::Sender, &uri));
            if !is_fine {
                elsewhere(judge, CLAIMS.name, Side::Sender, text)?;
            }
        }
    }
    Ok(())
}

/// Returns header and claims of a token with three parts.
fn parts(token: &str) -> Option<[String; 2]> {
    let mut parts = token.split('.');
    let [header, claims, _] = [parts.next()?, parts.next()?, parts.next()?];
    let text = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok()?;
        String::from_utf8(bytes).ok()
    };
    let both = [text(header)?, text(claims)?];
    parts.next().is_none().then_some(both)
}
