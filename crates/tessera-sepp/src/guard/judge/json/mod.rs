//! JSON, in one pass and without a tree. Text that serde_json rejects is malformed. Everything is forwarded as it was
//! read, so that every receiver reads the same: rewritten, unless that gives the same bytes.

mod codes;
mod forwarded;
mod names;
pub(in crate::guard) mod patch;

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use self::codes::{CodeSeed, Codes};
use self::forwarded::ForwardedJson;
use self::names::Names;
use super::{Changes, Judge, Scope};
use crate::guard::fields::Text;
use crate::guard::hiding::{Addresses, Way};
use crate::guard::members::{FoldedName, Key};
use crate::guard::{Refusal, Rule};

/// The scope outside of any member.
pub(in crate::guard) const OUTSIDE: Scope =
    Scope { name: "content", side: None, text: Text::Plain, maps: 0 };

/// Below serde_json's limit of 128, so that `json-depth` refuses first.
const DEEPEST: u32 = 120;

/// Judges a whole JSON text, and returns it as it is forwarded.
pub(in crate::guard) fn judge<'t>(
    judge: &mut Judge<'_>,
    scope: Scope,
    text: &'t str,
) -> Result<Cow<'t, str>, Refusal> {
    let mut out = ForwardedJson::of(text);
    let depth = judge.json_depth.min(DEEPEST);
    judge_into(judge, scope, text, depth, &mut out)?;
    Ok(out.into_other().map_or(Cow::Borrowed(text), Cow::Owned))
}

/// Judges a JSON text with at most this number of levels, and writes it. If the rules only log invalid JSON, the text
/// stays unchanged.
pub(in crate::guard) fn judge_into(
    judge: &mut Judge<'_>,
    scope: Scope,
    text: &str,
    depth: u32,
    out: &mut ForwardedJson<'_>,
) -> Result<(), Refusal> {
    let mut refused = None;
    let before = out.mark();
    let mut json = serde_json::Deserializer::from_str(text);
    let walk = Walk { judge, refused: &mut refused, out, scope, left: depth };
    let result = walk.deserialize(&mut json).and_then(|()| json.end());
    match (refused, result) {
        (Some(refusal), _) => Err(refusal),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => {
            // serde_json's message has the position, and nothing of the text.
            let kind = if error.is_eof() { "cut off" } else { "not JSON" };
            let why = format!("{kind} at column {}", error.column());
            judge.against(Rule::Malformed, scope.name, &why)?;
            out.back_to(before);
            out.push_str(text);
            Ok(())
        }
    }
}

/// Parses a text that was judged, as it was written; `None` if it has a name by which serde_json replaces an object with
/// the text in it.
pub(in crate::guard) fn tree(text: &str) -> Option<Value> {
    const RAW_VALUE: &str = "$serde_json::private::";
    serde_json::from_str(text).ok().filter(|_| !text.contains(RAW_VALUE))
}

/// Writes a string as JSON.
fn write_string(out: &mut ForwardedJson<'_>, text: &str) {
    match serde_json::to_string(text) {
        Ok(quoted) => out.push_str(&quoted),
        Err(_) => out.push_str("\"\""),
    }
}

/// Walks one value.
pub(in crate::guard) struct Walk<'w, 'j, 't> {
    pub(in crate::guard) judge: &'w mut Judge<'j>,
    refused: &'w mut Option<Refusal>,
    out: &'w mut ForwardedJson<'t>,
    pub(in crate::guard) scope: Scope,
    /// The number of further levels allowed.
    pub(in crate::guard) left: u32,
}

impl<'j, 't> Walk<'_, 'j, 't> {
    fn within(&mut self, scope: Scope) -> Walk<'_, 'j, 't> {
        Walk { judge: self.judge, refused: self.refused, out: self.out, scope, left: self.left }
    }

    /// Ends the pass on a refusal.
    pub(in crate::guard) fn settle<E: Error, T>(
        &mut self,
        judged: Result<T, Refusal>,
    ) -> Result<T, E> {
        judged.map_err(|refusal| {
            *self.refused = Some(refusal);
            E::custom("")
        })
    }

    /// Enters the next position within changes.
    fn enter<E: Error>(&mut self, from: Changes, to: Changes) -> Result<(), E> {
        if self.judge.changes == from {
            self.judge.changes = to;
            return Ok(());
        }
        let why = "not a list of changes, or one within another";
        self.settle(Err(Refusal::new(Rule::Malformed, self.scope.name, why)))
    }

    fn deeper<E: Error>(&mut self) -> Result<(), E> {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            return Ok(());
        }
        let refusal = Refusal::new(Rule::JsonDepth, self.scope.name, "too deep");
        // Even if the rule only logs, stop: the rest can't be judged, and nothing passes unseen.
        self.settle(Err(refusal))
    }

    /// Judges a string; `is_plain`: JSON needs no escapes in it.
    fn string<E: Error>(&mut self, text: &str, is_plain: bool) -> Result<(), E> {
        let judged = self.judge.text(self.scope, text);
        match self.settle(judged)? {
            Some(new) => write_string(self.out, &new),
            None if is_plain => quote(self.out, text),
            None => write_string(self.out, text),
        }
        Ok(())
    }

    /// Writes a value that can't be a PLMN ID, a subscriber or a URI.
    fn scalar<E: Error>(&mut self, text: fmt::Arguments<'_>) -> Result<(), E> {
        if self.scope.text.is_string() || self.scope.text == Text::Change {
            let judged =
                self.judge.against(Rule::Malformed, self.scope.name, "not a value of this member");
            self.settle(judged)?;
        }
        let _ = self.out.write_fmt(text);
        Ok(())
    }
}

