//! What the images are to reach.

use super::published::Kind;
use super::report::{Image, Report};

/// A bound for an image.
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) of: Quantity,
    pub(crate) most: u32,
}

/// The bounded quantity of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    Flash,
    Ram,
}

/// All of them, in bytes.
pub(crate) const TARGETS: [Target; 9] = [
    Target { kind: Kind::Psk, of: Quantity::Flash, most: 50_000 },
    Target { kind: Kind::P256, of: Quantity::Flash, most: 110_000 },
    Target { kind: Kind::Hybrid, of: Quantity::Flash, most: 120_000 },
    Target { kind: Kind::MlDsa, of: Quantity::Flash, most: 135_000 },
    Target { kind: Kind::Psk, of: Quantity::Ram, most: 12_000 },
    Target { kind: Kind::P256, of: Quantity::Ram, most: 24_000 },
    Target { kind: Kind::KemPinned, of: Quantity::Flash, most: 64_000 },
    Target { kind: Kind::KemPinned, of: Quantity::Ram, most: 28_000 },
    Target { kind: Kind::KemX509, of: Quantity::Ram, most: 32_000 },
];

impl Quantity {
    /// Returns the quantity of an image.
    pub(crate) fn measured(self, image: &Image) -> u64 {
        match self {
            Self::Flash => image.client.flash.into(),
            Self::Ram => image.client.end.ram(),
        }
    }

    /// Returns it with what must be there for a connection to start.
    pub(crate) fn to_start(self, image: &Image) -> Option<u64> {
        match self {
            Self::Flash => None,
            Self::Ram => image.client.end.ram_to_start(),
        }
    }

    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Flash => "flash",
            Self::Ram => "RAM (stack, heap, buffers)",
        }
    }
}

/// Returns the bound of an image, if it has one.
pub(crate) fn most(image: &str, of: Quantity) -> Option<u32> {
    TARGETS.iter().find(|it| it.kind.image() == image && it.of == of).map(|it| it.most)
}

impl Report {
    /// Returns the image of a kind.
    pub(crate) fn image(&self, kind: Kind) -> Option<&Image> {
        self.images.iter().find(|it| it.image == kind.image())
    }
}
