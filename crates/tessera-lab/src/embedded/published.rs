//! Sizes of other stacks' clients, published by their makers. They are not measured here, and their conditions differ.

/// What a client does, in the order of the images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Psk,
    P256,
    Hybrid,
    MlDsa,
    KemPinned,
    KemX509,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Psk, Self::P256, Self::Hybrid, Self::MlDsa, Self::KemPinned, Self::KemX509];

    /// Returns those that others publish sizes of.
    pub(crate) fn published() -> impl Iterator<Item = Self> {
        let is_there =
            |kind: &Self| PUBLISHED.iter().any(|it| it.flash.iter().any(|(of, ..)| of == kind));
        Self::ALL.into_iter().filter(is_there)
    }

    /// Returns the name of its image.
    pub(crate) fn image(self) -> &'static str {
        match self {
            Self::Psk => "psk",
            Self::P256 => "p256",
            Self::Hybrid => "hybrid",
            Self::MlDsa => "ml-dsa",
            Self::KemPinned => "kem-pinned",
            Self::KemX509 => "kem-x509",
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Psk => "PSK",
            Self::P256 => "P-256 chain",
            Self::Hybrid => "P-256 chain, X25519MLKEM768",
            Self::MlDsa => "X25519MLKEM768, ML-DSA-44",
            Self::KemPinned => "ML-KEM, known key",
            Self::KemX509 => "ML-KEM, chain",
        }
    }
}

/// A stack of others.
pub(crate) struct Published {
    pub(crate) name: &'static str,
    /// How its maker built it.
    pub(crate) setting: &'static str,
    /// The flash of its clients in bytes, and as its maker writes it.
    pub(crate) flash: &'static [(Kind, f64, &'static str)],
    pub(crate) stack: Option<&'static str>,
}

/// All of them.
pub(crate) const PUBLISHED: [Published; 3] = [
    Published {
        name: "wolfSSL tinytls13",
        setting: "C, Cortex-M33, -Os, LTO",
        flash: &[(Kind::Psk, 30e3, "30 KB"), (Kind::P256, 61e3, "61 KB")],
        stack: None,
    },
    Published {
        name: "wolfNanoTLS",
        setting: "C, Cortex-M33, -Os",
        flash: &[
            (Kind::Psk, 18e3, "18 KB"),
            (Kind::P256, 53e3, "53 KB"),
            (Kind::Hybrid, 74e3, "74 KB"),
        ],
        stack: None,
    },
    Published {
        name: "krabitls 0.6.1",
        setting: "Rust, Cortex-M3",
        flash: &[(Kind::P256, 58.5 * 1024.0, "58.5 KiB"), (Kind::MlDsa, 62.1 * 1024.0, "62.1 KiB")],
        stack: Some("108 KB, with ML-DSA-44"),
    },
];
