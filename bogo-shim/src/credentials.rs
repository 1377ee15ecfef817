//! Certificates with their keys, and PSKs.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tessera::auth::{Credential, PrivateKey};
use tessera::crypto::{Signer, SigningError};
use tessera::handshake::Sign;
use tessera::resume::ImportablePsk;
use tessera::wire::{CertificateType, CipherSuite, SignatureScheme};
use tessera_aws_lc::SigningKey;

use crate::options::{Compliance, CredentialOptions, Options};

/// The credentials of one connection.
pub struct Credentials {
    certificates: Vec<Certificate>,
    /// With the index that the runner knows them by.
    pub psks: Vec<(i32, ImportablePsk)>,
    /// Which certificate signed.
    selected: Arc<AtomicI32>,
}

/// The default certificate, or none.
const DEFAULT: i32 = -1;

struct Certificate {
    typ: CertificateType,
    chain: Vec<Vec<u8>>,
    key: Arc<Preferring>,
    issuers: Vec<Vec<u8>>,
    ocsp_response: Option<Vec<u8>>,
    sct_list: Option<Vec<u8>>,
}

impl Certificate {
    fn new(
        options: &CredentialOptions,
        chain: Vec<Vec<u8>>,
        key: Preferring,
    ) -> Result<Self, String> {
        let typ = match options.is_raw_public_key {
            true => CertificateType::RAW_PUBLIC_KEY,
            false => CertificateType::X509,
        };
        let issuers = match options.must_match_issuer {
            true => tessera_webpki::issuers(&chain).map_err(|error| error.to_string())?,
            false => Vec::new(),
        };
        let (ocsp_response, sct_list) = (options.ocsp_response.clone(), options.sct_list.clone());
        Ok(Self { typ, chain, key: Arc::new(key), issuers, ocsp_response, sct_list })
    }
}

impl Credentials {
    /// Reads the files that the flags name.
    pub fn read(options: &Options) -> Result<Self, String> {
        let selected = Arc::new(AtomicI32::new(DEFAULT));
        let mut certificates = Vec::new();
        let mut psks = Vec::new();
        let listed = options.credentials.iter().zip(0..);
        for (credential, index) in listed.chain([(&options.default_credential, DEFAULT)]) {
            if credential.is_psk {
                psks.push((index, psk(credential)));
            } else if let Some(key) = &credential.key_file {
                let key = Preferring::read(key, credential, options, index, &selected)?;
                let chain = match &credential.cert_file {
                    _ if credential.is_raw_public_key => vec![key.public_key()?],
                    Some(file) => chain(file)?,
                    None => continue,
                };
                certificates.push(Certificate::new(credential, chain, key)?);
            }
        }
        Ok(Self { certificates, psks, selected })
    }

    /// Returns the certificates for a configuration; under `-async` their keys answer later. A client with flags for
    /// the types to offer offers exactly those, in that order.
    pub fn for_engine(&self, options: &Options) -> Vec<Credential> {
        let credential = |certificate: &Certificate| {
            let key = if options.is_async {
                PrivateKey::Elsewhere(certificate.key.schemes.clone())
            } else {
                PrivateKey::Signs(certificate.key.clone())
            };
            let ocsp_response = certificate.ocsp_response.clone();
            Credential {
                certificate_type: certificate.typ,
                issuers: certificate.issuers.clone(),
                ocsp_response: ocsp_response.filter(|_| !options.decline_ocsp_callback),
                sct_list: certificate.sct_list.clone(),
                ..Credential::new(certificate.chain.clone(), key)
            }
        };
        let of_type = |typ: u8| self.certificates.iter().filter(move |listed| listed.typ.0 == typ);
        match options.available_types.as_slice() {
            [] => self.certificates.iter().map(credential).collect(),
            types => types.iter().flat_map(|typ| of_type(*typ)).map(credential).collect(),
        }
    }

