//! JSON Patch (RFC 6902), and the changes that notifications report (TS 29.571 §5.2.4.1): the destination of a value is
//! in a different member than the value.
//!
//! Each value is judged at its destination. A value that one operation places and a later one copies or moves is also
//! judged at its last destination; a value from a place outside of the message must not go to any member of the table.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::Value;
use serde_json::value::RawValue;

use super::forwarded::ForwardedJson;
use super::names::Names;
use super::{OUTSIDE, Walk, judge_into, tree, write_string};
use crate::guard::fields::Text;
use crate::guard::judge::{Judge, Scope};
use crate::guard::members::{FoldedName, Key, have_same_letters};
use crate::guard::network::Side;
use crate::guard::{Refusal, Rule};

/// The scope of a whole patch.
pub(in crate::guard) const PATCH: Scope = Scope { text: Text::Change, ..OUTSIDE };

/// The limit for values placed by one patch: each is compared with each copy.
const MOST_PLACED: usize = 256;

/// The limit for the JSON bytes of all values in a message's patches: copies of copies would make a short patch long to
/// judge.
const LONGEST_PLACED: usize = 512 << 10;

/// The limit for a pointer, in bytes: each token is compared with names of members.
const LONGEST_POINTER: usize = 1024;

/// The limit for a pointer's tokens.
const MOST_TOKENS: usize = 32;

/// The limit for copies in one message: each walks all placed values.
const MOST_COPIES: usize = 64;

/// A value that an operation placed.
pub(in crate::guard) struct PlacedValue {
    place: Vec<String>,
    /// `None` if it comes from a place outside of the message.
    value: Option<Value>,
    /// In bytes.
    len: usize,
}

impl PlacedValue {
    /// Returns the length including its path, in bytes.
    fn len(&self) -> usize {
        self.place.iter().map(String::len).sum::<usize>() + self.len
    }
}

/// The members of an operation in the order in which they are written; the last two belong to a change.
const MEMBERS: [&str; 6] = ["op", "path", "from", "value", "origValue", "newValue"];
const OPERATIONS: [&str; 6] = ["add", "remove", "replace", "move", "copy", "test"];

/// Judges one operation and writes it, with the members of RFC 6902 first. Writes nothing if it is left out.
pub(super) fn operation<'de, A: MapAccess<'de>>(
    mut walk: Walk<'_, '_, '_>,
    mut members: A,
) -> Result<(), A::Error> {
    let mut found: [Option<&'de RawValue>; MEMBERS.len()] = [None; MEMBERS.len()];
    let mut others = Vec::new();
    let mut names = Names::default();
    while let Some(name) = members.next_key::<Cow<'_, str>>()? {
        let value = members.next_value::<&RawValue>()?;
        if !names.insert(FoldedName::of(&name).whole) {
            let judged = walk.judge.against(Rule::Malformed, "patch", &format!("{name} twice"));
            walk.settle(judged)?;
        }
        match MEMBERS.iter().position(|known| *known == name) {
            Some(at) => found[at] = Some(value),
            // Go's encoding/json ignores case: `Value` is the value.
            None if MEMBERS.iter().any(|known| have_same_letters(known, &name)) => {
                let judged = walk.judge.against(Rule::Malformed, "patch", &name);
                walk.settle(judged)?;
            }
            // An API may add members (TS 29.518, `AmfUpdateEventSubscriptionItem`). RFC 6902 §4: others are ignored, so
            // they are dropped.
            None => match Key::of_folded(&name, &FoldedName::of(&name)) {
                Key::Known(member) => others.push((name, member, value)),
                _ if !walk.judge.knows_members => {}
                _ => {
                    let judged = walk.judge.against(Rule::UnknownMember, "patch", &name);
                    walk.settle(judged)?;
                }
            },
        }
    }
    let judged = write(&mut walk, &found).and_then(|is_written| {
        if !is_written {
            return Ok(());
        }
        for (name, member, value) in others {
            walk.out.push_str(",");
            write_string(walk.out, &name);
            walk.out.push_str(":");
            let scope = walk.judge.below(OUTSIDE, member);
            judge_into(walk.judge, scope, value.get(), walk.left, walk.out)?;
        }
        walk.out.push_str("}");
        Ok(())
    });
    walk.settle(judged)
}

