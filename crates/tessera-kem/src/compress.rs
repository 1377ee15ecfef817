//! Compression and encoding of polynomials (FIPS 203 §4.2.1): always both, in one pass.

use subtle::{Choice, ConditionallySelectable};

use crate::field::{Q, positive};
use crate::polynomial::Polynomial;

/// `ByteEncode_D(Compress_D(f))` (algorithm 5, and equation 4.7). Coefficients are from 1 - q to 2q - 1.
pub(crate) fn compress<const D: usize>(f: &Polynomial, bytes: &mut [u8]) {
    pack::<D>(f, bytes, compress_coefficient::<D>);
}

/// `Decompress_D(ByteDecode_D(bytes))` (algorithm 6, and equation 4.8), from 0 to q - 1.
pub(crate) fn decompress<const D: usize>(bytes: &[u8], f: &mut Polynomial) {
    unpack::<D>(bytes, f, |y| (((y * Q as u32) + (1 << (D - 1))) >> D) as i16);
}

/// `ByteEncode_12` (algorithm 5). Coefficients are from 1 - q to q - 1.
pub(crate) fn byte_encode(f: &Polynomial, bytes: &mut [u8]) {
    pack::<12>(f, bytes, positive);
}

/// `ByteDecode_12` (algorithm 6), but for the reduction modulo q: from 0 to 4095.
pub(crate) fn byte_decode(bytes: &[u8], f: &mut Polynomial) {
    unpack::<12>(bytes, f, |value| value as i16);
}

/// Whether all encoded coefficients are below q (FIPS 203 §7.2, the modulus check), for public polynomials.
pub(crate) fn is_reduced(bytes: &[u8]) -> bool {
    let mut f = Polynomial::ZERO;
    byte_decode(bytes, &mut f);
    f.0.iter().all(|&f| i32::from(f) < Q)
}

/// Adds `Decompress_1(ByteDecode_1(message))`: a bit is 0, or half of q. A compiler that sees a bit in such a selection
/// can make a branch of it; `subtle` hides it.
pub(crate) fn add_message(message: &[u8; 32], f: &mut Polynomial) {
    let (eights, _) = f.0.as_chunks_mut::<8>();
    for (byte, eight) in message.iter().zip(eights) {
        for (i, f) in eight.iter_mut().enumerate() {
            *f += i16::conditional_select(&0, &HALF_OF_Q, Choice::from(byte >> i & 1));
        }
    }
}

const HALF_OF_Q: i16 = (Q as i16 + 1) / 2;

/// Compress_D: 2^D / q * x, rounded, modulo 2^D. A division would take a time that depends on x where processors have no
/// constant one (KyberSlash).
const fn compress_coefficient<const D: usize>(x: i16) -> u32 {
    let dividend = (positive(x) << D) + Q as u32 / 2;
    let quotient = (dividend as u64 * RECIPROCAL) >> 36;
    quotient as u32 & ((1 << D) - 1)
}

/// 2^36 / q, rounded up. Above by less than one, it adds less than 1/q to the quotient of a dividend below 2^24.
const RECIPROCAL: u64 = (1 << 36) / Q as u64 + 1;

/// Packs `D` bits of each coefficient: eight coefficients into `D` bytes.
#[inline(always)]
fn pack<const D: usize>(f: &Polynomial, bytes: &mut [u8], value: impl Fn(i16) -> u32) {
    let (eights, _) = f.0.as_chunks::<8>();
    let (groups, _) = bytes.as_chunks_mut::<D>();
    for (bytes, eight) in groups.iter_mut().zip(eights) {
        let (mut waiting, mut bits) = (0, 0);
        let mut bytes = bytes.iter_mut();
        for &f in eight {
            waiting |= value(f) << bits;
            bits += D;
            while bits >= 8 {
                if let Some(byte) = bytes.next() {
                    *byte = waiting as u8;
                }
                waiting >>= 8;
                bits -= 8;
            }
        }
    }
}

/// The inverse of [`pack`].
#[inline(always)]
fn unpack<const D: usize>(bytes: &[u8], f: &mut Polynomial, coefficient: impl Fn(u32) -> i16) {
    let (eights, _) = f.0.as_chunks_mut::<8>();
    let (groups, _) = bytes.as_chunks::<D>();
    for (bytes, eight) in groups.iter().zip(eights) {
        let (mut waiting, mut bits) = (0, 0);
        let mut bytes = bytes.iter();
        for f in eight {
            while bits < D {
                waiting |= bytes.next().map_or(0, |&byte| u32::from(byte)) << bits;
                bits += 8;
            }
            *f = coefficient(waiting & ((1 << D) - 1));
            waiting >>= D;
            bits -= D;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equations 4.7 and 4.8, with a division.
    fn check<const D: usize>() {
        for x in 1 - 3329..2 * 3329i64 {
            let modulo_q = x.rem_euclid(3329);
            let rounded = (2 * (modulo_q << D) + 3329) / (2 * 3329) % (1 << D);
            assert_eq!(i64::from(compress_coefficient::<D>(x as i16)), rounded, "{x}, {D}");
        }
        let mut f = Polynomial::ZERO;
        let mut bytes = [0; 32 * 12];
        let bytes = &mut bytes[..32 * D];
        for first in 0..1 << D {
            for (i, f) in f.0.iter_mut().enumerate() {
                let y = (first + i as i64) % (1 << D);
                *f = ((2 * y * 3329 + (1 << D)) >> (D + 1)) as i16;
            }
            // A number of D bits is what it was after both (§4.2.1).
            compress::<D>(&f, bytes);
            let mut again = Polynomial::ZERO;
            decompress::<D>(bytes, &mut again);
            assert_eq!(f.0, again.0, "{first}, {D}");
        }
    }

    #[test]
    fn compression_rounds_as_a_division() {
        check::<1>();
        check::<4>();
        check::<5>();
        check::<10>();
        check::<11>();
    }

    #[test]
    fn bits_of_messages_are_zero_or_half_of_q() {
        let message: [u8; 32] = core::array::from_fn(|i| (i * 37) as u8);
        let mut f = Polynomial::ZERO;
        add_message(&message, &mut f);
        let mut decompressed = Polynomial::ZERO;
        decompress::<1>(&message, &mut decompressed);
        assert_eq!(f.0, decompressed.0);
        let mut again = [0; 32];
        compress::<1>(&f, &mut again);
        assert_eq!(again, message);
    }

    #[test]
    fn a_coefficient_of_q_is_found_wherever_it_is() {
        for at in 0..256 {
            let mut f = Polynomial([3328; 256]);
            let mut bytes = [0; 384];
            byte_encode(&f, &mut bytes);
            assert!(is_reduced(&bytes));
            f.0[at] = 3329;
            byte_encode(&f, &mut bytes);
            assert!(!is_reduced(&bytes), "{at}");
            let mut again = Polynomial::ZERO;
            byte_decode(&bytes, &mut again);
            assert_eq!(f.0, again.0);
        }
    }
}
