//! Access tokens (TS 29.510 §6.3.5.2.4): what they claim is compared, before their signature is checked.
//! That is for the function that is asked (TS 33.501 §13.4.1.2).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::json;
use super::{Judge, Scope};
use crate::guard::fields::Text;
use crate::guard::{Refusal, Rule};

const CLAIMS: Scope = Scope { name: "access token", side: None, text: Text::Plain, is_map: false };

/// Judges a JWS in compact form.
pub(in crate::guard) fn judge(judge: &mut Judge<'_>, token: &str) -> Result<(), Refusal> {
    // No claim is a token: one within another would lead down without end.
    if judge.rule == Rule::PlmnInToken {
        return judge.against(Rule::Malformed, CLAIMS.name, "has another in it");
    }
    let Some(claims) = claims(token) else {
        return judge.against(Rule::Malformed, CLAIMS.name, "is no JWT");
    };
    let around = std::mem::replace(&mut judge.rule, Rule::PlmnInToken);
    // An issuer adds claims of its own (RFC 7519 §4.3).
    let knows_members = std::mem::take(&mut judge.knows_members);
    let judged = json::judge(judge, CLAIMS, &claims).map(|_| ());
    (judge.rule, judge.knows_members) = (around, knows_members);
    judged
}

/// The middle of three parts.
fn claims(token: &str) -> Option<String> {
    let mut parts = token.split('.');
    let [_, claims, _] = [parts.next()?, parts.next()?, parts.next()?];
    let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    parts.next().is_none().then(|| String::from_utf8(claims).ok()).flatten()
}