/// Returns whether the operation was written.
fn write(
    walk: &mut Walk<'_, '_, '_>,
    found: &[Option<&RawValue>; MEMBERS.len()],
) -> Result<bool, Refusal> {
    let [op, path, from, value, original, new] = found;
    let malformed = |why: &str| Refusal::new(Rule::Malformed, "patch", why);
    let text = |raw: &Option<&RawValue>| raw.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let op: String = text(op).ok_or_else(|| malformed("no `op`"))?;
    if !OPERATIONS.iter().any(|known| op.eq_ignore_ascii_case(known)) {
        return Err(malformed("unknown `op`"));
    }
    let path: String = text(path).ok_or_else(|| malformed("no `path`"))?;
    let pointer = pointer(&path).ok_or_else(|| malformed("`path` is not a JSON Pointer"))?;
    let place = follow(walk.judge, &pointer)?;
    if matches!(place, Place::LeftOut) && from.is_none() {
        return Ok(false);
    }
    walk.out.push_str("{\"op\":");
    write_string(walk.out, &op);
    walk.out.push_str(",\"path\":");
    write_string(walk.out, &path);
    if from.is_some() {
        let from: String = text(from).ok_or_else(|| malformed("`from` is not a string"))?;
        let source =
            self::pointer(&from).ok_or_else(|| malformed("`from` is not a JSON Pointer"))?;
        if matches!(follow(walk.judge, &source)?, Place::LeftOut) {
            left_out(walk.judge)?;
        }
        moved(walk, &source, &pointer, place)?;
        walk.out.push_str(",\"from\":");
        write_string(walk.out, &from);
    }
    // The other operations only compare the value.
    let puts = ["add", "replace"].iter().any(|known| op.eq_ignore_ascii_case(known));
    for (name, value) in [("value", value), ("origValue", original), ("newValue", new)] {
        let Some(value) = value else { continue };
        walk.out.push_str(",\"");
        walk.out.push_str(name);
        walk.out.push_str("\":");
        let before = walk.out.len();
        value_at(walk.judge, place, value.get(), walk.left, walk.out)?;
        if puts && name != "origValue" {
            let len = walk.out.len() - before;
            let value = tree(&walk.out.text()[before..]);
            let value = Some(value.ok_or_else(|| malformed("has a value that can't be followed"))?);
            put(walk.judge, PlacedValue { place: pointer.clone(), value, len })?;
        }
    }
    Ok(true)
}

/// Splits a JSON Pointer into its tokens (RFC 6901 §4).
fn pointer(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    if text.len() > LONGEST_POINTER {
        return None;
    }
    let tokens = text.strip_prefix('/')?.split('/').map(|token| {
        let mut plain = String::with_capacity(token.len());
        let mut letters = token.chars();
        while let Some(letter) = letters.next() {
            plain.push(match letter {
                '~' => match letters.next()? {
                    '0' => '~',
                    '1' => '/',
                    _ => return None,
                },
                // C programs end a string at NUL.
                '\0' => return None,
                letter => letter,
            });
        }
        (!plain.is_empty() && !is_signed(&plain)).then_some(plain)
    });
    let tokens: Option<Vec<_>> = tokens.take(MOST_TOKENS + 1).collect();
    tokens.filter(|tokens| tokens.len() <= MOST_TOKENS)
}

