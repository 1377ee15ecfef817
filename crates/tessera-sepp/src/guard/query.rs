//! Queries, forms, and the headers that stand for query parameters.

use std::borrow::Cow;

use super::fields::{Key, Text};
use super::identity::Identity;
use super::judge::{Judge, Scope, json};
use super::source::Source;
use super::{Refusal, Rule, percent};

/// A scope for parameters that aren't known.
const PARAMETER: Scope = Scope { name: "query", side: None, text: Text::Plain };

/// How often a value may be encoded: by the network function, and by a proxy on the way.
const LAYERS: u32 = 3;

/// Judges `a=b&c=d`, of a query or of a form.
pub(super) fn judge(judge: &mut Judge<'_>, text: &str) -> Result<(), Refusal> {
    // Some readers part the pairs at semicolons too: what stands behind one is judged in both ways.
    let behind = text.split('&').flat_map(|pair| pair.split(';').skip(1));
    for pair in text.split('&').chain(behind).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(name), Some(value)) = (percent::decode_form(name), percent::decode_form(value))
        else {
            judge.against(Rule::Malformed, PARAMETER.name, pair)?;
            continue;
        };
        parameter(judge, &name, &value)?;
    }
    Ok(())
}

/// Judges one parameter, decoded once, and as often more as it is encoded.
pub(super) fn parameter(judge: &mut Judge<'_>, name: &str, value: &str) -> Result<(), Refusal> {
    let mut name = Cow::Borrowed(name);
    let mut value = Cow::Borrowed(value);
    for _ in 0..LAYERS {
        once(judge, &name, &value)?;
        if !name.contains('%') && !value.contains('%') {
            return Ok(());
        }
        // A `%` that stands for itself ends it: whoever decodes once more fails there too.
        let (Some(next_name), Some(next_value)) = (again(&name), again(&value)) else {
            return Ok(());
        };
        (name, value) = (next_name, next_value);
    }
    judge.against(Rule::Malformed, PARAMETER.name, "encoded again and again")
}

fn again(text: &str) -> Option<Cow<'static, str>> {
    percent::decode(text).map(|text| Cow::Owned(text.into_owned()))
}

fn once(judge: &mut Judge<'_>, name: &str, value: &str) -> Result<(), Refusal> {
    let scope = match Key::of(name) {
        Key::Known(field) => {
            let side = judge.kind.side(field, None);
            Scope { name: field.name, side: Some(side), text: field.text }
        }
        Key::Callback => Scope { text: Text::Callback, ..PARAMETER },
        // Half a PLMN ID of its own is in no API.
        Key::Mcc | Key::Mnc => return judge.against(Rule::Malformed, PARAMETER.name, name),
        Key::Block => return judge.against(Rule::EncBlockIndex, PARAMETER.name, name),
        Key::Addresses | Key::Other => PARAMETER,
    };
    if let Some(identity) = Identity::of(name) {
        judge.identity(scope, name, identity)?;
    }
    let text = value.trim_start();
    match text.as_bytes().first() {
        Some(b'{' | b'[' | b'"') => json::judge(judge, scope, text, Source::Fixed),
        // It may be encoded once more.
        Some(_) if scope.text == Text::Plmn && value.contains('%') => Ok(()),
        Some(_) if scope.text == Text::Plmn => {
            value.split(',').try_for_each(|value| judge.text(scope, value.trim(), Source::Fixed))
        }
        Some(_) => value.split(',').try_for_each(|value| judge.text(scope, value, Source::Fixed)),
        None => Ok(()),
    }
}
