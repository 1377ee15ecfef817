//! Variants, as tables name them.

use crate::variants::{PaperOption, Variant};
use crate::ways::{Agreement, Continuation, OneTimeKind};

/// Returns a short description of an option.
pub(crate) fn option(option: PaperOption) -> &'static str {
    match option {
        PaperOption::Full => "full handshake",
        PaperOption::PskOnly => "PSK only",
        PaperOption::PskDhe => "PSK with key exchange",
        PaperOption::ZeroRtt => "0-RTT, no register",
        PaperOption::ZeroRttOnce => "0-RTT, single-use tickets",
        PaperOption::ZeroRttFs => "0-RTT FS",
    }
}

/// Formats a variant without its suite and store: the letter, and what else distinguishes the row.
pub(crate) fn variant(variant: &Variant) -> String {
    let key = match variant.ticket_key {
        Some(OneTimeKind::OneTimePsk) => Some("one-time PSK"),
        Some(OneTimeKind::KeyPair(agreement)) => Some(group(agreement)),
        None => variant.kx.map(group),
    };
    let words = [key, variant.continuation.map(Continuation::name)];
    let words: Vec<_> = words.into_iter().flatten().collect();
    let name = format!("({}) {}", variant.option.letter(), option(variant.option));
    if words.is_empty() { name } else { format!("{name}, {}", words.join(", ")) }
}

/// Formats it with the suite and the store, for rows that differ by these.
pub(crate) fn full(one: &Variant) -> String {
    format!("{}, {}, {}", variant(one), one.suite.number(), one.store.name())
}

/// Returns a group, as tables name it.
fn group(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::X25519 => "X25519",
        Agreement::X25519MlKem768 => "X25519MLKEM768",
    }
}

/// Whether two variants differ in nothing but their suite and store.
pub(crate) fn same_way(one: &Variant, other: &Variant) -> bool {
    one.way() == other.way()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants::{Store, Suite};

    #[test]
    fn no_two_variants_of_a_suite_and_store_have_one_name() {
        let usual = |variant: &Variant| {
            variant.suite == Suite::Aes256GcmSha384 && variant.store == Store::Memory
        };
        let mut names: Vec<_> = Variant::all().iter().filter(|v| usual(v)).map(variant).collect();
        let count = names.len();
        assert!(names.contains(&"(b) PSK only".to_owned()), "{names:?}");
        assert!(names.contains(&"(e) 0-RTT FS, X25519MLKEM768, psk_ke".to_owned()), "{names:?}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
