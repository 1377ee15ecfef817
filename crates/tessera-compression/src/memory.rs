//! The cache of compressed chains.

use std::sync::{PoisonError, RwLock};

/// The chains compressed last, before and after. A lookup that hits doesn't wait for a compression.
#[derive(Default)]
pub(crate) struct Memory(RwLock<Vec<CompressedBody>>);

struct CompressedBody {
    body: Vec<u8>,
    /// `None` if compression did not make it shorter.
    compressed: Option<Vec<u8>>,
}

/// The size of the cache, in chains.
const CHAINS: usize = 64;

impl Memory {
    /// Returns the compressed form of `body`, cached or made by `compress`, if it is shorter.
    pub(crate) fn shorter(
        &self,
        body: &[u8],
        compress: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        if let Some(known) = self.find(body) {
            return known;
        }
        let compressed = compress(body).filter(|made| made.len() + HEADER_LEN < body.len());
        let mut chains = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Another connection may have added it meanwhile.
        if !chains.iter().any(|known| known.body == body) {
            if chains.len() == CHAINS {
                chains.remove(0);
            }
            chains.push(CompressedBody { body: body.to_vec(), compressed: compressed.clone() });
        }
        compressed
    }

    fn find(&self, body: &[u8]) -> Option<Option<Vec<u8>>> {
        let chains = self.0.read().unwrap_or_else(PoisonError::into_inner);
        chains.iter().find(|known| known.body == body).map(|known| known.compressed.clone())
    }
}

/// The overhead of CompressedCertificate: the algorithm and two lengths (RFC 8879 §4).
const HEADER_LEN: usize = 2 + 3 + 3;

#[cfg(test)]
mod tests {
    use super::{CHAINS, Memory};

    #[test]
    fn a_certificate_is_compressed_once() {
        let memory = Memory::default();
        let mut times = 0;
        for _ in 0..3 {
            let made = memory.shorter(&[7; 100], |_| {
                times += 1;
                Some(vec![1])
            });
            assert_eq!(made, Some(vec![1]));
        }
        assert_eq!(times, 1);
    }

    #[test]
    fn a_compressed_certificate_counts_only_if_it_is_shorter() {
        let memory = Memory::default();
        assert_eq!(memory.shorter(&[7; 100], |_| Some(vec![1; 92])), None);
        // That compression didn't help is cached too.
        assert_eq!(memory.shorter(&[7; 100], |_| unreachable!()), None);
        assert_eq!(memory.shorter(&[8; 100], |_| Some(vec![1; 91])), Some(vec![1; 91]));
        assert_eq!(memory.shorter(&[9; 100], |_| None), None);
    }

    #[test]
    fn the_memory_of_compressed_certificates_forgets_the_oldest() {
        let memory = Memory::default();
        let mut made = 0;
        let mut ask = |name: usize| {
            let before = made;
            memory.shorter(&name.to_be_bytes().repeat(10), |_| {
                made += 1;
                Some(Vec::new())
            });
            made == before
        };
        for name in 0..CHAINS {
            assert!(!ask(name));
        }
        assert!((0..CHAINS).all(&mut ask), "all are known");
        assert!(!ask(CHAINS));
        assert!(!ask(0), "the oldest is not");
        assert!(ask(2));
    }
}