/// Writes a string that needs no escapes in JSON, such as one that serde_json borrows.
fn quote(out: &mut ForwardedJson<'_>, text: &str) {
    out.push_str("\"");
    out.push_str(text);
    out.push_str("\"");
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<(), E> {
        self.scalar(format_args!("{value}"))
    }

    /// In a merge patch it deletes (RFC 7396), and members may be nullable.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.out.push_str("null");
        Ok(())
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<(), E> {
        self.scalar(format_args!("{value}"))
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<(), E> {
        self.scalar(format_args!("{value}"))
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<(), E> {
        self.scalar(format_args!("{}", Value::from(value)))
    }

    fn visit_borrowed_str<E: Error>(mut self, text: &'de str) -> Result<(), E> {
        self.string(text, true)
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        // C programs end a string at NUL.
        if text.contains('\0') {
            let judged = self.judge.against(Rule::Malformed, self.scope.name, "contains NUL");
            self.settle(judged)?;
        }
        self.string(text, false)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.deeper()?;
        if self.scope.text == Text::Change {
            self.enter(Changes::Outside, Changes::InList)?;
            self.judge.placed.clear();
        }
        self.out.push_str("[");
        let mut end = self.out.len();
        while items.next_element_seed(self.within(self.scope))?.is_some() {
            // A change may be left out.
            if self.out.len() > end {
                end = self.out.len();
                self.out.separate();
            }
        }
        self.out.end("]");
        if self.scope.text == Text::Change {
            self.judge.changes = Changes::Outside;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        self.deeper()?;
        if self.scope.text == Text::Change {
            self.enter(Changes::InList, Changes::InOne)?;
            patch::operation(self.within(self.scope), members)?;
            self.judge.changes = Changes::InList;
            return Ok(());
        }
        // Members inherit whose network it is, but not that every string is one.
        let plain = self.scope.below_a_name();
        let mut names = Names::default();
        let mut codes = Codes::default();
        let mut addresses = Addresses::default();
        self.out.push_str("{");
        let mut is_first = true;
        loop {
            if !is_first {
                self.out.separate();
            }
            let before = self.out.mark();
            let Some(key) = members.next_key_seed(KeySeed(&mut self, &mut names))? else { break };
            let scope = match key {
                Key::Mcc | Key::Mnc => {
                    let code = members.next_value_seed(CodeSeed { walk: &mut self, list: None })?;
                    codes.put(matches!(key, Key::Mcc), code);
                    is_first = false;
                    continue;
                }
                Key::Mncs => {
                    let mut listed = Vec::new();
                    members
                        .next_value_seed(CodeSeed { walk: &mut self, list: Some(&mut listed) })?;
                    codes.put_list(listed);
                    is_first = false;
                    continue;
                }
                Key::Block => {
                    let judged =
                        self.judge.against(Rule::EncBlockIndex, self.scope.name, "encBlockIndex");
                    self.settle(judged)?;
                    plain
                }
                Key::Addresses if self.judge.leaves_out_addresses(self.scope) => {
                    let start = self.out.mark();
                    members.next_value_seed(self.within(plain))?;
                    let value = tree(&self.out.text()[start.len()..]);
                    match value.and_then(|value| addresses.take(value)) {
                        None => self.out.back_to(before),
                        Some(value) => {
                            self.out.back_to(start);
                            let _ = write!(self.out, "{value}");
                            is_first = false;
                        }
                    }
                    continue;
                }
                Key::Known(member) => {
                    addresses.has_name |= member.text == Text::Name;
                    self.judge.below(self.scope, member)
                }
                Key::Unknown { is_callback: true } => Scope { text: Text::Callback, ..plain },
                Key::Addresses | Key::Unknown { .. } => plain,
            };
            is_first = false;
            members.next_value_seed(self.within(scope))?;
        }
        let name = match self.judge.translation {
            Some(translation) if translation.way == Way::Hide => addresses.name(&translation),
            _ => Ok(None),
        };
        match name {
            Ok(None) => {}
            Ok(Some(name)) => {
                self.out.push_str("\"fqdn\":");
                write_string(self.out, &name);
            }
            Err(_) => {
                let judged = self.judge.against(Rule::Topology, self.scope.name, "an address");
                self.settle(judged)?;
            }
        }
        self.out.end("}");
        if codes.is_empty() {
            return Ok(());
        }
        let judged = codes.judge(self.judge, self.scope);
        self.settle(judged)
    }
}

/// Reads what the name of a member means. Some maps have subscribers as names.
struct KeySeed<'k, 'w, 'j, 't>(&'k mut Walk<'w, 'j, 't>, &'k mut Names);

impl KeySeed<'_, '_, '_, '_> {
    fn judge<E: Error>(self, name: &str, folded: &FoldedName) -> Result<Key, E> {
        let Self(walk, names) = self;
        if !names.insert(folded.whole) {
            let (field, why) = (walk.scope.name, format!("{name} twice"));
            let judged = walk.judge.against(Rule::Malformed, field, &why);
            walk.settle(judged)?;
        }
        let judged = walk.judge.name_of_member(walk.scope, name, folded);
        walk.settle(judged)
    }
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_, '_, '_, '_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for KeySeed<'_, '_, '_, '_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Key, E> {
        let folded = FoldedName::of(name);
        match folded.quoted {
            Some(quoted) => self.0.out.push_str(quoted),
            None => {
                quote(self.0.out, name);
                self.0.out.push_str(":");
            }
        }
        self.judge(name, &folded)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Key, E> {
        if name.contains('\0') {
            let judged =
                self.0.judge.against(Rule::Malformed, self.0.scope.name, "a name with NUL");
            self.0.settle(judged)?;
        }
        write_string(self.0.out, name);
        self.0.out.push_str(":");
        self.judge(name, &FoldedName::of(name))
    }
}
