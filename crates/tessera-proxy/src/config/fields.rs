//! The top-level keys of a type.

use std::fmt::Display;

use serde::de::value::Error;
use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use toml::de::{DeTable, DeValue};

use super::explain::{instead, printable};

/// Finds the first top-level key of a file that `T` doesn't have: its position, and what to write instead. Serde visits
/// tables in the order of their names, and may report a missing key in one before a misspelt table.
pub(super) fn unknown_at_top<T: DeserializeOwned>(root: &DeTable<'_>) -> Option<(usize, String)> {
    let known = fields_of::<T>()?;
    let unknown = root.iter().filter(|(key, _)| !known.contains(&key.get_ref().as_ref()));
    let (key, value) = unknown.min_by_key(|(key, _)| key.span().start)?;
    let (name, place) = (key.get_ref(), printable(key.get_ref()));
    let what = match value.get_ref() {
        DeValue::Table(_) => {
            format!("there is no section [{place}]{}", instead(name, known, "the sections are"))
        }
        _ => format!("there is no key `{place}`{}", instead(name, known, "its keys are")),
    };
    Some((key.span().start, what))
}

/// Whether a top-level key of `T` isn't in a file.
pub(super) fn is_missing_at_top<T: DeserializeOwned>(root: &DeTable<'_>, key: &str) -> bool {
    fields_of::<T>().is_some_and(|known| known.contains(&key))
        && !root.iter().any(|(found, _)| **found.get_ref() == *key)
}

/// Returns the fields of a struct; `None` for other types.
fn fields_of<T: DeserializeOwned>() -> Option<&'static [&'static str]> {
    let mut fields = None;
    // The probe yields no data; it only records the requested fields.
    let _ = T::deserialize(Probe(&mut fields));
    fields
}

/// Records the names of the requested fields.
struct Probe<'f>(&'f mut Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(nothing(""))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = Some(fields);
        Err(nothing(name))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

fn nothing(what: impl Display) -> Error {
    de::Error::custom(what)
}
