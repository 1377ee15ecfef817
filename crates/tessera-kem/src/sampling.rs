//! Polynomials from seeds (FIPS 203 §4.2.2).

use crate::field::Q;
use crate::hashes::prf;
use crate::polynomial::Polynomial;
use crate::sponge::{Shake128, Suffix};

/// Algorithm 7, SampleNTT: the entry of the matrix that `rho` and both bytes stand for. It branches on what is public.
pub(crate) fn sample_ntt(rho: &[u8; 32], index: [u8; 2], a: &mut Polynomial) {
    let mut xof = Shake128::new();
    xof.absorb(rho);
    xof.absorb(&index);
    xof.pad(Suffix::Shake);
    let mut block = [0; 168];
    let mut coefficients = a.0.iter_mut();
    // A block has 112 candidates, of which four in five are below q.
    while coefficients.len() > 0 {
        xof.squeeze(&mut block);
        let (threes, _) = block.as_chunks::<3>();
        for three in threes {
            let [c0, c1, c2] = three.map(i16::from);
            for candidate in [c0 | (c1 & 15) << 8, c1 >> 4 | c2 << 4] {
                if i32::from(candidate) < Q {
                    let Some(coefficient) = coefficients.next() else { return };
                    *coefficient = candidate;
                }
            }
        }
    }
}

/// Algorithm 8, SamplePolyCBD_eta, of PRF_eta(seed, n).
pub(crate) fn sample_noise(eta: usize, seed: &[u8; 32], n: u8, f: &mut Polynomial) {
    let bytes = prf(eta, seed, n);
    if eta == 3 { cbd_3(&bytes, f) } else { cbd_2(&bytes, f) }
}

/// Four bits for each coefficient: two are added, two subtracted.
fn cbd_2(bytes: &[u8; 192], f: &mut Polynomial) {
    let (words, _) = bytes.as_chunks::<4>();
    let (eights, _) = f.0.as_chunks_mut::<8>();
    for (word, eight) in words.iter().zip(eights) {
        let bits = u32::from_le_bytes(*word);
        let pairs = (bits & 0x5555_5555) + (bits >> 1 & 0x5555_5555);
        for (i, f) in eight.iter_mut().enumerate() {
            let two = pairs >> (4 * i);
            *f = (two & 3) as i16 - (two >> 2 & 3) as i16;
        }
    }
}

/// Six bits for each coefficient: three are added, three subtracted.
fn cbd_3(bytes: &[u8; 192], f: &mut Polynomial) {
    let (threes, _) = bytes.as_chunks::<3>();
    let (fours, _) = f.0.as_chunks_mut::<4>();
    for (three, four) in threes.iter().zip(fours) {
        let bits = u32::from_le_bytes([three[0], three[1], three[2], 0]);
        let ones = 0o1111_1111;
        let triples = (bits & ones) + (bits >> 1 & ones) + (bits >> 2 & ones);
        for (i, f) in four.iter_mut().enumerate() {
            let two = triples >> (6 * i);
            *f = (two & 7) as i16 - (two >> 3 & 7) as i16;
        }
    }
}
