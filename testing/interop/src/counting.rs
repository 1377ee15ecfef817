//! A certificate codec that counts what it does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::Facts;
use tessera::auth::{CertificateCodec, CertificateNotDecoded};
use tessera::wire::CertificateCompressionAlgorithm;

/// Counts what a codec of `tessera-compression` does.
pub struct Counting {
    codec: Arc<dyn CertificateCodec>,
    encoded: AtomicUsize,
    decoded: AtomicUsize,
}

impl Counting {
    /// The codec of this algorithm.
    pub fn new(algorithm: CertificateCompressionAlgorithm) -> Arc<Self> {
        let mut codecs = tessera_compression::codecs();
        codecs.retain(|codec| codec.algorithm() == algorithm);
        let (encoded, decoded) = Default::default();
        Arc::new(Self { codec: codecs.remove(0), encoded, decoded })
    }

    /// How many chains were compressed, and how many decompressed.
    pub fn counts(&self) -> (usize, usize) {
        (self.encoded.load(Ordering::Relaxed), self.decoded.load(Ordering::Relaxed))
    }
}

impl CertificateCodec for Counting {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        self.codec.algorithm()
    }

    fn encode(&self, connection: &Facts, body: &[u8]) -> Option<Vec<u8>> {
        let encoded = self.codec.encode(connection, body)?;
        self.encoded.fetch_add(1, Ordering::Relaxed);
        Some(encoded)
    }

    fn decode(
        &self,
        connection: &Facts,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded> {
        let len = self.codec.decode(connection, encoded, body)?;
        self.decoded.fetch_add(1, Ordering::Relaxed);
        Ok(len)
    }
}
