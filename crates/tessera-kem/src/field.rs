//! Integers modulo q = 3329, in Plantard's form of reduction, widened for signed numbers (Huang, Zhang, Zhao, Liu,
//! Cheung, Koç, Chen: "Improved Plantard Arithmetic for Lattice-based Cryptography", CHES 2022).
//!
//! A product by a known constant takes two multiplications, one addition and two shifts of 32-bit words, without a
//! branch. It accepts any `i16`, and returns the representative nearest to zero, so that the number-theoretic transform
//! needs no other reductions. It also divides by -2^32, which [`constant`] has multiplied by.

/// The modulus of ML-KEM (FIPS 203 §2.3).
pub(crate) const Q: i32 = 3329;

/// q^-1 modulo 2^32, by Newton's iteration: each step doubles the number of right bits, of which q itself has three.
const Q_INVERSE: i32 = {
    let mut inverse = Q;
    let mut step = 0;
    while step < 4 {
        inverse = inverse.wrapping_mul(2i32.wrapping_sub(Q.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
};

/// The factor for [`multiply`] that multiplies by `value`, from 0 to q - 1.
pub(crate) const fn constant(value: i64) -> i32 {
    let scaled = value * DIVISOR % Q as i64;
    let nearest = if scaled > Q as i64 / 2 { scaled - Q as i64 } else { scaled };
    (nearest as i32).wrapping_mul(Q_INVERSE)
}

/// What [`multiply`] and [`reduce`] divide by: -2^32, modulo q.
pub(crate) const DIVISOR: i64 = Q as i64 - (1 << 32) % Q as i64;

/// Multiplies by a factor made by [`constant`]: any `a` yields -1665 to 1664.
pub(crate) const fn multiply(a: i16, factor: i32) -> i16 {
    nearest_to_zero((a as i32).wrapping_mul(factor))
}

/// Returns `sum` / -2^32 modulo q, from -1665 to 1664. `sum` has an absolute value of at most 2^30.
pub(crate) const fn reduce(sum: i32) -> i16 {
    nearest_to_zero(sum.wrapping_mul(Q_INVERSE))
}

const fn nearest_to_zero(times_q_inverse: i32) -> i16 {
    ((((times_q_inverse >> 16) + 8) * Q) >> 16) as i16
}

/// Adds q to what is negative, without a branch.
pub(crate) const fn positive(a: i16) -> u32 {
    let a = a as i32;
    (a + (Q & (a >> 31))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: core::ops::RangeInclusive<i16> = -1665..=1664;

    #[test]
    fn every_number_times_every_residue_is_reduced() {
        for value in [0, 1, 2, 17, 1664, 1665, 3303, 3328].into_iter().chain((3..3329).step_by(13))
        {
            let factor = constant(value);
            for a in i16::MIN..=i16::MAX {
                let product = multiply(a, factor);
                assert!(RANGE.contains(&product), "{a} * {value}");
                let off = i64::from(a) * value - i64::from(product);
                assert_eq!(off % i64::from(Q), 0, "{a} * {value}");
            }
        }
    }

    #[test]
    fn sums_are_reduced_up_to_the_bound() {
        let edges =
            [-(1 << 30), -(1 << 30) + 1, -3329, -1, 0, 1, 3328, 3329, (1 << 30) - 1, 1 << 30];
        for sum in edges.into_iter().chain((-(1 << 30)..1 << 30).step_by(104_729)) {
            let reduced = reduce(sum);
            assert!(RANGE.contains(&reduced), "{sum}");
            assert_eq!(
                (i64::from(reduced) * -(1 << 32) - i64::from(sum)) % i64::from(Q),
                0,
                "{sum}"
            );
            // and back
            let product = i64::from(multiply(reduced, constant(DIVISOR)));
            assert_eq!((product - i64::from(sum)) % i64::from(Q), 0, "{sum}");
        }
    }
}
