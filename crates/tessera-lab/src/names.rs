//! Variants, as tables name them.

use tessera_reports::{Continuation, KeyExchange, Letter, OneTimeKey, Variant};

use crate::ways::Way;

/// Returns a short description of an option.
pub(crate) fn option(option: Letter) -> &'static str {
    match option {
        Letter::A => "full handshake",
        Letter::B => "PSK only",
        Letter::C => "PSK with key exchange",
        Letter::D => "0-RTT, no register",
        Letter::DSingleUse => "0-RTT, single-use tickets",
        Letter::E => "0-RTT FS",
    }
}

/// Formats a variant without its suite and store: the letter, and what else distinguishes the row.
pub(crate) fn variant(variant: &Variant) -> String {
    let key = variant.ticket_key.map(OneTimeKey::words);
    let key = key.or(variant.kx.map(KeyExchange::registered_name));
    let words = [key, variant.continuation.map(Continuation::name)];
    let words: Vec<_> = words.into_iter().flatten().collect();
    let name = format!("({}) {}", variant.option.letter(), option(variant.option));
    if words.is_empty() { name } else { format!("{name}, {}", words.join(", ")) }
}

/// Formats it with the suite and the store, for rows that differ by these.
pub(crate) fn full(one: &Variant) -> String {
    format!("{}, {}, {}", variant(one), one.suite.number(), one.store.name())
}

/// Whether two variants differ in nothing but their suite and store.
pub(crate) fn same_way(one: &Variant, other: &Variant) -> bool {
    Way::of_variant(one) == Way::of_variant(other)
}

#[cfg(test)]
mod tests {
    use tessera_reports::{Store, Suite};

    use super::*;
    use crate::variants;

    #[test]
    fn no_two_variants_of_a_suite_and_store_have_one_name() {
        let usual = |variant: &Variant| {
            variant.suite == Suite::Aes256GcmSha384 && variant.store == Store::Memory
        };
        let mut names: Vec<_> = variants::all().iter().filter(|v| usual(v)).map(variant).collect();
        let count = names.len();
        assert!(names.contains(&"(b) PSK only".to_owned()), "{names:?}");
        assert!(names.contains(&"(e) 0-RTT FS, X25519MLKEM768, psk_ke".to_owned()), "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