/// Returns whether a token has a sign. `-1`: some readers count from the end of a list, or read `+0` as 0.
fn is_signed(token: &str) -> bool {
    let digits = token.strip_prefix(['-', '+']).unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a token is an index; earlier operations may have changed which item it refers to.
fn is_index(token: &str) -> bool {
    token == "-" || token.bytes().all(|byte| byte.is_ascii_digit())
}

#[derive(Clone, Copy)]
enum Place {
    In(Scope),
    /// The `mcc` or `mnc` of a network.
    Half(Scope),
    /// Among addresses that don't cross the border: a change of them is left out, as they are from a profile.
    LeftOut,
}

/// Refuses an address that goes to or comes from another place.
fn left_out(judge: &mut Judge<'_>) -> Result<(), Refusal> {
    judge.against(Rule::Target, "patch", "addresses")
}

impl Place {
    /// Returns whether the place is known; then nothing unseen may go there.
    fn is_known(self) -> bool {
        match self {
            Self::In(scope) => scope.text != Text::Plain || scope.side.is_some(),
            Self::Half(_) | Self::LeftOut => true,
        }
    }
}

/// Returns the scope that a pointer leads to.
fn follow(judge: &mut Judge<'_>, pointer: &[String]) -> Result<Place, Refusal> {
    let mut scope = OUTSIDE;
    for token in pointer {
        // An item of a list has the list's scope. In a map it is a name.
        if is_index(token) && scope.maps == 0 {
            continue;
        }
        let plain = scope.below_a_name();
        scope = match judge.name_of_member(scope, token, &FoldedName::of(token))? {
            Key::Mcc | Key::Mnc | Key::Mncs => return Ok(Place::Half(scope)),
            Key::Block => {
                judge.against(Rule::EncBlockIndex, "patch", token)?;
                plain
            }
            Key::Known(member) => judge.below(scope, member),
            Key::Unknown { is_callback: true } => Scope { text: Text::Callback, ..plain },
            Key::Addresses if judge.leaves_out_addresses(scope) => return Ok(Place::LeftOut),
            Key::Addresses | Key::Unknown { .. } => plain,
        };
    }
    Ok(Place::In(scope))
}

fn value_at(
    judge: &mut Judge<'_>,
    place: Place,
    value: &str,
    depth: u32,
    out: &mut ForwardedJson<'_>,
) -> Result<(), Refusal> {
    let scope = match place {
        Place::In(scope) => return judge_into(judge, scope, value, depth, out),
        Place::LeftOut => return left_out(judge),
        Place::Half(scope) => scope,
    };
    judge_into(judge, scope.below_a_name(), value, depth, out)?;
    // The other half, which isn't in the message, could make it a third network.
    if judge.side(scope) == Side::Anyone {
        return Ok(());
    }
    judge.against(judge.rule, scope.name, "an MCC or MNC without the other")
}

fn put(judge: &mut Judge<'_>, placed: PlacedValue) -> Result<(), Refusal> {
    judge.placed_len += placed.len();
    let why = match (judge.placed.len() >= MOST_PLACED, judge.placed_len > LONGEST_PLACED) {
        (true, _) => "has too many operations",
        (_, true) => "places too long values",
        _ => {
            judge.placed.push(placed);
            return Ok(());
        }
    };
    Err(Refusal::new(Rule::Malformed, "patch", why))
}

/// Judges a value copied or moved from `from` at its destination.
fn moved(
    walk: &mut Walk<'_, '_, '_>,
    from: &[String],
    to: &[String],
    place: Place,
) -> Result<(), Refusal> {
    walk.judge.copies += 1;
    if walk.judge.copies > MOST_COPIES {
        return Err(Refusal::new(Rule::Malformed, "patch", "has too many operations"));
    }
    let (mut is_seen, mut is_unseen) = (false, false);
    let mut ends = Vec::new();
    for placed in &walk.judge.placed {
        let shared = placed.place.len().min(from.len());
        if !fits(&placed.place[..shared], &from[..shared]) {
            continue;
        }
        let Some(value) = &placed.value else {
            is_unseen = true;
            continue;
        };
        if placed.place.len() <= from.len() {
            let inner = values(value, &from[shared..]);
            // The source is within a placed value, and complete unless list items shift. Most readers respect case: to
            // them another spelling is another place.
            let is_whole = !from[..shared].iter().any(|token| is_index(token));
            let is_spelled = placed.place[..] == from[..shared];
            is_seen |= is_whole && is_spelled && has(value, &from[shared..]);
            let inner = inner.into_iter().take(MOST_PLACED);
            ends.extend(inner.map(|value| (to.to_vec(), value.clone())));
        } else {
            let end = [to, &placed.place[shared..]].concat();
            ends.push((end, value.clone()));
        }
        let is_deep = ends.last().is_some_and(|(end, _)| end.len() > MOST_TOKENS);
        if ends.len() >= MOST_PLACED || is_deep {
            return Err(Refusal::new(Rule::Malformed, "patch", "has too many operations"));
        }
    }
    for (end, value) in ends {
        let place = follow(walk.judge, &end)?;
        let text = value.to_string();
        let mut out = ForwardedJson::of(&text);
        value_at(walk.judge, place, &text, walk.left, &mut out)?;
        put(walk.judge, PlacedValue { place: end, value: Some(value), len: out.len() })?;
    }
    if is_seen && !is_unseen {
        return Ok(());
    }
    if place.is_known() {
        walk.judge.against(Rule::Malformed, "patch", "copies into a member from elsewhere")?;
    }
    put(walk.judge, PlacedValue { place: to.to_vec(), value: None, len: 0 })
}

/// Returns whether two pointers may be the same place.
fn fits(one: &[String], other: &[String]) -> bool {
    let is_one = |one: &str, other: &str| is_same(one, other) || is_index(one) && is_index(other);
    one.iter().zip(other).all(|(one, other)| is_one(one, other))
}

/// Returns whether two names may be the same member: cJSON's patches ignore case.
fn is_same(one: &str, other: &str) -> bool {
    one == other || FoldedName::of(one).whole == FoldedName::of(other).whole
}

/// Returns the values that a pointer selects within a value: all items of a list, all members of an object with that
/// name in any case.
fn values<'v>(value: &'v Value, pointer: &[String]) -> Vec<&'v Value> {
    let mut found = vec![value];
    for token in pointer {
        // Once: a pointer may have a long name, and a list many objects.
        let folded = FoldedName::of(token).whole;
        let below = |value: &'v Value| match value {
            Value::Array(items) if is_index(token) => items.iter().collect(),
            Value::Object(members) => members
                .iter()
                .filter(|(name, _)| *name == token || FoldedName::of(name).whole == folded)
                .map(|(_, member)| member)
                .collect(),
            _ => Vec::new(),
        };
        found = found.into_iter().flat_map(below).collect();
    }
    found
}

