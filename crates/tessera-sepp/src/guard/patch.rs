//! JSON Patch (RFC 6902): where a value goes to is in another member than the value.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::fields::{Key, Text};
use super::judge::{Judge, Scope, json};
use super::network::Named;
use super::source::Source;
use super::{Refusal, Rule};

/// Twice a member, and it is malformed.
#[derive(Deserialize)]
struct Operation<'a> {
    #[serde(borrow)]
    path: Option<&'a RawValue>,
    #[serde(borrow)]
    from: Option<&'a RawValue>,
    #[serde(borrow)]
    value: Option<&'a RawValue>,
}

/// Judges a whole patch.
pub(super) fn judge(judge: &mut Judge<'_>, text: &str, source: Source) -> Result<(), Refusal> {
    // As JSON first: how deep it is, and what stands where no patch has anything.
    json::judge(judge, json::OUTSIDE, text, Source::Fixed)?;
    let Ok(operations) = serde_json::from_str::<Vec<Operation<'_>>>(text) else {
        return judge.against(Rule::Malformed, "patch", "is no JSON Patch");
    };
    for operation in operations {
        let Some(path) = operation.path.and_then(pointer) else {
            return judge.against(Rule::Malformed, "patch", "has no path");
        };
        let goes_to = follow(judge, &path);
        if let Some(value) = operation.value {
            value_at(judge, goes_to, value.get(), source)?;
        }
        // What is copied or moved to a place that names a network isn't in the message.
        let is_named = matches!(goes_to, Place::Mcc(_) | Place::Mnc(_))
            || matches!(goes_to, Place::In(scope) if scope.text == Text::Plmn);
        if is_named && operation.from.is_some() {
            judge.against(Rule::Malformed, "patch", &path)?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Place {
    In(Scope),
    Mcc(Scope),
    Mnc(Scope),
}

fn pointer(raw: &RawValue) -> Option<String> {
    serde_json::from_str::<String>(raw.get()).ok()
}

/// The scope behind a JSON Pointer (RFC 6901).
fn follow(judge: &Judge<'_>, path: &str) -> Place {
    let mut scope = json::OUTSIDE;
    for token in path.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        match Key::of(&name) {
            Key::Mcc => return Place::Mcc(scope),
            Key::Mnc => return Place::Mnc(scope),
            Key::Known(field) => {
                let side = judge.kind.side(field, scope.side);
                scope = Scope { name: field.name, side: Some(side), text: field.text };
            }
            Key::Callback => scope.text = Text::Callback,
            // An item of a list is what the list is.
            _ if name == "-" || name.bytes().all(|byte| byte.is_ascii_digit()) => {}
            _ => scope.text = Text::Plain,
        }
    }
    Place::In(scope)
}

fn value_at(
    judge: &mut Judge<'_>,
    place: Place,
    value: &str,
    source: Source,
) -> Result<(), Refusal> {
    let code = || serde_json::from_str::<String>(value).ok();
    let padded = |text: &str| {
        let mut digits = [b'0'; 3];
        let is_code = matches!(text.len(), 2 | 3) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits[..text.len().min(3)].copy_from_slice(&text.as_bytes()[..text.len().min(3)]);
        is_code.then_some((digits, text.len() as u8))
    };
    let (scope, named) = match place {
        Place::In(scope) => return json::judge(judge, scope, value, source),
        Place::Mcc(scope) => {
            let code = code().and_then(|text| padded(&text)).filter(|(_, len)| *len == 3);
            (scope, code.map(|(mcc, _)| Named::Country(mcc)))
        }
        Place::Mnc(scope) => (
            scope,
            code().and_then(|text| padded(&text)).map(|(mnc, len)| Named::Code { mnc, len }),
        ),
    };
    match named {
        Some(named) => judge.network(scope, &named),
        None => judge.against(Rule::Malformed, scope.name, "mcc and mnc"),
    }
}
