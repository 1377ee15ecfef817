//! The parameter sets of FIPS 203 §8, by their rank k: 2 is ML-KEM-512, 3 is ML-KEM-768, 4 is ML-KEM-1024.

/// The length of a polynomial that `ByteEncode_12` has encoded.
pub(crate) const POLYNOMIAL_LEN: usize = 384;

/// The parameters of rank `K` (FIPS 203 §8, table 2).
pub(crate) struct Parameters<const K: usize>;

impl<const K: usize> Parameters<K> {
    /// The noise of s, e and y.
    pub(crate) const ETA_1: usize = match K {
        2 => 3,
        3 | 4 => 2,
        _ => panic!("the rank of a parameter set is 2, 3 or 4"),
    };
    /// The bits that a coefficient of u keeps.
    pub(crate) const D_U: usize = if K == 4 { 11 } else { 10 };
    /// The bits that a coefficient of v keeps.
    pub(crate) const D_V: usize = if K == 4 { 5 } else { 4 };

    /// An encoded element of u.
    pub(crate) const U_LEN: usize = 32 * Self::D_U;
    /// Encoded v.
    pub(crate) const V_LEN: usize = 32 * Self::D_V;

    // FIPS 203 §8, table 3.
    pub(crate) const ENCAPSULATION_KEY_LEN: usize = POLYNOMIAL_LEN * K + 32;
    pub(crate) const DECAPSULATION_KEY_LEN: usize = 2 * POLYNOMIAL_LEN * K + 96;
    pub(crate) const CIPHERTEXT_LEN: usize = Self::U_LEN * K + Self::V_LEN;
}

/// A vector of `K` encoded polynomials.
pub(crate) type EncodedVector<const K: usize> = [[u8; POLYNOMIAL_LEN]; K];
