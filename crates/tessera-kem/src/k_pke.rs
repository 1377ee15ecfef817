//! K-PKE (FIPS 203 §5). It is no scheme to use alone: an attacker who chooses ciphertexts recovers a key that decrypts them.
//!
//! The matrix is never in memory: an entry is sampled, multiplied, and overwritten by the next.

use zeroize::Zeroizing;

use crate::compress::{add_message, byte_decode, byte_encode, compress, decompress};
use crate::hashes::g;
use crate::parameters::{EncodedVector, POLYNOMIAL_LEN, Parameters};
use crate::polynomial::{Polynomial, Sums};
use crate::sampling::{sample_noise, sample_ntt};

/// The noise of e_1 and e_2, in every parameter set (FIPS 203 §8, table 2).
const ETA_2: usize = 2;

/// An encryption key: `t_hat`, encoded, and the seed of the matrix.
pub(crate) struct EncryptionKey<const K: usize> {
    pub(crate) t_hat: EncodedVector<K>,
    pub(crate) rho: [u8; 32],
}

impl<const K: usize> EncryptionKey<K> {
    pub(crate) const ZERO: Self = Self { t_hat: [[0; POLYNOMIAL_LEN]; K], rho: [0; 32] };
}

/// A decryption key: `s_hat`, encoded.
pub(crate) type DecryptionKey<const K: usize> = EncodedVector<K>;

/// Algorithm 13, K-PKE.KeyGen.
pub(crate) fn key_gen<const K: usize>(
    d: &[u8],
    ek: &mut EncryptionKey<K>,
    dk: &mut DecryptionKey<K>,
) {
    let eta_1 = Parameters::<K>::ETA_1;
    let seeds = g(&[d, &[K as u8]]);
    let (rho, sigma) = (&*seeds.first, &*seeds.second);

    let mut s_hat = [const { Polynomial::ZERO }; K];
    for ((n, s), encoded) in (0..).zip(&mut s_hat).zip(dk) {
        sample_noise(eta_1, sigma, n, s);
        s.ntt();
        s.reduce();
        byte_encode(s, encoded);
    }

    let (mut a, mut t, mut sums) = (Polynomial::ZERO, Polynomial::ZERO, Sums::ZERO);
    for (i, encoded) in (0..).zip(&mut ek.t_hat) {
        // e_hat
        sample_noise(eta_1, sigma, K as u8 + i, &mut t);
        t.ntt();
        sums.set(&t);
        for (j, s) in (0..).zip(&s_hat) {
            sample_ntt(rho, [j, i], &mut a);
            sums.add_product(s, &a);
        }
        sums.take(&mut t);
        byte_encode(&t, encoded);
    }
    ek.rho = *rho;
}

/// Algorithm 14, K-PKE.Encrypt. `part` receives the ciphertext in order, polynomial by polynomial.
pub(crate) fn encrypt<const K: usize>(
    ek: &EncryptionKey<K>,
    m: &[u8; 32],
    r: &[u8; 32],
    mut part: impl FnMut(&[u8]),
) {
    let eta_1 = Parameters::<K>::ETA_1;
    let mut y_hat = [const { Polynomial::ZERO }; K];
    for (n, y) in (0..).zip(&mut y_hat) {
        sample_noise(eta_1, r, n, y);
        y.ntt();
    }

    let (mut a, mut f, mut sums) = (Polynomial::ZERO, Polynomial::ZERO, Sums::ZERO);
    // The longest part, of 11 bits for each coefficient.
    let mut encoded = Zeroizing::new([0; 352]);
    for i in 0..K as u8 {
        // A row of the transposed matrix.
        for (j, y) in (0..).zip(&y_hat) {
            sample_ntt(&ek.rho, [i, j], &mut a);
            sums.add_product(y, &a);
        }
        sums.take_inverse(&mut f);
        // e_1
        sample_noise(ETA_2, r, K as u8 + i, &mut a);
        add(&mut f, &a);
        let (u, _) = encoded.split_at_mut(Parameters::<K>::U_LEN);
        compress_u::<K>(&f, u);
        part(u);
    }

    for (encoded, y) in ek.t_hat.iter().zip(&y_hat) {
        byte_decode(encoded, &mut a);
        sums.add_product(y, &a);
    }
    sums.take_inverse(&mut f);
    // e_2
    sample_noise(ETA_2, r, 2 * K as u8, &mut a);
    add(&mut f, &a);
    add_message(m, &mut f);
    let (v, _) = encoded.split_at_mut(Parameters::<K>::V_LEN);
    compress_v::<K>(&f, v);
    part(v);
}

/// Algorithm 15, K-PKE.Decrypt. `c` has the length of a ciphertext.
pub(crate) fn decrypt<const K: usize>(dk: &DecryptionKey<K>, c: &[u8]) -> Zeroizing<[u8; 32]> {
    let (c_1, c_2) = c.split_at(K * Parameters::<K>::U_LEN);
    let (mut u, mut f, mut sums) = (Polynomial::ZERO, Polynomial::ZERO, Sums::ZERO);
    for (c_1, dk) in c_1.chunks_exact(Parameters::<K>::U_LEN).zip(dk) {
        decompress_u::<K>(c_1, &mut u);
        u.ntt();
        byte_decode(dk, &mut f);
        sums.add_product(&u, &f);
    }
    sums.take_inverse(&mut f);

    // w = v - f
    decompress_v::<K>(c_2, &mut u);
    for (f, v) in f.0.iter_mut().zip(&u.0) {
        *f = v - *f;
    }
    let mut m = Zeroizing::new([0; 32]);
    compress::<1>(&f, &mut *m);
    m
}

fn add(f: &mut Polynomial, g: &Polynomial) {
    for (f, g) in f.0.iter_mut().zip(&g.0) {
        *f += g;
    }
}

fn compress_u<const K: usize>(f: &Polynomial, bytes: &mut [u8]) {
    if Parameters::<K>::D_U == 11 { compress::<11>(f, bytes) } else { compress::<10>(f, bytes) }
}

fn compress_v<const K: usize>(f: &Polynomial, bytes: &mut [u8]) {
    if Parameters::<K>::D_V == 5 { compress::<5>(f, bytes) } else { compress::<4>(f, bytes) }
}

fn decompress_u<const K: usize>(bytes: &[u8], f: &mut Polynomial) {
    if Parameters::<K>::D_U == 11 { decompress::<11>(bytes, f) } else { decompress::<10>(bytes, f) }
}

fn decompress_v<const K: usize>(bytes: &[u8], f: &mut Polynomial) {
    if Parameters::<K>::D_V == 5 { decompress::<5>(bytes, f) } else { decompress::<4>(bytes, f) }
}
