//! zlib (RFC 1950), with miniz_oxide.

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use tessera::auth::{CertificateCompression, CertificateNotDecoded};
use tessera::wire::CertificateCompressionAlgorithm;

use crate::memory::Memory;

/// Certificates compressed with zlib.
#[derive(Default)]
pub struct Zlib {
    made: Memory,
}

impl CertificateCompression for Zlib {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::ZLIB
    }

    fn compress(&self, body: &[u8]) -> Option<Vec<u8>> {
        self.made.shorter(body, |body| Some(compress_to_vec_zlib(body, BEST)))
    }

    fn decompress(
        &self,
        compressed: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded> {
        let flags = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER
            | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let mut state = Box::<DecompressorOxide>::default();
        match decompress(&mut state, compressed, body, 0, flags) {
            // Trailing data after the checksum is an error.
            (TINFLStatus::Done, read, written) if read == compressed.len() => Ok(written),
            _ => Err(CertificateNotDecoded::Malformed),
        }
    }
}

/// The best compression: each chain is compressed only once.
const BEST: u8 = 9;
