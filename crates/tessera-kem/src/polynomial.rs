//! Polynomials of 256 coefficients modulo q, their number-theoretic transform, and sums of their products
//! (FIPS 203 §4.3).

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::field::{DIVISOR, Q, constant, multiply, reduce};

/// A polynomial, or its transform, which FIPS 203 marks with a hat. Coefficients are representatives, not always from
/// 0 to q - 1.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Polynomial(pub(crate) [i16; 256]);

/// Sums of products, not yet reduced.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Sums([i32; 256]);

impl Polynomial {
    pub(crate) const ZERO: Self = Self([0; 256]);

    /// Makes coefficients of up to 16 bits the representatives that are nearest to zero.
    pub(crate) fn reduce(&mut self) {
        self.scale(ONE);
    }

    fn scale(&mut self, factor: i32) {
        for f in &mut self.0 {
            *f = multiply(*f, factor);
        }
    }

    /// Algorithm 9, NTT, in place. Each of seven layers adds at most 1665 to the absolute value of a coefficient, so that
    /// none is reduced: from 3328 the highest is 14,983.
    pub(crate) fn ntt(&mut self) {
        let mut zetas = ZETAS.iter().skip(1);
        for len in [128, 64, 32, 16, 8, 4, 2] {
            for (block, &zeta) in self.0.chunks_exact_mut(2 * len).zip(zetas.by_ref()) {
                let (low, high) = block.split_at_mut(len);
                for (a, b) in low.iter_mut().zip(high) {
                    let t = multiply(*b, zeta);
                    *b = *a - t;
                    *a += t;
                }
            }
        }
    }

    /// Algorithm 10, NTT^-1, in place, times the divisor of [`reduce`]. Sums double with each layer: from 1665 to 26,640
    /// after four, where they are reduced, and to 13,320 at the end.
    fn inverse_ntt_of_divided(&mut self) {
        let mut zetas = ZETAS.iter().skip(2).rev();
        for len in [2, 4, 8, 16, 32, 64] {
            for (block, &zeta) in self.0.chunks_exact_mut(2 * len).zip(zetas.by_ref()) {
                let (low, high) = block.split_at_mut(len);
                for (a, b) in low.iter_mut().zip(high) {
                    let sum = *a + *b;
                    *b = multiply(*b - *a, zeta);
                    *a = if len == 16 { multiply(sum, ONE) } else { sum };
                }
            }
        }
        // The last layer multiplies by 1/128 as well (step 14).
        let (low, high) = self.0.split_at_mut(128);
        for (a, b) in low.iter_mut().zip(high) {
            let sum = *a + *b;
            *b = multiply(*b - *a, LAST_ZETA);
            *a = multiply(sum, LAST);
        }
    }
}

impl Sums {
    pub(crate) const ZERO: Self = Self([0; 256]);

    pub(crate) fn set(&mut self, f: &Polynomial) {
        for (sum, f) in self.0.iter_mut().zip(&f.0) {
            *sum = i32::from(*f);
        }
    }

    /// Adds algorithm 11, MultiplyNTTs, of a transform and a polynomial whose coefficients are from 0 to 4095. A product
    /// adds at most 14,983 * (4095 + 1665) < 2^27 to an absolute value, so that four stay below the bound of
    /// [`reduce`].
    pub(crate) fn add_product(&mut self, f: &Polynomial, g: &Polynomial) {
        let (sums, _) = self.0.as_chunks_mut::<4>();
        let ((f, _), (g, _)) = (f.0.as_chunks::<4>(), g.0.as_chunks::<4>());
        // Of two neighbours in algorithm 11, gamma is a zeta of the last layer, and its negative.
        for (((sum, f), g), &gamma) in sums.iter_mut().zip(f).zip(g).zip(&ZETAS[64..]) {
            let f = f.map(i32::from);
            let (g1, g3) = (i32::from(multiply(g[1], gamma)), i32::from(multiply(g[3], gamma)));
            let g = g.map(i32::from);
            // Algorithm 12, BaseCaseMultiply.
            sum[0] += f[0] * g[0] + f[1] * g1;
            sum[1] += f[0] * g[1] + f[1] * g[0];
            sum[2] += f[2] * g[2] - f[3] * g3;
            sum[3] += f[2] * g[3] + f[3] * g[2];
        }
    }

