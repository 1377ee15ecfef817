//! GREASE (RFC 8701): meaningless values that expose peers which fail to ignore unknown
//! values.

use alloc::vec::Vec;

use super::code_points::{
    CipherSuite, ExtensionType, NamedGroup, ProtocolVersion, PskKeyExchangeMode, SignatureScheme,
};
use super::extensions::write_extension;
use super::writer::Writer;
use crate::linked;

/// The GREASE values of one hello and its repetition, or of one message: random, and
/// stable across calls (RFC 8701 §7).
#[derive(Clone, Copy)]
pub struct Grease([u8; Self::LEN], linked::Grease);

impl Grease {
    /// How many random bytes determine the values.
    pub const LEN: usize = 8;

    /// Creates the values for these random bytes, in builds that have them.
    pub fn new(drawn: [u8; Self::LEN]) -> Option<Self> {
        linked::Grease::linked().map(|linked| Self(drawn, linked))
    }

    /// Returns a cipher suite.
    pub fn cipher_suite(self) -> CipherSuite {
        CipherSuite(code_point(self.0[0]))
    }

    /// Returns a group.
    pub fn group(self) -> NamedGroup {
        NamedGroup(code_point(self.0[1]))
    }

    /// Returns a version.
    pub fn version(self) -> ProtocolVersion {
        ProtocolVersion(code_point(self.0[2]))
    }

    /// Returns a signature scheme.
    pub fn scheme(self) -> SignatureScheme {
        SignatureScheme(code_point(self.0[3]))
    }

    /// Returns an application protocol.
    pub fn protocol(self) -> [u8; 2] {
        code_point(self.0[4]).to_be_bytes()
    }

    /// Returns a PSK key exchange mode (RFC 8701 §2: 0x0b, 0x2a, 0x49 and so on).
    pub fn psk_mode(self) -> PskKeyExchangeMode {
        PskKeyExchangeMode(0x0b + 0x1f * (self.0[5] % 8))
    }

    /// Returns an extension without contents.
    pub fn empty_extension(self) -> ExtensionType {
        ExtensionType(code_point(self.0[6]))
    }

    /// Returns another extension, with contents.
    pub fn full_extension(self) -> ExtensionType {
        // Never the same as the first: that would be a repeated extension.
        let distance = 1 + (self.0[7] >> 4) % 15;
        ExtensionType(code_point((self.0[6] & 15) + distance))
    }

    /// Writes the extension without contents.
    pub fn write_empty_extension(self, out: &mut Vec<u8>) {
        write_extension(out, self.empty_extension(), |_| ());
    }

    /// Writes the other one, with one to four bytes.
    pub fn write_full_extension(self, out: &mut Vec<u8>) {
        let len = 1 + usize::from(self.0[7] % 4);
        write_extension(out, self.full_extension(), |out| out.bytes(&[0; 4][..len]));
    }
}

/// RFC 8701 §2: 0x0a0a, 0x1a1a and so on, by the low half of `drawn`.
fn code_point(drawn: u8) -> u16 {
    let byte = (drawn << 4) | 0x0a;
    u16::from_be_bytes([byte, byte])
}

/// Returns whether a two-byte code point is reserved for GREASE.
pub fn is_grease(code_point: u16) -> bool {
    let [high, low] = code_point.to_be_bytes();
    high == low && low & 0x0f == 0x0a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sixteen code points and the eight modes of RFC 8701 §2.
    #[test]
    fn every_grease_value_is_reserved_for_grease() {
        const MODES: [u8; 8] = [0x0b, 0x2a, 0x49, 0x68, 0x87, 0xa6, 0xc5, 0xe4];
        for drawn in 0..=255 {
            let grease = Grease::new([drawn; 8]).expect("it is linked");
            for value in [
                grease.cipher_suite().0,
                grease.group().0,
                grease.version().0,
                grease.scheme().0,
                u16::from_be_bytes(grease.protocol()),
                grease.empty_extension().0,
                grease.full_extension().0,
            ] {
                assert_eq!((value & 0x0f0f, value >> 8), (0x0a0a, value & 0xff));
                assert!(is_grease(value));
            }
            assert!(MODES.contains(&grease.psk_mode().0));
        }
    }

    #[test]
    fn exactly_sixteen_code_points_are_grease() {
        assert_eq!((0..=u16::MAX).filter(|value| is_grease(*value)).count(), 16);
    }

    #[test]
    fn the_two_grease_extensions_always_differ() {
        for first in 0..=255 {
            for second in 0..=255 {
                let grease = Grease::new([0, 0, 0, 0, 0, 0, first, second]).expect("it is linked");
                assert_ne!(grease.empty_extension(), grease.full_extension());
            }
        }
    }
}
