//! `mcc` and `mnc` of one object, which together are a PLMN ID (TS 29.571 §5.4.4.3).

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::{Walk, quote, write_string};
use crate::guard::judge::{Judge, Scope};
use crate::guard::network::{NetworkName, Side};
use crate::guard::{Refusal, Rule};
use crate::names::PlmnId;

/// The parts of a PLMN ID found in an object.
#[derive(Default)]
pub(super) struct Codes {
    mcc: Code,
    mnc: Code,
    /// `mncs`: each forms a PLMN ID with the `mcc`.
    listed: Option<Vec<Code>>,
}

#[derive(Default, Clone, Copy)]
pub(super) enum Code {
    #[default]
    Absent,
    Digits([u8; 3], u8),
    /// Not a text of two or three digits, or a duplicate: `mcc` and `m-cc`.
    Unclear,
}

impl Code {
    fn of(text: &str) -> Self {
        let mut digits = [b'0'; 3];
        let is_one = matches!(text.len(), 2 | 3) && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_one {
            return Self::Unclear;
        }
        digits[..text.len()].copy_from_slice(text.as_bytes());
        Self::Digits(digits, text.len() as u8)
    }
}

impl Codes {
    pub(super) fn put(&mut self, is_country: bool, found: Code) {
        let code = if is_country { &mut self.mcc } else { &mut self.mnc };
        *code = if matches!(code, Code::Absent) { found } else { Code::Unclear };
    }

    /// Stores the value of `mncs`: the codes of a list, empty for anything else.
    pub(super) fn put_list(&mut self, codes: Vec<Code>) {
        let is_list = !codes.is_empty() && self.listed.is_none();
        self.listed = Some(if is_list { codes } else { vec![Code::Unclear] });
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self { mcc: Code::Absent, mnc: Code::Absent, listed: None })
    }

    pub(super) fn judge(&self, judge: &mut Judge<'_>, scope: Scope) -> Result<(), Refusal> {
        let Some(listed) = &self.listed else { return self.one(judge, scope, self.mnc) };
        if !matches!(self.mnc, Code::Absent) {
            self.one(judge, scope, self.mnc)?;
        }
        listed.iter().try_for_each(|mnc| self.one(judge, scope, *mnc))
    }

    fn one(&self, judge: &mut Judge<'_>, scope: Scope, mnc: Code) -> Result<(), Refusal> {
        let named = match (self.mcc, mnc) {
            (Code::Absent, Code::Absent) => return Ok(()),
            // All networks of a country (TS 29.522, `NetworkDescription`).
            (Code::Digits(mcc, 3), Code::Absent)
                if scope.name == "visitedNetDescs" && judge.has_country(scope, &mcc) =>
            {
                return Ok(());
            }
            (Code::Digits(mcc, 3), Code::Digits(mnc, len)) => {
                plmn(&mcc, &mnc[..usize::from(len)]).map(NetworkName::Exactly)
            }
            // Half a network can't be judged.
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

/// Reads the value of `mcc` or `mnc`, a string; with `list` that of `mncs`, a list of strings.
pub(super) struct CodeSeed<'k, 'w, 'j, 't> {
    pub(super) walk: &'k mut Walk<'w, 'j, 't>,
    pub(super) list: Option<&'k mut Vec<Code>>,
}

impl<'de> DeserializeSeed<'de> for CodeSeed<'_, '_, '_, '_> {
    type Value = Code;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Code, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'j, 't> CodeSeed<'_, '_, 'j, 't> {
    /// Anything else is walked, and isn't a code.
    fn other(&mut self) -> Walk<'_, 'j, 't> {
        let plain = self.walk.scope.below_a_name();
        self.walk.within(plain)
    }
}

impl<'de> Visitor<'de> for CodeSeed<'_, '_, '_, '_> {
    type Value = Code;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("digits")
    }

    fn visit_bool<E: Error>(mut self, value: bool) -> Result<Code, E> {
        self.other().visit_bool(value).map(|()| Code::Unclear)
    }

    fn visit_unit<E: Error>(mut self) -> Result<Code, E> {
        self.other().visit_unit().map(|()| Code::Absent)
    }

    fn visit_u64<E: Error>(mut self, value: u64) -> Result<Code, E> {
        self.other().visit_u64(value).map(|()| Code::Unclear)
    }

    fn visit_i64<E: Error>(mut self, value: i64) -> Result<Code, E> {
        self.other().visit_i64(value).map(|()| Code::Unclear)
    }

    fn visit_f64<E: Error>(mut self, value: f64) -> Result<Code, E> {
        self.other().visit_f64(value).map(|()| Code::Unclear)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Code, A::Error> {
        let Some(list) = self.list.take() else {
            return self.other().visit_seq(items).map(|()| Code::Unclear);
        };
        let mut walk = self.other();
        walk.deeper()?;
        walk.out.push_str("[");
        while let Some(code) = items.next_element_seed(CodeSeed { walk: &mut walk, list: None })? {
            list.push(code);
            walk.out.separate();
        }
        walk.out.end("]");
        Ok(Code::Unclear)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, members: A) -> Result<Code, A::Error> {
        self.other().visit_map(members).map(|()| Code::Unclear)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Code, E> {
        quote(self.walk.out, text);
        Ok(Code::of(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Code, E> {
        write_string(self.walk.out, text);
        Ok(Code::of(text))
    }
}
