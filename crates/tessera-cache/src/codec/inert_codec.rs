//! The codec for a client that doesn't take part: it does nothing, and the facts of the connection give the
//! reason.

use tessera::auth::{
    CertificateCodec, CertificateNotDecoded, DecodedCertificate, EncodedCertificate,
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

    fn own_missed(&self) -> Option<&'static str> {
        Some(MissReason::TakesNoPart.name())
    }

    fn peer_missed(&self) -> Option<&'static str> {
        Some(MissReason::TakesNoPart.name())
    }
}
