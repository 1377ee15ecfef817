//! Verifies peers: accepts any chain, but signatures must be valid.

use tessera::auth::{
    PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, CertificateType, EntryExtensions, SignatureScheme};
use tessera_webpki::Algorithms;
use webpki::aws_lc_rs as aws_lc;

use crate::credentials::{allowed_schemes, chain};
use crate::options::Options;

/// Accepts any chain whose end entity signed.
#[derive(Clone)]
pub struct AnyChain {
    schemes: Vec<SignatureScheme>,
    /// Rejects all peers, with this alert.
    reject: Option<AlertDescription>,
    later: bool,
    /// The expected chain.
    expected: Option<String>,
    types: Vec<CertificateType>,
    expected_type: Option<u8>,
    expected_key: Option<Vec<u8>>,
    requested: EntryExtensions,
    ocsp_response: Option<Vec<u8>>,
    sct_list: Option<Vec<u8>>,
    /// The certificate is revoked, whatever the OCSP response.
    revoked: bool,
    authorities: Vec<Vec<u8>>,
}

impl AnyChain {
    /// Returns why no peer is accepted, if a flag rejects them all.
    pub fn rejection(&self) -> Option<PeerRejected> {
        self.reject.map(|alert| rejected(alert, "no peer is welcome"))
    }

    pub fn new(options: &Options) -> Self {
        // Raw public keys are always verified.
        let raw = options.accepted_types.contains(&CertificateType::RAW_PUBLIC_KEY.0);
        let asked = options.verify_peer || options.is_server || raw;
        // BoringSSL accepts no certificate instead of a PSK unless a flag allows it.
        let psk_alone = options.credentials.iter().any(|credential| credential.is_psk)
            && !options.is_server
            && !options.verify_peer;
        let alert = match options.custom_verify {
            true => AlertDescription::CERTIFICATE_UNKNOWN,
            false => AlertDescription::HANDSHAKE_FAILURE,
        };
        let reject = (psk_alone || (asked && options.verify_fail)).then_some(alert);
        let allowed = allowed_schemes(options.compliance);
        let mut schemes: Vec<_> = if options.verify_prefs.is_empty() {
            DEFAULT_SCHEMES
                .into_iter()
                .filter(|scheme| allowed.as_ref().is_none_or(|allowed| allowed.contains(scheme)))
                .collect()
        } else {
            options.verify_prefs.iter().map(|scheme| SignatureScheme(*scheme)).collect()
        };
        if std::env::var_os("BOGO_KEMS").is_some() {
            schemes.extend(KEMS);
        }
        let expected = options.expect_peer_cert_file.clone();
        Self {
            schemes,
            reject,
            later: options.is_async,
            expected,
            types: match options.accepted_types.as_slice() {
                [] => vec![CertificateType::X509],
                listed => listed.iter().map(|typ| CertificateType(*typ)).collect(),
            },
            expected_type: options.expect_peer_type,
            expected_key: options.expect_peer_key_sha256.clone(),
            requested: EntryExtensions {
                // A server requests nothing from the runner's clients.
                status_request: options.ocsp_stapling && !options.is_server,
                signed_certificate_timestamp: options.signed_cert_timestamps && !options.is_server,
            },
            ocsp_response: options.expect_ocsp_response.clone(),
            sct_list: options.expect_sct_list.clone(),
            revoked: options.use_ocsp_callback && options.fail_ocsp_callback,
            authorities: options.client_ca_list.clone(),
        }
    }

    /// Answers a question that was deferred.
    pub fn judge(&self, question: &VerifyPeer) -> Result<PeerAcceptance, PeerRejected> {
        let algorithms =
            match RARE.handshake.iter().any(|(scheme, _)| *scheme == question.proof.scheme()) {
                true => RARE,
                false => Algorithms::AWS_LC,
            };
        algorithms.verify_signature(question)?;
        if let Some(path) = &self.expected
            && chain(path).is_ok_and(|expected| expected != question.chain)
        {
            return Err(rejected(AlertDescription::INTERNAL_ERROR, "another chain was expected"));
        }
        if let Some(why) = self.rejection() {
            return Err(why);
        }
        let hash = tessera_aws_lc::provider().suites[0].hash;
        let end_entity = question.chain.first().map(Vec::as_slice).unwrap_or_default();
        let key_fits = |key: &Vec<u8>| key.as_slice() == hash.hash(end_entity).as_ref();
        if self.expected_type.is_some_and(|typ| typ != question.certificate_type.0)
            || self.expected_key.as_ref().is_some_and(|key| !key_fits(key))
        {
            return Err(rejected(AlertDescription::INTERNAL_ERROR, "another key was expected"));
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
        Ok(PeerIdentity::default().into())
    }
}

impl PeerVerifier for AnyChain {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn certificate_types(&self) -> &[CertificateType] {
        &self.types
    }

    fn authorities(&self) -> &[Vec<u8>] {
        &self.authorities
    }

    fn entry_extensions(&self) -> EntryExtensions {
        self.requested
    }

    fn policy(&self) -> VerifierPolicy {
        VerifierPolicy::new("bogo-shim: any chain")
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        if self.later { Reply::Later } else { Reply::Now(self.judge(question)) }
    }
}

/// Algorithms that are only verified if flags ask for them.
const RARE: Algorithms = Algorithms {
    handshake: &[
        (SignatureScheme::ECDSA_SECP521R1_SHA512, aws_lc::ECDSA_P521_SHA512),
        (SignatureScheme::MLDSA87, aws_lc::ML_DSA_87),
    ],
    chain: &[],
    chain_schemes: &[],
};

/// What the shim offers in a run with BOGO_KEMS in the environment: the runner ignores them (docs/kem-auth.md §3).
const KEMS: [SignatureScheme; 4] = [
    SignatureScheme::KEM_MLKEM512,
    SignatureScheme::KEM_MLKEM768,
    SignatureScheme::KEM_MLKEM1024,
    SignatureScheme::KEM_X25519,
];

/// The runner's defaults.
const DEFAULT_SCHEMES: [SignatureScheme; 5] = [
    SignatureScheme::ECDSA_SECP256R1_SHA256,
    SignatureScheme::RSA_PSS_RSAE_SHA256,
    SignatureScheme::ECDSA_SECP384R1_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA384,
    SignatureScheme::RSA_PSS_RSAE_SHA512,
];

fn rejected(alert: AlertDescription, reason: &str) -> PeerRejected {
    PeerRejected { alert, reason: reason.into() }
}
