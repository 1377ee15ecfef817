//! Brotli (RFC 7932).

use ::brotli::enc::{BrotliCompress, BrotliEncoderParams, StandardAlloc};
use ::brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use tessera::auth::{CertificateCompression, CertificateNotDecoded};
use tessera::wire::CertificateCompressionAlgorithm;

use crate::memory::Memory;

/// Certificates compressed with Brotli.
///
/// Its decoder sizes its window by what a peer announces: for the time of decoding up to 16 MiB, of
/// which no more is touched than the certificates are long.
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
        // Strict: without the large windows that are not RFC 7932's.
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
        // Nothing may follow the stream.
        match result {
            BrotliResult::ResultSuccess if to_read == 0 => Ok(written),
            _ => Err(CertificateNotDecoded),
        }
    }
}

/// The quality that compresses best: it is done once for a chain.
const BEST: i32 = 11;

/// A window of 256 KiB: longer chains are not read.
const WINDOW_BITS: i32 = 18;