/// Returns whether a pointer selects something in a value, with exact spelling.
fn has(value: &Value, pointer: &[String]) -> bool {
    let Some((token, rest)) = pointer.split_first() else { return true };
    match value {
        Value::Array(items) => is_index(token) && items.iter().any(|item| has(item, rest)),
        Value::Object(members) => members.get(token).is_some_and(|member| has(member, rest)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_has_its_tokens_or_is_none() {
        assert_eq!(pointer(""), Some(Vec::new()));
        assert_eq!(pointer("/a~1b/~01/0").unwrap(), ["a/b", "~1", "0"]);
        let deep = |tokens| "/a".repeat(tokens);
        assert_eq!(pointer(&deep(MOST_TOKENS)).unwrap().len(), MOST_TOKENS);
        assert_eq!(pointer(&deep(MOST_TOKENS + 1)), None);
        assert_eq!(pointer(&deep(2 * MOST_TOKENS)), None);
        for text in ["a", "/", "/a//b", "/a/", "/~", "/~2", "/a\0"] {
            assert_eq!(pointer(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_pointer_into_a_list_finds_every_item() {
        let value = serde_json::json!([{"a": 1}, {"a": [2, 3]}, {"b": 4}]);
        let tokens = |text: &str| pointer(text).unwrap();
        assert_eq!(values(&value, &tokens("/0/a")).len(), 2);
        assert_eq!(values(&value, &tokens("/1/a/-")).len(), 2);
        assert!(values(&value, &tokens("/a")).is_empty());
    }
}
