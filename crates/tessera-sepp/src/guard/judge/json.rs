//! JSON, in one pass and without a tree. serde_json reads it: what it doesn't take is malformed.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Judge, Scope};
use crate::guard::fields::{Key, Text};
use crate::guard::identity::Identity;
use crate::guard::network::{Named, Side};
use crate::guard::source::Source;
use crate::guard::{Refusal, Rule};
use crate::names::PlmnId;

/// A scope for what is not in any member yet.
pub(in crate::guard) const OUTSIDE: Scope =
    Scope { name: "content", side: None, text: Text::Plain };

/// Judges a body or a part of one.
pub(in crate::guard) fn judge_content(
    of: &mut Judge<'_>,
    text: &str,
    source: Source,
) -> Result<(), Refusal> {
    judge(of, OUTSIDE, text, source)
}

/// How deep serde_json goes.
const DEEPEST: u32 = 120;

/// Judges a whole text of JSON.
pub(in crate::guard) fn judge(
    judge: &mut Judge<'_>,
    scope: Scope,
    text: &str,
    source: Source,
) -> Result<(), Refusal> {
    let mut refused = None;
    let mut json = serde_json::Deserializer::from_str(text);
    let limit = judge.json_depth.min(DEEPEST);
    let walk = Walk { judge, refused: &mut refused, scope, left: limit, source };
    let result = walk.deserialize(&mut json).and_then(|()| json.end());
    match (refused, result) {
        (Some(refusal), _) => Err(refusal),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => {
            // What serde_json says has a place, and nothing of the text.
            let kind = if error.is_eof() { "is cut off" } else { "is no JSON" };
            judge.against(
                Rule::Malformed,
                scope.name,
                &format!("{kind} at column {}", error.column()),
            )
        }
    }
}

/// Goes through one value.
struct Walk<'w, 'j> {
    judge: &'w mut Judge<'j>,
    refused: &'w mut Option<Refusal>,
    scope: Scope,
    /// How many levels may follow.
    left: u32,
    source: Source,
}

