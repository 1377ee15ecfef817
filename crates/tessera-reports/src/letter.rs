//! The options of the roaming paper.

use std::fmt;

use crate::named::named;

named! {
    /// An option for N32, by its letter in Lastre et al. (Sensors 2025, 25(19), 6144, section 5.2).
    Letter.letter {
        /// A full handshake, with certificates on both sides.
        A = "a",
        /// A ticket's PSK alone (psk_ke).
        B = "b",
        /// A ticket's PSK and a key exchange (psk_dhe_ke).
        C = "c",
        /// Early data as in RFC 8446, without a memory of used tickets.
        D = "d",
        /// The same with tickets that a server accepts once (RFC 8446 §8.1). Not in the paper.
        DSingleUse = "d'",
        /// Forward-secret early data, accepted at most once.
        E = "e",
    }
}

impl Letter {
    /// Returns a short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "full handshake",
            Self::B => "PSK only",
            Self::C => "PSK with key exchange",
            Self::D => "0-RTT without a register",
            Self::DSingleUse => "0-RTT with single-use tickets",
            Self::E => "0-RTT FS",
        }
    }

    /// Whether a request goes out with the first flight.
    #[must_use]
    pub fn has_early_data(self) -> bool {
        matches!(self, Self::D | Self::DSingleUse | Self::E)
    }
}

impl fmt::Display for Letter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}) {}", self.letter(), self.name())
    }
}
