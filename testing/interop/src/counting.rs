//! Compression that counts its calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::auth::{CertificateCompression, CertificateNotDecoded};
use tessera::wire::CertificateCompressionAlgorithm;
use tessera_compression::{Brotli, Zlib};

/// Counts the calls of an algorithm of `tessera-compression`.
pub struct CountingCompression {
    compression: Box<dyn CertificateCompression>,
    compressed: AtomicUsize,
    decompressed: AtomicUsize,
}

impl CountingCompression {
    /// Brotli, or zlib.
    pub fn new(algorithm: CertificateCompressionAlgorithm) -> Arc<Self> {
        let compression: Box<dyn CertificateCompression> = match algorithm {
            CertificateCompressionAlgorithm::BROTLI => Box::new(Brotli::default()),
            _ => Box::new(Zlib::default()),
        };
        assert_eq!(compression.algorithm(), algorithm);
        let (compressed, decompressed) = Default::default();
        Arc::new(Self { compression, compressed, decompressed })
    }

    /// Returns how many chains were compressed, and how many decompressed.
    pub fn counts(&self) -> (usize, usize) {
        (self.compressed.load(Ordering::Relaxed), self.decompressed.load(Ordering::Relaxed))
    }
}

impl CertificateCompression for CountingCompression {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.compression.algorithm()
    }

    fn compress(&self, body: &[u8]) -> Option<Vec<u8>> {
        let compressed = self.compression.compress(body)?;
        self.compressed.fetch_add(1, Ordering::Relaxed);
        Some(compressed)
    }

    fn decompress(
        &self,
        compressed: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded> {
        let len = self.compression.decompress(compressed, body)?;
        self.decompressed.fetch_add(1, Ordering::Relaxed);
        Ok(len)
    }
}
