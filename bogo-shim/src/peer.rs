//! Who judges peers here: any chain is welcome, but signatures must be right.

use rustls_pki_types::CertificateDer;
use tessera::auth::{PeerIdentity, PeerRejected, PeerVerifier, VerifyPeer};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, SignatureScheme};
use tessera_webpki::Algorithms;

pub struct AnyChain {
    pub schemes: Vec<SignatureScheme>,
    /// `-verify-fail`: nobody is welcome.
    pub reject: bool,
}

impl AnyChain {
    pub fn new(preferences: &[u16], reject: bool) -> Self {
        let known = || Algorithms::AWS_LC.handshake.iter().map(|(scheme, _)| *scheme);
        let schemes = if preferences.is_empty() {
            known().collect()
        } else {
            preferences.iter().map(|scheme| SignatureScheme(*scheme)).collect()
        };
        Self { schemes, reject }
    }

    fn judge(&self, question: &VerifyPeer) -> Result<PeerIdentity, PeerRejected> {
        let rejected = |alert, reason: &str| PeerRejected { alert, reason: reason.into() };
        let algorithm = Algorithms::AWS_LC
            .handshake
            .iter()
            .find(|(scheme, _)| *scheme == question.scheme)
            .ok_or(rejected(AlertDescription::ILLEGAL_PARAMETER, "WRONG_SIGNATURE_TYPE"))?;
        let der = CertificateDer::from_slice(&question.chain[0]);
        let certificate = webpki::EndEntityCert::try_from(&der)
            .map_err(|_| rejected(AlertDescription::BAD_CERTIFICATE, "CANNOT_PARSE_LEAF_CERT"))?;
        let verified =
            certificate.verify_signature(algorithm.1, &question.signed, &question.signature);
        verified.map_err(|error| match error {
            webpki::Error::InvalidSignatureForPublicKey => {
                rejected(AlertDescription::DECRYPT_ERROR, "BAD_SIGNATURE")
            }
            _ => rejected(AlertDescription::ILLEGAL_PARAMETER, "WRONG_SIGNATURE_TYPE"),
        })?;
        if self.reject {
            return Err(rejected(AlertDescription::HANDSHAKE_FAILURE, "CERTIFICATE_VERIFY_FAILED"));
        }
        Ok(PeerIdentity::default())
    }
}

impl PeerVerifier for AnyChain {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerIdentity, PeerRejected>> {
        Reply::Now(self.judge(question))
    }
}
