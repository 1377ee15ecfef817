//! Who judges peers here: any chain is welcome, but signatures must be right.

use rustls_pki_types::{CertificateDer, SignatureVerificationAlgorithm};
use tessera::auth::{PeerIdentity, PeerRejected, PeerVerifier, VerifyPeer};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, EntryExtensions, SignatureScheme};
use tessera_webpki::Algorithms;
use webpki::aws_lc_rs as aws_lc;

use crate::credentials::{allowed_schemes, chain};
use crate::flags::Options;

/// Accepts any chain whose end entity signed.
#[derive(Clone)]
pub struct AnyChain {
    schemes: Vec<SignatureScheme>,
    /// Nobody is welcome, and this is what they are told.
    reject: Option<AlertDescription>,
    later: bool,
    /// The chain that must come.
    expected: Option<String>,
    requested: EntryExtensions,
    ocsp_response: Option<Vec<u8>>,
    sct_list: Option<Vec<u8>>,
    /// Whatever the OCSP response says, the certificate was revoked.
    revoked: bool,
    authorities: Vec<Vec<u8>>,
}

impl AnyChain {
    pub fn new(options: &Options) -> Self {
        let asked = options.verify_peer || options.is_server;
        // BoringSSL takes no certificate instead of a PSK unless told to.
        let psk_alone = options.credentials.iter().any(|credential| credential.is_psk)
            && !options.is_server
            && !options.verify_peer;
        let alert = match options.custom_verify {
            true => AlertDescription::CERTIFICATE_UNKNOWN,
            false => AlertDescription::HANDSHAKE_FAILURE,
        };
        let reject = (psk_alone || (asked && options.verify_fail)).then_some(alert);
        let allowed = allowed_schemes(options.compliance);
        let schemes = if options.verify_prefs.is_empty() {
            DEFAULT_SCHEMES
                .into_iter()
                .filter(|scheme| allowed.as_ref().is_none_or(|allowed| allowed.contains(scheme)))
                .collect()
        } else {
            options.verify_prefs.iter().map(|scheme| SignatureScheme(*scheme)).collect()
        };
        let expected = options.expect_peer_cert_file.clone();
        Self {
            schemes,
            reject,
            later: options.is_async,
            expected,
            requested: EntryExtensions {
                // The runner's clients are asked for nothing.
                status_request: options.ocsp_stapling && !options.is_server,
                signed_certificate_timestamp: options.signed_cert_timestamps && !options.is_server,
            },
            ocsp_response: options.expect_ocsp_response.clone(),
            sct_list: options.expect_sct_list.clone(),
            revoked: options.use_ocsp_callback && options.fail_ocsp_callback,
            authorities: options.client_ca_list.clone(),
        }
    }

    /// The answer to a question that was left for later.
    pub fn judge(&self, question: &VerifyPeer) -> Result<PeerIdentity, PeerRejected> {
        let rejected = |alert, reason: &str| PeerRejected { alert, reason: reason.into() };
        let algorithm = Algorithms::AWS_LC
            .handshake
            .iter()
            .chain(RARE)
            .find(|(scheme, _)| *scheme == question.scheme)
            .ok_or(rejected(AlertDescription::ILLEGAL_PARAMETER, "the scheme is not known"))?;
        let der = CertificateDer::from_slice(&question.chain[0]);
        let certificate = webpki::EndEntityCert::try_from(&der)
            .map_err(|_| rejected(AlertDescription::DECODE_ERROR, "not a certificate"))?;
        let verified =
            certificate.verify_signature(algorithm.1, &question.signed, &question.signature);
        verified.map_err(|error| match error {
            webpki::Error::InvalidSignatureForPublicKey => {
                rejected(AlertDescription::DECRYPT_ERROR, "the signature is wrong")
            }
            _ => rejected(AlertDescription::ILLEGAL_PARAMETER, "the key can't use the scheme"),
        })?;
        if let Some(path) = &self.expected
            && chain(path).is_ok_and(|expected| expected != question.chain)
        {
            return Err(rejected(AlertDescription::INTERNAL_ERROR, "another chain was expected"));
        }
        if let Some(alert) = self.reject {
            return Err(rejected(alert, "nobody is welcome"));
        }
        if self.revoked {
            let alert = AlertDescription::BAD_CERTIFICATE_STATUS_RESPONSE;
            return Err(rejected(alert, "the certificate was revoked"));
        }
        let as_expected = |expected: &Option<Vec<u8>>, came| expected.is_none() || expected == came;
        if !as_expected(&self.ocsp_response, &question.ocsp_response)
            || !as_expected(&self.sct_list, &question.sct_list)
        {
            return Err(rejected(AlertDescription::INTERNAL_ERROR, "something else was stapled"));
        }
        Ok(PeerIdentity::default())
    }
}

impl PeerVerifier for AnyChain {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn authorities(&self) -> &[Vec<u8>] {
        &self.authorities
    }

    fn entry_extensions(&self) -> EntryExtensions {
        self.requested
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerIdentity, PeerRejected>> {
        if self.later { Reply::Later } else { Reply::Now(self.judge(question)) }
    }
}

/// What is verified only where flags ask for it.
const RARE: &[(SignatureScheme, &dyn SignatureVerificationAlgorithm)] = &[
    (SignatureScheme::ECDSA_SECP521R1_SHA512, aws_lc::ECDSA_P521_SHA512),
    (SignatureScheme::MLDSA87, aws_lc::ML_DSA_87),
];

/// What the runner takes for the default.
const DEFAULT_SCHEMES: [SignatureScheme; 5] = [
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
];
