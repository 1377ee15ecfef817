//! The modes of the lab.

use std::fmt;

use crate::letter::Letter;
use crate::named::named;

named! {
    /// A way to connect. From the slowest to the fastest; the last one is not for use.
    Mode.name {
        /// Certificates on both sides, as in a first connection.
        Full = "full",
        /// A ticket's PSK alone (psk_ke).
        PskOnly = "psk-only",
        /// A ticket's PSK and a key exchange (psk_dhe_ke).
        PskDhe = "psk-dhe",
        /// The same with early data as in RFC 8446, behind a register of used tickets.
        ZeroRtt = "0rtt",
        /// Early data under a one-time key: forward-secret, accepted at most once.
        ZeroRttFs = "0rtt-fs",
        /// Early data under a one-time PSK, without public-key work: forward-secret only if both ends delete the PSK.
        ZeroRttFsPsk = "0rtt-fs-psk",
        /// Early data as in RFC 8446 without a register, to show what the adversary achieves then.
        ZeroRttUnguarded = "0rtt-unguarded",
    }
}

impl Mode {
    /// Returns the paper's option that it is.
    #[must_use]
    pub fn letter(self) -> Letter {
        match self {
            Self::Full => Letter::A,
            Self::PskOnly => Letter::B,
            Self::PskDhe => Letter::C,
            Self::ZeroRttUnguarded => Letter::D,
            Self::ZeroRtt => Letter::DSingleUse,
            Self::ZeroRttFs | Self::ZeroRttFsPsk => Letter::E,
        }
    }

    /// Whether the request goes out as early data.
    #[must_use]
    pub fn has_early_data(self) -> bool {
        self.is_replayable() || self.has_one_time_key()
    }

    /// Whether that early data is under a one-time key.
    #[must_use]
    pub fn has_one_time_key(self) -> bool {
        matches!(self, Self::ZeroRttFs | Self::ZeroRttFsPsk)
    }

    /// Whether that early data is of the kind that a server must remember to reject replays.
    #[must_use]
    pub fn is_replayable(self) -> bool {
        matches!(self, Self::ZeroRtt | Self::ZeroRttUnguarded)
    }

    /// Whether it begins with the ticket of an earlier connection.
    #[must_use]
    pub fn resumes(self) -> bool {
        self != Self::Full
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_modes_are_those_of_the_report() {
        for mode in Mode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
        }
    }
}
