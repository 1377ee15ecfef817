//! The variants of the roaming experiments: a way to connect, its cipher suite, and where one-time keys are stored.

use serde::{Deserialize, Serialize};
use tessera::wire::CipherSuite;

use crate::ways::{Agreement, Continuation, Mode, OneTimeKind, Way};

/// The options of the roaming paper, by its letters (section 5.2); d' is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum PaperOption {
    /// A full handshake with certificates on both sides.
    #[serde(rename = "a")]
    Full,
    /// A ticket's PSK alone.
    #[serde(rename = "b")]
    PskOnly,
    /// A ticket's PSK and a key exchange.
    #[serde(rename = "c")]
    PskDhe,
    /// Early data as in RFC 8446, and no memory of used tickets.
    #[serde(rename = "d")]
    ZeroRtt,
    /// The same with tickets of a single use (RFC 8446 §8.1).
    #[serde(rename = "d'")]
    ZeroRttOnce,
    /// Forward-secret early data.
    #[serde(rename = "e")]
    ZeroRttFs,
}

impl PaperOption {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Full,
        Self::PskOnly,
        Self::PskDhe,
        Self::ZeroRtt,
        Self::ZeroRttOnce,
        Self::ZeroRttFs,
    ];

    /// Its letter.
    pub(crate) fn letter(self) -> &'static str {
        match self {
            Self::Full => "a",
            Self::PskOnly => "b",
            Self::PskDhe => "c",
            Self::ZeroRtt => "d",
            Self::ZeroRttOnce => "d'",
            Self::ZeroRttFs => "e",
        }
    }

    /// Returns the option that a mode is.
    pub(crate) fn of(mode: Mode) -> Self {
        match mode {
            Mode::Full => Self::Full,
            Mode::PskOnly => Self::PskOnly,
            Mode::PskDhe => Self::PskDhe,
            Mode::ZeroRttUnguarded => Self::ZeroRtt,
            Mode::ZeroRtt => Self::ZeroRttOnce,
            Mode::ZeroRttFs | Mode::ZeroRttFsPsk => Self::ZeroRttFs,
        }
    }
}

/// The one cipher suite that both ends have, by its number in TLS.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) enum Suite {
    /// `TLS_AES_256_GCM_SHA384`: a reading of the paper's suite, which doesn't exist ("TLS_AES_256_GCM_SHA256" in its
    /// Table 4, "HKDF-SHA384" in its section 5.1).
    #[default]
    #[serde(rename = "0x1302")]
    Aes256GcmSha384,
    /// `TLS_AES_128_GCM_SHA256`, which every implementation has.
    #[serde(rename = "0x1301")]
    Aes128GcmSha256,
}

impl Suite {
    /// Both, the paper's first.
    pub(crate) const ALL: [Self; 2] = [Self::Aes256GcmSha384, Self::Aes128GcmSha256];

    /// Returns the engine's name for it.
    pub(crate) fn cipher_suite(self) -> CipherSuite {
        match self {
            Self::Aes256GcmSha384 => CipherSuite::TLS_AES_256_GCM_SHA384,
            Self::Aes128GcmSha256 => CipherSuite::TLS_AES_128_GCM_SHA256,
        }
    }

    /// Its number, as reports write it.
    pub(crate) fn number(self) -> &'static str {
        match self {
            Self::Aes256GcmSha384 => "0x1302",
            Self::Aes128GcmSha256 => "0x1301",
        }
    }
}

/// Where a server stores its one-time keys.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Store {
    /// In its own memory. Modes without one-time keys have no other store.
    #[default]
    Memory,
    /// In an etcd close to it, as for a fleet.
    Etcd,
}

impl Store {
    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Etcd => "etcd",
        }
    }
}

/// One way to connect, its suite, and its store. Reports flatten its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variant {
    pub(crate) option: PaperOption,
    pub(crate) mode: Mode,
    /// How the handshake agrees a key; `None` if it doesn't.
    pub(crate) kx: Option<Agreement>,
    pub(crate) ticket_key: Option<OneTimeKind>,
    pub(crate) continuation: Option<Continuation>,
    pub(crate) store: Store,
    pub(crate) suite: Suite,
}

impl Variant {
    /// Creates a way with its suite and its store.
    pub(crate) fn new(way: Way, suite: Suite, store: Store) -> Self {
        let Way { mode, kx, ticket_key, continuation, .. } = way;
        Self { option: PaperOption::of(mode), mode, kx, ticket_key, continuation, store, suite }
    }

    /// Returns all variants of the roaming experiments: each suite, by option; a key exchange with a one-time key pair
    /// is of the same kind, with a one-time PSK it is X25519.
    pub(crate) fn all() -> Vec<Self> {
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
            stores.iter().map(move |store| Self::new(way, suite, *store))
        };
        let ways = Way::all(&modes).into_iter().filter(agrees_in_one_kind);
        let ways: Vec<_> = ways.collect();
        Suite::ALL
            .into_iter()
            .flat_map(|suite| ways.iter().flat_map(move |way| of(suite, *way)))
            .collect()
    }

    /// Its way to connect.
    pub(crate) fn way(&self) -> Way {
        let Self { mode, kx, ticket_key, continuation, .. } = *self;
        Way { mode, kx, ticket_key, continuation, fast_open: false }
    }

    /// Returns it as a key, for programs.
    pub(crate) fn key(&self) -> String {
        let kx = self.kx.map_or("none", Agreement::name);
        let key = self.ticket_key.map_or("none", OneTimeKind::name);
        let continuation = self.continuation.map_or("none", Continuation::name);
        let (store, suite) = (self.store.name(), self.suite.number());
        [self.option.letter(), self.mode.name(), kx, key, continuation, store, suite].join("/")
    }
}

fn agrees_in_one_kind(way: &Way) -> bool {
    let key = way.ticket_key.and_then(OneTimeKind::agreement);
    key.is_none() || way.kx.is_none() || way.kx == key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_of_the_roaming_experiments_is_there_once() {
        let variants = Variant::all();
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
        for variant in Variant::all() {
            let json = serde_json::to_value(variant).unwrap();
            assert_eq!(json["option"], variant.option.letter());
            assert_eq!(json["suite"], variant.suite.number());
            assert_eq!(json["store"], variant.store.name());
            assert_eq!(json["kx"].is_null(), variant.kx.is_none());
            assert_eq!(serde_json::from_value::<Variant>(json).unwrap(), variant);
        }
        let letters: Vec<_> = PaperOption::ALL.map(PaperOption::letter).into();
        assert_eq!(letters, ["a", "b", "c", "d", "d'", "e"]);
    }
}
