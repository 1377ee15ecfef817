//! The codec for a client that doesn't take part: it does nothing, and the facts of the connection give the
//! reason.

use alloc::boxed::Box;

use tessera::auth::{
    CertificateCodec, CertificateNotDecoded, CodecOutcome, DecodedCertificate, EncodedCertificate,
    HandshakeEnd,
};
use tessera::wire::CertificateCompressionAlgorithm as Id;

use crate::miss_reason::MissReason;

/// A server's codec for one such connection.
pub(super) struct InertCodec;

impl CertificateCodec for InertCodec {
    fn offers(&self) -> &[Id] {
        &[]
    }

    fn encode(&mut self, _: &[u8], _: &[Id]) -> Option<EncodedCertificate> {
        None
    }

    fn decode(
        &mut self,
        _: Id,
        _: &[u8],
        _: usize,
    ) -> Result<DecodedCertificate, CertificateNotDecoded> {
        Err(CertificateNotDecoded)
    }

    fn ended(self: Box<Self>, _: &HandshakeEnd<'_>) -> CodecOutcome {
        let missed = Some(MissReason::TakesNoPart.name());
        CodecOutcome { own_missed: missed, peer_missed: missed, after: None }
    }
}
