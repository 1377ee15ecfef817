//! Codecs that don't depend on the peer: compression (RFC 8879).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::certificate_codec::{CertificateCodec, CertificateCodecFactory};
use super::codec_peer::{CertificateContents, ClientInfo, PeerInfo};
use super::codec_results::{
    CertificateNotDecoded, CodecRefusal, DecodedCertificate, EncodedCertificate,
};
use crate::wire::CertificateCompressionAlgorithm;

/// A compression algorithm, standard or private: the [`CertificateCodecFactory`] of codecs that
/// offer it to every peer and keep no state. `tessera-compression` has those of RFC 8879.
///
/// ```
/// use std::sync::Arc;
/// use tessera::auth::{CertificateCompression, CertificateNotDecoded};
/// use tessera::wire::CertificateCompressionAlgorithm;
///
/// /// Leaves out the first byte, which is always 0.
/// struct WithoutFirstByte;
///
/// impl CertificateCompression for WithoutFirstByte {
///     fn algorithm(&self) -> CertificateCompressionAlgorithm {
///         CertificateCompressionAlgorithm(0xff01)
///     }
///
///     fn compress(&self, body: &[u8]) -> Option<Vec<u8>> {
///         body.strip_prefix(&[0]).map(<[u8]>::to_vec)
///     }
///
///     fn decompress(
///         &self,
///         compressed: &[u8],
///         body: &mut [u8],
///     ) -> Result<usize, CertificateNotDecoded> {
///         let rest = body.get_mut(1..=compressed.len()).ok_or(CertificateNotDecoded::Malformed)?;
///         rest.copy_from_slice(compressed);
///         Ok(1 + compressed.len())
///     }
/// }
///
/// # fn configure(config: &mut tessera::ServerConfig) {
/// config.certificate_codecs = vec![Arc::new(WithoutFirstByte)];
/// # }
/// ```
pub trait CertificateCompression: Send + Sync + 'static {
    /// Returns its code point.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;

    /// Compresses the body of this side's Certificate; `None` passes it to the next codec. See
    /// [`CertificateCodec::encode`].
    fn compress(&self, body: &[u8]) -> Option<Vec<u8>>;

    /// Decompresses the body of the peer's Certificate. See [`CertificateCodec::decode`].
    fn decompress(
        &self,
        compressed: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded>;
}

impl<C: CertificateCompression> CertificateCodecFactory for C {
    fn algorithms(&self) -> RangeInclusive<CertificateCompressionAlgorithm> {
        self.algorithm()..=self.algorithm()
    }

    fn codec(
        self: Arc<Self>,
        peer: PeerInfo<'_>,
    ) -> Result<Option<Box<dyn CertificateCodec>>, CodecRefusal> {
        Ok(match peer {
            PeerInfo::Client(ClientInfo { with_psk: true, .. }) => None,
            _ => Some(Box::new(CompressionCodec { offers: [self.algorithm()], compression: self })),
        })
    }
}

/// The codec of every connection with certificates.
struct CompressionCodec<C> {
    compression: Arc<C>,
    offers: [CertificateCompressionAlgorithm; 1],
}

impl<C: CertificateCompression> CertificateCodec for CompressionCodec<C> {
    fn offers(&self) -> &[CertificateCompressionAlgorithm] {
        &self.offers
    }

    fn encode(
        &mut self,
        body: &[u8],
        offered: &[CertificateCompressionAlgorithm],
    ) -> Option<EncodedCertificate> {
        let [algorithm] = self.offers;
        let encoded = offered.contains(&algorithm).then(|| self.compression.compress(body));
        Some(EncodedCertificate::new(algorithm, encoded.flatten()?))
    }

    fn decode(
        &mut self,
        _: CertificateCompressionAlgorithm,
        encoded: &[u8],
        len: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        let mut body = Vec::new();
        body.try_reserve_exact(len).map_err(|_| CertificateNotDecoded::OutOfMemory(len))?;
        body.resize(len, 0);
        let len = self.compression.decompress(encoded, &mut body)?;
        body.truncate(len);
        Ok(DecodedCertificate::new(CertificateContents::Body(body)))
    }
}
