//! Queries, forms, and the headers that stand for query parameters.

use std::borrow::Cow;

use serde_json::Value;

use super::fields::Text;
use super::judge::{Judge, Scope, json};
use super::members::{FoldedName, Key, have_same_letters};
use super::percent::{self, Letters};
use super::{Refusal, Rule};

/// The scope of unknown parameters.
const PARAMETER: Scope = Scope { name: "query", side: None, text: Text::Plain, maps: 0 };

/// Parameters that name the requesting network. Without them an NRF takes the requester for one of its own network
/// (TS 29.510 §6.2.3.2.3.1, §6.3.5.2.2).
const REQUESTERS: [&str; 5] = [
    "requesterPlmn",
    "requesterPlmnList",
    "requesterSnpnList",
    "requesterPlmnId",
    "requesterPlmnSpecificSnssaiList",
];

/// How many times a value may be encoded: by the network function, and by a proxy on the path.
const LAYERS: u32 = 3;

/// Judges `a=b&c=d` of a query or form, and returns it as it is forwarded: decoded, and encoded once.
pub(super) fn judge(judge: &mut Judge<'_>, text: &str) -> Result<String, Refusal> {
    let must_name = judge.must_name_its_network();
    let (mut has_requester, mut names_requester) = (false, false);
    let mut out = String::with_capacity(text.len() + 16);
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (raw_name, raw) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (percent::decode_form(raw_name), percent::decode_form(raw))
        else {
            judge.against(Rule::Malformed, PARAMETER.name, pair)?;
            continue;
        };
        let value = parameter(judge, &name, value)?;
        if must_name {
            has_requester |=
                have_same_letters("requesterNfType", &name) || have_same_letters("nfType", &name);
            names_requester |= REQUESTERS.iter().any(|known| have_same_letters(known, &name));
        }
        if !out.is_empty() {
            out.push('&');
        }
        percent::encode(&mut out, &name, Letters::UNRESERVED);
        out.push('=');
        // A comma between values of a list differs from one inside a value (TS 29.501 §5.3.13). Other characters that
        // need no encoding (RFC 3986 §3.4) stay as they were.
        let mut plain = Letters::UNRESERVED;
        for letter in raw.bytes().filter(|byte| matches!(byte, b',' | b':')) {
            plain = plain.and(&[letter]);
        }
        percent::encode(&mut out, &value, plain);
    }
    if has_requester && !names_requester {
        judge.against(judge.rule, REQUESTERS[0], "none")?;
    }
    Ok(out)
}

/// Judges a parameter that was decoded once, and every further decoding of it. Returns its value as it is forwarded.
pub(super) fn parameter<'v>(
    judge: &mut Judge<'_>,
    name: &str,
    value: Cow<'v, str>,
) -> Result<Cow<'v, str>, Refusal> {
    let mut next = again(judge, name, &value)?;
    let first = once(judge, name, &value, next.is_none())?;
    for _ in 1..LAYERS {
        let Some((name, inner)) = next else { return Ok(first.map_or(value, Cow::Owned)) };
        next = again(judge, &name, &inner)?;
        once(judge, &name, &inner, next.is_none())?;
    }
    if next.is_some() {
        judge.against(Rule::Malformed, PARAMETER.name, "percent-encoded too many times")?;
    }
    Ok(first.map_or(value, Cow::Owned))
}

/// Decodes both once more. Returns `None` if they aren't encoded: a literal `%` is fine, unless a lenient reader would
/// decode something else.
fn again(
    judge: &mut Judge<'_>,
    name: &str,
    value: &str,
) -> Result<Option<(String, String)>, Refusal> {
    if !has_escape(name) && !has_escape(value) {
        return Ok(None);
    }
    match (percent::decode(name), percent::decode(value)) {
        (Some(name), Some(value)) => Ok(Some((name.into_owned(), value.into_owned()))),
        _ => {
            let why = "percent-encoded again, but not completely";
            judge.against(Rule::Malformed, PARAMETER.name, why).map(|()| None)
        }
    }
}

fn has_escape(text: &str) -> bool {
    let is_escape = |three: &[u8]| three[0] == b'%' && three[1..].iter().all(u8::is_ascii_hexdigit);
    text.as_bytes().windows(3).any(is_escape)
}