impl<'j> Walk<'_, 'j> {
    fn within(&mut self, scope: Scope) -> Walk<'_, 'j> {
        Walk {
            judge: self.judge,
            refused: self.refused,
            scope,
            left: self.left,
            source: self.source,
        }
    }

    /// Ends the pass if it is refused.
    fn settle<E: Error>(&mut self, judged: Result<(), Refusal>) -> Result<(), E> {
        judged.map_err(|refusal| {
            *self.refused = Some(refusal);
            E::custom("")
        })
    }

    fn deeper<E: Error>(&mut self) -> Result<(), E> {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return Ok(());
        }
        let refusal = Refusal::new(Rule::JsonDepth, self.scope.name, "too deep");
        // Where the rule only logs, the rest can't be looked at either: nothing passes unseen.
        self.settle(Err(refusal))
    }

    fn string<E: Error>(&mut self, text: &str, source: Source) -> Result<(), E> {
        let judged = self.judge.text(self.scope, text, source);
        self.settle(judged)
    }

    /// What can't be a PLMN ID.
    fn scalar<E: Error>(&mut self) -> Result<(), E> {
        if self.scope.text != Text::Plmn {
            return Ok(());
        }
        let judged = self.judge.against(Rule::Malformed, self.scope.name, "a number");
        self.settle(judged)
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(mut self, _: u64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_i64<E: Error>(mut self, _: i64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_f64<E: Error>(mut self, _: f64) -> Result<(), E> {
        self.scalar()
    }

    fn visit_borrowed_str<E: Error>(mut self, text: &'de str) -> Result<(), E> {
        self.string(text, self.source)
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        let source = if self.source == Source::Fixed { Source::Fixed } else { Source::Escaped };
        self.string(text, source)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.deeper()?;
        while items.next_element_seed(self.within(self.scope))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.deeper()?;
        // Members inherit whose network it is, not that each string is one.
        let plain = Scope { text: Text::Plain, ..self.scope };
        let mut codes = Codes::default();
        while let Some(key) = members.next_key_seed(KeyOf(&mut self))? {
            let scope = match key {
                Key::Mcc => {
                    codes.mcc.put(members.next_value_seed(DigitsOf)?);
                    continue;
                }
                Key::Mnc => {
                    codes.mnc.put(members.next_value_seed(DigitsOf)?);
                    continue;
                }
                Key::Block => {
                    let judged =
                        self.judge.against(Rule::EncBlockIndex, self.scope.name, "encBlockIndex");
                    self.settle(judged)?;
                    members.next_value::<IgnoredAny>()?;
                    continue;
                }
                Key::Known(field) => {
                    let side = self.judge.kind.side(field, self.scope.side);
                    Scope { name: field.name, side: Some(side), text: field.text }
                }
                Key::Callback => Scope { text: Text::Callback, ..plain },
                Key::Addresses => {
                    self.judge.edits.saw_addresses();
                    plain
                }
                Key::Other => plain,
            };
            members.next_value_seed(self.within(scope))?;
        }
        let judged = codes.judge(self.judge, self.scope);
        self.settle(judged)
    }
}

/// What an object has of a PLMN ID.
#[derive(Default)]
struct Codes {
    mcc: Code,
    mnc: Code,
}

#[derive(Default, Clone, Copy)]
enum Code {
    #[default]
    Absent,
    Digits([u8; 3], u8),
    /// It stands there twice, or is no string of two or three digits.
    Unclear,
}

impl Code {
    fn put(&mut self, found: Self) {
        *self = match self {
            Self::Absent => found,
            _ => Self::Unclear,
        };
    }
}

impl Codes {
    fn judge(&self, judge: &mut Judge<'_>, scope: Scope) -> Result<(), Refusal> {
        let named = match (self.mcc, self.mnc) {
            (Code::Absent, Code::Absent) => return Ok(()),
            (Code::Digits(mcc, 3), Code::Digits(mnc, len)) => {
                plmn(&mcc, &mnc[..usize::from(len)]).map(Named::Exactly)
            }
            // A change of one of both.
            (Code::Digits(mcc, 3), Code::Absent) => Some(Named::Country(mcc)),
            (Code::Absent, Code::Digits(mnc, len)) => Some(Named::Code { mnc, len }),
            _ => None,
        };
        match named {
            Some(named) => judge.network(scope, &named),
            None if judge.side(scope) == Side::Anyone => Ok(()),
            None => judge.against(Rule::Malformed, scope.name, "mcc and mnc"),
        }
    }
}

fn plmn(mcc: &[u8], mnc: &[u8]) -> Option<PlmnId> {
    PlmnId::new(std::str::from_utf8(mcc).ok()?, std::str::from_utf8(mnc).ok()?).ok()
}

/// The value of `mcc` or `mnc`.
struct DigitsOf;

impl<'de> DeserializeSeed<'de> for DigitsOf {
    type Value = Code;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Code, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DigitsOf {
    type Value = Code;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("digits")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Code, E> {
        let mut digits = [b'0'; 3];
        let is_one = matches!(text.len(), 2 | 3) && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_one {
            return Ok(Code::Unclear);
        }
        digits[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Code::Digits(digits, text.len() as u8))
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Code, E> {
        Ok(Code::Unclear)
    }

    fn visit_unit<E: Error>(self) -> Result<Code, E> {
        Ok(Code::Unclear)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Code, E> {
        Ok(Code::Unclear)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Code, E> {
        Ok(Code::Unclear)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Code, E> {
        Ok(Code::Unclear)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Code, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Code::Unclear)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Code, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Code::Unclear)
    }
}

/// What the name of a member means. Some maps have subscribers as names.
struct KeyOf<'k, 'w, 'j>(&'k mut Walk<'w, 'j>);

impl<'de> DeserializeSeed<'de> for KeyOf<'_, '_, '_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyOf<'_, '_, '_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        let Self(walk) = self;
        if let Some(identity) = Identity::of(name) {
            let judged = walk.judge.identity(walk.scope, name, identity);
            walk.settle(judged)?;
        }
        Ok(Key::of(name))
    }
}
