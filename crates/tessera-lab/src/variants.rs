//! The variants of the roaming experiments.

use tessera_reports::{Mode, OneTimeKey, Store, Suite, Variant};

use crate::ways::Way;

/// Returns all variants of the roaming experiments: each suite, by option; a key exchange with a one-time key pair
/// is of the same kind, with a one-time PSK it is X25519.
pub(crate) fn all() -> Vec<Variant> {
    let modes = [
        Mode::Full,
        Mode::PskOnly,
        Mode::PskDhe,
        Mode::ZeroRttUnguarded,
        Mode::ZeroRtt,
        Mode::ZeroRttFs,
        Mode::ZeroRttFsPsk,
    ];
    let of = |suite, way: Way| {
        let stores = if way.mode.has_one_time_key() {
            [Store::Memory, Store::Etcd].as_slice()
        } else {
            &[Store::Memory]
        };
        stores.iter().map(move |store| way.variant(suite, *store))
    };
    let ways = Way::all(&modes).into_iter().filter(agrees_in_one_kind);
    let ways: Vec<_> = ways.collect();
    Suite::ALL
        .into_iter()
        .flat_map(|suite| ways.iter().flat_map(move |way| of(suite, *way)))
        .collect()
}

fn agrees_in_one_kind(way: &Way) -> bool {
    let key = way.ticket_key.and_then(OneTimeKey::key_exchange);
    key.is_none() || way.kx.is_none() || way.kx == key
}

#[cfg(test)]
mod tests {
    use tessera_reports::Letter;

    use super::*;

    #[test]
    fn each_variant_of_the_roaming_experiments_occurs_once() {
        let variants = all();
        // (b) alone has no key exchange; (e) has three kinds of keys, two continuations, two stores.
        let classic = 2 + 1 + 2 + 2 + 2;
        assert_eq!(variants.len(), 2 * (classic + 3 * 2 * 2));
        let mut keys: Vec<_> = variants.iter().map(Variant::key).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), variants.len());
    }

    #[test]
    fn a_variant_lies_flat_in_reports_and_comes_back() {
        for variant in all() {
            let json = serde_json::to_value(variant).unwrap();
            assert_eq!(json["option"], variant.option.letter());
            assert_eq!(json["suite"], variant.suite.number());
            assert_eq!(json["store"], variant.store.name());
            assert_eq!(json["kx"].is_null(), variant.kx.is_none());
            assert_eq!(serde_json::from_value::<Variant>(json).unwrap(), variant);
        }
        let letters: Vec<_> = Letter::ALL.map(Letter::letter).into();
        assert_eq!(letters, ["a", "b", "c", "d", "d'", "e"]);
    }
}
