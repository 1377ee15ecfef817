//! A verifier that requests what may accompany a certificate.

use std::sync::{Arc, Mutex, PoisonError};

use tessera::auth::{PeerAcceptance, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer};
use tessera::handshake::Reply;
use tessera::wire::{EntryExtensions, SignatureScheme};
use tessera_webpki::WebPkiVerifier;

use crate::pki::Pki;

/// Requests an OCSP response and SCTs, verifies like webpki, and records what arrived.
pub struct StapleVerifier {
    verifier: Arc<WebPkiVerifier>,
    came: Mutex<Option<StapledData>>,
}

/// What accompanied a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StapledData {
    /// The OCSP response.
    pub ocsp_response: Option<Vec<u8>>,
    /// The SignedCertificateTimestampList.
    pub sct_list: Option<Vec<u8>>,
}

impl StapleVerifier {
    /// Trusts the authority.
    pub fn new(pki: &Pki) -> Arc<Self> {
        Arc::new(Self { verifier: pki.verifier(), came: Mutex::new(None) })
    }

    /// Returns what accompanied the last verified certificate.
    pub fn came(&self) -> Option<StapledData> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PeerVerifier for StapleVerifier {
    fn schemes(&self) -> &[SignatureScheme] {
        self.verifier.schemes()
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        self.verifier.chain_schemes()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        EntryExtensions { status_request: true, signed_certificate_timestamp: true }
    }

    fn policy(&self) -> VerifierPolicy {
        self.verifier.policy()
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        *self.came.lock().unwrap_or_else(PoisonError::into_inner) = Some(StapledData {
            ocsp_response: question.ocsp_response.clone(),
            sct_list: question.sct_list.clone(),
        });
        self.verifier.verify(question)
    }
}
