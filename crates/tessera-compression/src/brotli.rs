//! Brotli (RFC 7932).

use ::brotli::enc::{BrotliCompress, BrotliEncoderParams, StandardAlloc};
use ::brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use tessera::auth::{CertificateCompression, CertificateNotDecoded};
use tessera::wire::CertificateCompressionAlgorithm;

use crate::memory::Memory;

/// Certificates compressed with Brotli.
///
/// The decoder sizes its window by the peer's header: up to 16 MiB while it decodes, of which it touches no more than
/// the length of the certificates.
#[derive(Default)]
pub struct Brotli {
    made: Memory,
}

impl CertificateCompression for Brotli {
    fn algorithm(&self) -> CertificateCompressionAlgorithm {
        CertificateCompressionAlgorithm::BROTLI
    }

    fn compress(&self, body: &[u8]) -> Option<Vec<u8>> {
        self.made.shorter(body, |body| {
            let params = BrotliEncoderParams {
                quality: BEST,
                lgwin: WINDOW_BITS,
                size_hint: body.len(),
                ..Default::default()
            };
            let mut compressed = Vec::with_capacity(body.len() / 2);
            BrotliCompress(&mut &*body, &mut compressed, &params).ok()?;
            Some(compressed)
        })
    }

    fn decompress(
        &self,
        compressed: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded> {
        let alloc = StandardAlloc::default;
        // Strict: rejects large windows, which are not part of RFC 7932.
        let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
        let (mut to_read, mut read) = (compressed.len(), 0);
        let (mut room, mut written, mut total) = (body.len(), 0, 0);
        let result = BrotliDecompressStream(
            &mut to_read,
            &mut read,
            compressed,
            &mut room,
            &mut written,
            body,
            &mut total,
            &mut state,
        );
        // Trailing data is an error.
        match result {
            BrotliResult::ResultSuccess if to_read == 0 => Ok(written),
            _ => Err(CertificateNotDecoded::Malformed),
        }
    }
}

/// The best compression: each chain is compressed only once.
const BEST: i32 = 11;

/// A window of 256 KiB: the engine limits chains to less.
const WINDOW_BITS: i32 = 18;
