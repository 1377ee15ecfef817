//! The forms in which a Certificate travels other than whole (RFC 8879).

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::error::Error;
use crate::handshake::Facts;
use crate::wire::{CertificateCompressionAlgorithm, CodePoints};

/// One form of a Certificate: a compression algorithm of RFC 8879, standard or private. It sees the
/// connection, and may have a cache of its own, of compressed chains or of peers' certificates.
///
/// The transcript covers what is sent; what it stands for is then read and judged like a Certificate
/// that came whole. Compression itself is in `tessera-compression`.
///
/// ```
/// use tessera::Facts;
/// use tessera::auth::{CertificateCodec, CertificateNotDecoded};
/// use tessera::wire::CertificateCompressionAlgorithm;
///
/// /// Leaves out the first byte, which is always 0.
/// struct WithoutFirstByte;
///
/// impl CertificateCodec for WithoutFirstByte {
///     fn algorithm(&self) -> CertificateCompressionAlgorithm {
///         CertificateCompressionAlgorithm(0xff01)
///     }
///
///     fn encode(&self, _: &Facts, body: &[u8]) -> Option<Vec<u8>> {
///         body.strip_prefix(&[0]).map(<[u8]>::to_vec)
///     }
///
///     fn decode(
///         &self,
///         _: &Facts,
///         encoded: &[u8],
///         body: &mut [u8],
///     ) -> Result<usize, CertificateNotDecoded> {
///         let rest = body.get_mut(1..=encoded.len()).ok_or(CertificateNotDecoded)?;
///         rest.copy_from_slice(encoded);
///         Ok(1 + encoded.len())
///     }
/// }
/// ```
pub trait CertificateCodec: Send + Sync {
    /// What stands for this codec on the wire.
    fn algorithm(&self) -> CertificateCompressionAlgorithm;

    /// Encodes the body of this side's Certificate (the message without its frame), or leaves it
    /// whole: `None`. Called at every handshake in which a certificate is sent, so a codec that takes
    /// its time remembers what it made.
    fn encode(&self, connection: &Facts, body: &[u8]) -> Option<Vec<u8>>;

    /// Decodes the body of the peer's Certificate into `body`, which is as long as the peer said and
    /// never longer than the longest Certificate that is read whole (128 KiB). Gives how many bytes
    /// it is; less than `body` holds is the peer's mistake, and so is more: an error.
    fn decode(
        &self,
        connection: &Facts,
        encoded: &[u8],
        body: &mut [u8],
    ) -> Result<usize, CertificateNotDecoded>;
}

/// A peer's Certificate can't be decoded, or is longer than the peer said: the handshake ends with
/// bad_certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CertificateNotDecoded;

/// The first of this side's codecs whose form the peer can read.
pub(super) fn first_offered(
    codecs: &[Arc<dyn CertificateCodec>],
    offered: Option<CodePoints<'_>>,
) -> Option<Arc<dyn CertificateCodec>> {
    let offered = offered?;
    codecs.iter().find(|codec| offered.contains(codec.algorithm().0)).cloned()
}

/// Checks what can't be checked by types.
pub(super) fn check_codecs(codecs: &[Arc<dyn CertificateCodec>]) -> Result<(), Error> {
    let twice = |(at, codec): (usize, &Arc<dyn CertificateCodec>)| {
        codecs.iter().take(at).any(|earlier| earlier.algorithm() == codec.algorithm())
    };
    // RFC 8879 §3: the list has room for 127.
    if codecs.len() > 127 || codecs.iter().enumerate().any(twice) {
        return Err(Error::Configuration(
            "certificate_codecs: at most 127, of different algorithms",
        ));
    }
    Ok(())
}