    /// Signs with the key that the question names.
    pub fn sign(&self, question: &Sign) -> Result<Vec<u8>, SigningError> {
        let named = |certificate: &&Certificate| {
            certificate.chain.first() == Some(&question.certificate)
                && certificate.key.schemes.contains(&question.scheme)
        };
        let certificate = self.certificates.iter().find(named).ok_or(SigningError)?;
        certificate.key.sign(question.scheme, &question.message)
    }

    /// Returns which credential was used, given the identity of the PSK that was.
    pub fn selected(&self, psk: Option<&[u8]>) -> i32 {
        let Some(identity) = psk else { return self.selected.load(Ordering::Relaxed) };
        let named = |(_, psk): &&(i32, ImportablePsk)| {
            // An imported identity begins with the external one (RFC 9258 §3).
            identity.get(2..).is_some_and(|rest| rest.starts_with(&psk.external_identity))
        };
        self.psks.iter().find(named).map_or(DEFAULT, |(index, _)| *index)
    }
}

fn psk(options: &CredentialOptions) -> ImportablePsk {
    ImportablePsk {
        external_identity: options.psk_identity.clone(),
        secret: options.psk.clone().into(),
        context: options.psk_context.clone(),
        suite: if options.psk_is_sha384 {
            CipherSuite::TLS_AES_256_GCM_SHA384
        } else {
            CipherSuite::TLS_AES_128_GCM_SHA256
        },
    }
}

/// Returns the certificates of a PEM file.
pub fn chain(path: &str) -> Result<Vec<Vec<u8>>, String> {
    let pem = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    CertificateDer::pem_slice_iter(&pem)
        .map(|certificate| certificate.map(|der| der.to_vec()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("{path}: {error}"))
}

/// A key that signs with some schemes only, and records when it was used.
struct Preferring {
    key: SigningKey,
    schemes: Vec<SignatureScheme>,
    index: i32,
    selected: Arc<AtomicI32>,
}

impl Preferring {
    fn read(
        path: &str,
        credential: &CredentialOptions,
        options: &Options,
        index: i32,
        selected: &Arc<AtomicI32>,
    ) -> Result<Self, String> {
        let pem = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|e| format!("{path}: {e}"))?;
        let key = SigningKey::from_pkcs8(key.secret_der()).map_err(|e| format!("{path}: {e}"))?;
        let mut schemes = match credential.signing_prefs.as_slice() {
            [] => key.schemes().to_vec(),
            listed => {
                let listed = listed.iter().map(|scheme| SignatureScheme(*scheme));
                listed.filter(|scheme| key.schemes().contains(scheme)).collect()
            }
        };
        if let Some(allowed) = allowed_schemes(options.compliance) {
            schemes.retain(|scheme| allowed.contains(scheme));
        }
        Ok(Self { key, schemes, index, selected: selected.clone() })
    }
}

/// Returns the signature schemes of a named set of algorithms.
pub fn allowed_schemes(compliance: Option<Compliance>) -> Option<Vec<SignatureScheme>> {
    use SignatureScheme as Scheme;
    let sha256 = [Scheme::ECDSA_SECP256R1_SHA256, Scheme::RSA_PSS_RSAE_SHA256];
    let sha384 = [Scheme::ECDSA_SECP384R1_SHA384, Scheme::RSA_PSS_RSAE_SHA384];
    let sha512 = [Scheme::RSA_PSS_RSAE_SHA512];
    match compliance? {
        Compliance::Fips202205 => Some([&sha256[..], &sha384, &sha512].concat()),
        Compliance::Wpa202304 => Some([&sha384[..], &sha512].concat()),
        Compliance::Cnsa1 | Compliance::Cnsa2 => Some(sha384.to_vec()),
        Compliance::Cnsa202407 => None,
    }
}

impl Preferring {
    fn public_key(&self) -> Result<Vec<u8>, String> {
        self.key.public_key_info().map_err(|_| "the key's public half can't be written".into())
    }
}

impl Signer for Preferring {
    fn schemes(&self) -> &[SignatureScheme] {
        &self.schemes
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8]) -> Result<Vec<u8>, SigningError> {
        self.selected.store(self.index, Ordering::Relaxed);
        self.key.sign(scheme, message)
    }
}