    /// Writes the sums, as a transform, and sets them to zero.
    pub(crate) fn take(&mut self, f_hat: &mut Polynomial) {
        self.take_divided(f_hat);
        f_hat.scale(TIMES_DIVISOR);
    }

    /// Writes the polynomial whose transform the sums are, and sets them to zero.
    pub(crate) fn take_inverse(&mut self, f: &mut Polynomial) {
        self.take_divided(f);
        f.inverse_ntt_of_divided();
    }

    fn take_divided(&mut self, f: &mut Polynomial) {
        for (f, sum) in f.0.iter_mut().zip(&mut self.0) {
            *f = reduce(*sum);
            *sum = 0;
        }
    }
}

/// 17 to the power of BitRev_7(i), modulo q (FIPS 203 appendix A), as factors.
const ZETAS: [i32; 128] = {
    let mut zetas = [0; 128];
    let mut i = 0;
    while i < 128 {
        zetas[i] = constant(zeta(i));
        i += 1;
    }
    zetas
};

const ONE: i32 = constant(1);
const TIMES_DIVISOR: i32 = constant(DIVISOR);
/// 128^-1 modulo q (algorithm 10, step 14), times the divisor.
const AT_LAST: i64 = 3303 * DIVISOR % Q as i64;
const LAST: i32 = constant(AT_LAST);
const LAST_ZETA: i32 = constant(zeta(1) * AT_LAST % Q as i64);

const fn zeta(i: usize) -> i64 {
    let exponent = (i as u8).reverse_bits() >> 1;
    let (mut power, mut n) = (1, 0);
    while n < exponent {
        power = power * 17 % Q as i64;
        n += 1;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polynomials with coefficients up to q - 1, the extremes first.
    fn polynomials() -> impl Iterator<Item = [i16; 256]> {
        let edges =
            [[3328; 256], [0; 256], core::array::from_fn(|i| if i % 2 == 0 { 3328 } else { 0 })];
        let mut state = 1u32;
        let random = core::iter::repeat_with(move || {
            core::array::from_fn(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                ((state >> 16) % 3329) as i16
            })
        });
        edges.into_iter().chain(random.take(20))
    }

    /// In the ring itself: x^256 is -1.
    fn product(f: &[i16; 256], g: &[i16; 256]) -> [i64; 256] {
        let mut product = [0; 256];
        for (i, &f) in f.iter().enumerate() {
            for (j, &g) in g.iter().enumerate() {
                let term = i64::from(f) * i64::from(g);
                product[(i + j) % 256] += if i + j < 256 { term } else { -term };
            }
        }
        product
    }

    #[test]
    fn a_product_of_transforms_is_that_of_the_ring() {
        for (f, g) in polynomials().zip(polynomials().skip(1)) {
            let expected = product(&f, &g).map(|sum| sum.rem_euclid(3329));
            let (mut f, mut g, mut sums) = (Polynomial(f), Polynomial(g), Sums::ZERO);
            f.ntt();
            g.ntt();
            for g in &mut g.0 {
                *g = g.rem_euclid(3329);
            }
            sums.add_product(&f, &g);
            sums.take_inverse(&mut f);
            assert_eq!(f.0.map(|f| i64::from(f.rem_euclid(3329))), expected);
        }
    }

    /// Overflow would panic here, with debug assertions.
    #[test]
    fn no_layer_and_no_sum_overflows() {
        let highest = || Polynomial([4095; 256]);
        for sign in [1, -1] {
            let mut f = Polynomial([3328 * sign; 256]);
            f.ntt();
            assert!(f.0.iter().all(|f| f.abs() <= 14_983));
            f = Polynomial([14_983 * sign; 256]);
            let mut sums = Sums::ZERO;
            sums.set(&f);
            for _ in 0..4 {
                sums.add_product(&f, &highest());
            }
            assert!(sums.0.iter().all(|sum| sum.abs() <= 1 << 30));
            let mut reduced = Polynomial([1665 * sign; 256]);
            reduced.inverse_ntt_of_divided();
            assert!(reduced.0.iter().all(|f| f.abs() <= 1665));
        }
    }
}