/// Judges a parameter as it is; `is_last`: it isn't encoded any further.
fn once(
    judge: &mut Judge<'_>,
    name: &str,
    value: &str,
    is_last: bool,
) -> Result<Option<String>, Refusal> {
    // Some readers decode a query before splitting it.
    if name.contains(['&', '=']) || value.split('&').skip(1).any(|pair| pair.contains('=')) {
        judge.against(Rule::Malformed, PARAMETER.name, "a parameter within a parameter")?;
    }
    if name.contains('\0') || value.contains('\0') {
        // C programs end a string at NUL.
        judge.against(Rule::Malformed, PARAMETER.name, "contains NUL")?;
    }
    let scope = match judge.name_of_member(PARAMETER, name, &FoldedName::of(name))? {
        Key::Known(member) => judge.below(PARAMETER, member),
        Key::Unknown { is_callback: true } => Scope { text: Text::Callback, ..PARAMETER },
        // No API has half a PLMN ID as a parameter.
        Key::Mcc | Key::Mnc | Key::Mncs => {
            return judge.against(Rule::Malformed, PARAMETER.name, name).map(|()| None);
        }
        Key::Block => {
            return judge.against(Rule::EncBlockIndex, PARAMETER.name, name).map(|()| None);
        }
        Key::Addresses | Key::Unknown { .. } => PARAMETER,
    };
    // Some readers skip more than white space before JSON (RFC 8259 §2).
    let is_json = |text: &str| text.starts_with(['{', '[', '"']);
    let text = value.trim_start_matches([' ', '\t', '\n', '\r']);
    let skipped = value.trim_start_matches(|letter: char| !letter.is_ascii_graphic());
    if !is_json(text) && (is_json(skipped) || value.contains('{')) {
        judge.against(Rule::Malformed, PARAMETER.name, "JSON after other text")?;
    }
    let is_complex = have_same_letters(name, "complexQuery");
    match text.as_bytes().first() {
        Some(b'{' | b'[' | b'"') => {
            let read = json::judge(judge, scope, text)?;
            let is_same = matches!(read, Cow::Borrowed(_)) && text.len() == value.len();
            match is_complex {
                true => complex_query(judge, read.into_owned()).map(Some),
                false => Ok((!is_same).then(|| read.into_owned())),
            }
        }
        Some(_) if is_complex && is_last => {
            judge.against(Rule::Malformed, PARAMETER.name, "a complex query that is not JSON")?;
            Ok(None)
        }
        Some(_) if scope.text.is_string() && !is_last && !percent::is_read_as_it_is(value) => {
            Ok(None)
        }
        Some(_) => list(judge, scope, value),
        None => Ok(None),
    }
}

/// Judges a complex query (TS 29.571 §5.2.4.11), and returns it as it is forwarded. No atom may be a complex query:
/// nesting would double the work at each level.
fn complex_query(judge: &mut Judge<'_>, read: String) -> Result<String, Refusal> {
    let refused = |judge: &mut Judge<'_>, why| judge.against(Rule::Malformed, PARAMETER.name, why);
    if judge.is_in_complex_query {
        return refused(judge, "a complex query within another").map(|()| read);
    }
    let Some(mut query) = json::tree(&read) else {
        return refused(judge, "a complex query that can't be followed").map(|()| read);
    };
    judge.is_in_complex_query = true;
    let judged = atoms(judge, &mut query);
    judge.is_in_complex_query = false;
    Ok(if judged? { query.to_string() } else { read })
}

/// Judges the atoms of a complex query: each is a parameter, and some readers parse its value as JSON text. Returns
/// whether one was replaced.
fn atoms(judge: &mut Judge<'_>, query: &mut Value) -> Result<bool, Refusal> {
    let mut is_new = false;
    match query {
        Value::Array(items) => {
            for item in items {
                is_new |= atoms(judge, item)?;
            }
        }
        Value::Object(members) => {
            let named = |known: &str| {
                members.iter().find(|(name, _)| name.eq_ignore_ascii_case(known)).map(|it| it.1)
            };
            let atom = match (named("attr"), named("value")) {
                (Some(Value::String(name)), Some(value)) => Some((name.clone(), value.clone())),
                _ => None,
            };
            for (name, member) in members {
                match &atom {
                    Some((attribute, value)) if name.eq_ignore_ascii_case("value") => {
                        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                        let judged = parameter(judge, attribute, Cow::Borrowed(&text))?;
                        if *judged != *text {
                            *member = match value {
                                Value::String(_) => Value::String(judged.into_owned()),
                                _ => serde_json::from_str(&judged).unwrap_or_default(),
                            };
                            is_new = true;
                        }
                    }
                    _ => is_new |= atoms(judge, member)?,
                }
            }
        }
        _ => {}
    }
    Ok(is_new)
}

/// Judges one value, or several separated by commas (TS 29.501 §5.3.13).
fn list(judge: &mut Judge<'_>, scope: Scope, value: &str) -> Result<Option<String>, Refusal> {
    let mut is_new = false;
    let mut out = Vec::new();
    for item in value.split(',') {
        let new = judge.text(scope, item)?;
        is_new |= new.is_some();
        out.push(new.map_or(Cow::Borrowed(item), Cow::Owned));
    }
    Ok(is_new.then(|| out.join(",")))
}
