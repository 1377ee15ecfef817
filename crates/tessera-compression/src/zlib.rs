//! zlib (RFC 1950), with miniz_oxide.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use tessera::Facts;
use tessera::auth::{CertificateCodec, CertificateNotDecoded};
use tessera::wire::CertificateCompressionAlgorithm;

use crate::memory::Memory;

/// Certificates compressed with zlib.
#[derive(Default)]
pub struct Zlib {
    made: Memory,
}

impl CertificateCodec for Zlib {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::ZLIB
    }

    fn encode(&self, _: &Facts, body: &[u8]) -> Option<Vec<u8>> {
        self.made.shorter(body, |body| Some(compress_to_vec_zlib(body, BEST)))
    }

    fn decode(
        &self,
        _: &Facts,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded> {
        let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
            | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut state = Box::<DecompressorOxide>::default();
        match decompress(&mut state, encoded, body, 0, flags) {
            // Nothing may follow the checksum.
            (TINFLStatus::Done, read, written) if read == encoded.len() => Ok(written),
            _ => Err(CertificateNotDecoded),
        }
    }
}

/// The level that compresses best: it is done once for a chain.
const BEST: u8 = 9;
