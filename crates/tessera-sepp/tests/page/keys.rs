//! The keys that a type accepts.

use std::collections::BTreeSet;

use serde::de::value::Error;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

/// Returns the names that a struct is deserialised from.
pub(crate) fn keys_of<T: for<'de> Deserialize<'de>>() -> BTreeSet<&'static str> {
    let mut keys = None;
    // It asks for a struct with these fields, and gets none.
    let _ = T::deserialize(KeyCollector(&mut keys));
    keys.unwrap().iter().copied().collect()
}

struct KeyCollector<'k>(&'k mut Option<&'static [&'static str]>);

impl<'de> Deserializer<'de> for KeyCollector<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        *self.0 = Some(fields);
        Err(Error::custom("asked"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("no struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
