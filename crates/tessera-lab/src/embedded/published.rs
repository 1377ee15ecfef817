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
        flash: &[(Kind::Psk, 30.1e3, "30.1 KB"), (Kind::P256, 61.3e3, "61.3 KB")],
        stack: None,
    },
    Published {
        name: "wolfNanoTLS",
        setting: "C, Cortex-M33, -Os, LTO",
        // Its maker's KB are of 1,024 bytes: 18.2, 53.0 and 74.3.
        flash: &[
            (Kind::Psk, 18_680.0, "18,680"),
            (Kind::P256, 54_280.0, "54,280"),
            (Kind::Hybrid, 76_052.0, "76,052"),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is drawn and what is printed are one figure.
    #[test]
    fn every_figure_is_what_its_words_name() {
        for (_, bytes, words) in PUBLISHED.iter().flat_map(|it| it.flash) {
            let (number, unit) = words.split_once(' ').unwrap_or((words, ""));
            let of = match unit {
                "" => 1.0,
                "KB" => 1e3,
                "KiB" => 1024.0,
                _ => panic!("{words}: unknown unit"),
            };
            let number: f64 = number.replace(',', "").parse().unwrap();
            assert!((number * of - bytes).abs() < 1e-6, "{words}, not {bytes}");
        }
    }
}
