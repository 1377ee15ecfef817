//! This side's certificate.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::certificate_type::check_types;
use super::key_id::KeyId;
use crate::crypto::{AgreementError, Decapsulator, Hash, SharedSecret, Signer, SigningError};
use crate::error::{Error, require};
use crate::question::{Question, Reply};
use crate::role::Role;
use crate::wire::{
    CertificateCriteria, CertificateType, EntryExtensions, MAX_STAPLED, Reader, SignatureScheme,
    read_sct_list, write_certificate_body,
};

/// A certificate chain, or a raw public key, with its private key.
#[derive(Clone)]
pub struct Credential {
    /// What `chain` holds.
    pub certificate_type: CertificateType,
    /// The certificates as DER, the end entity first; or the SubjectPublicKeyInfo alone (RFC 7250).
    pub chain: Vec<Vec<u8>>,
    /// The private key of the end entity.
    pub key: PrivateKey,
    /// The issuers of the chain's certificates, each as a DER `Name`. Among several credentials, those
    /// with an issuer that the peer names in certificate_authorities are preferred (RFC 8446 §4.2.4);
    /// those whose issuers are known, and none of them named, come last. Empty: not known.
    pub issuers: Vec<Vec<u8>>,
    /// The schemes that the chain's certificates are signed with (RFC 8446 §4.2.3). A client doesn't
    /// send a chain that the server can't check; a server prefers others. Empty: not known.
    pub chain_schemes: Vec<SignatureScheme>,
    /// The newest OCSP response for the end entity (RFC 6960), DER, for peers that ask for it. Replace
    /// the configuration when a newer one arrives.
    pub ocsp_response: Option<Vec<u8>>,
    /// The SCTs for the end entity: a SignedCertificateTimestampList in the format of RFC 6962 §3.3, its
    /// length included. Sent to peers that ask for it. Together with the OCSP response at most 65,523
    /// bytes.
    pub sct_list: Option<Vec<u8>>,
}

/// The private key of a certificate, and where it is.
#[derive(Clone)]
#[non_exhaustive]
pub enum PrivateKey {
    /// A local key, which signs at once.
    Signs(Arc<dyn Signer>),
    /// A local key of a KEM, which decapsulates at once (docs/kem-auth.md).
    Decapsulates(Arc<dyn Decapsulator>),
    /// A key elsewhere: the driver of the connection gets the `Sign` question, or `Decapsulate` if the key is one of a KEM.
    /// The schemes are those of the key, in order of preference.
    Elsewhere(Vec<SignatureScheme>),
}

/// The question for a signature with the private key of this side's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sign {
    /// The scheme to sign with.
    pub scheme: SignatureScheme,
    /// The end entity's certificate as sent: it identifies the key.
    pub certificate: Vec<u8>,
    /// The whole message to sign; the scheme hashes it.
    pub message: Vec<u8>,
}

impl Sign {
    /// Creates the question. For tests of answers; the engine makes those of real connections.
    pub fn new(scheme: SignatureScheme, certificate: Vec<u8>, message: Vec<u8>) -> Self {
        Self { scheme, certificate, message }
    }
}

impl Question for Sign {
    type Answer = Result<Vec<u8>, SigningError>;
}

/// The question what a KEMEncapsulation to this side's certificate holds (docs/kem-auth.md).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decapsulate {
    /// The KEM.
    pub scheme: SignatureScheme,
    /// The end entity's certificate as sent: it identifies the key.
    pub certificate: Vec<u8>,
    /// What the peer encapsulated, of the KEM's length.
    pub encapsulation: Vec<u8>,
}

impl Question for Decapsulate {
    type Answer = Result<SharedSecret, AgreementError>;
}

impl PrivateKey {
    /// Returns the id of its public key, if it is one of a KEM that a client may know (docs/kem-auth.md §9).
    pub(crate) fn known_by(&self, sha256: &dyn Hash) -> Option<KeyId> {
        let Self::Decapsulates(key) = self else { return None };
        Some(KeyId::of(sha256, *key.scheme(), key.public_key()?))
    }

    /// Returns whether its holder decapsulates, and doesn't sign.
    pub(crate) fn is_kem(&self) -> bool {
        self.schemes().first().is_some_and(|scheme| scheme.kem().is_some())
    }

    /// Returns whether clients may know its public key.
    pub(crate) fn may_be_known(&self) -> bool {
        matches!(self, Self::Decapsulates(key) if key.public_key().is_some())
    }

    /// Returns the schemes of the key, in order of preference.
    pub(crate) fn schemes(&self) -> &[SignatureScheme] {
        match self {
            Self::Signs(signer) => signer.schemes(),
            Self::Decapsulates(key) => core::slice::from_ref(key.scheme()),
            Self::Elsewhere(schemes) => schemes,
        }
    }
}

/// The longest chain of this side, in bytes: a Certificate with it and its extensions fits a three-byte
/// length.
const MAX_CHAIN: usize = 1 << 23;

impl Credential {
    /// Creates a chain of X.509 certificates with its key, without OCSP response, SCTs, issuers or schemes.
    pub fn new(chain: Vec<Vec<u8>>, key: PrivateKey) -> Self {
        Self {
            certificate_type: CertificateType::X509,
            chain,
            key,
            issuers: Vec::new(),
            chain_schemes: Vec::new(),
            ocsp_response: None,
            sct_list: None,
        }
    }

    /// Creates a raw public key, for peers that know it: the DER SubjectPublicKeyInfo of the private key
    /// (RFC 7250).
    pub fn raw_public_key(public_key: Vec<u8>, key: PrivateKey) -> Self {
        let certificate_type = CertificateType::RAW_PUBLIC_KEY;
        Self { certificate_type, ..Self::new(alloc::vec![public_key], key) }
    }

    /// Checks what types can't.
    pub(super) fn check(&self) -> Result<(), Error> {
        check_types(&[self.certificate_type])?;
        let is_raw = self.certificate_type == CertificateType::RAW_PUBLIC_KEY;
        require(
            !is_raw || self.chain.len() == 1,
            "credentials: a chain with a raw public key has nothing else",
        )?;
        let len = self.chain.iter().map(|entry| 5 + entry.len()).sum::<usize>();
        require(
            !self.chain.is_empty() && !self.chain.iter().any(Vec::is_empty) && len <= MAX_CHAIN,
            "credentials: a chain must have at least one certificate, no empty one, and at most 8 MiB in all",
        )?;
        let (response, list) = (self.ocsp_response.as_ref(), self.sct_list.as_ref());
        require(
            !response.is_some_and(Vec::is_empty),
            "credentials: ocsp_response must not be empty: use None",
        )?;
        require(
            list.is_none_or(|list| read_sct_list(Reader::new(list)).is_ok()),
            "credentials: sct_list is a whole SignedCertificateTimestampList (RFC 6962 §3.3)",
        )?;
        require(
            response.map_or(0, Vec::len) + list.map_or(0, Vec::len) <= MAX_STAPLED,
            "credentials: ocsp_response and sct_list must have at most 65,523 bytes together",
        )
    }

    /// Appends the body of a Certificate, with the extensions that the peer asked for.
    pub(crate) fn write_body(&self, out: &mut Vec<u8>, requested: EntryExtensions) {
        let response = self.ocsp_response.as_deref().filter(|_| requested.status_request);
        let list = self.sct_list.as_deref();
        let list = list.filter(|_| requested.signed_certificate_timestamp);
        write_certificate_body(out, &self.chain, response, list);
    }

    /// Returns the scheme to authenticate with to a peer, if any fits.
    fn scheme_for(&self, peer: &CertificateCriteria<'_>) -> Option<SignatureScheme> {
        let schemes = self.key.schemes();
        let fits = |scheme: &&SignatureScheme| {
            let is_proof = scheme.signs_handshakes() || scheme.kem().is_some();
            is_proof && scheme.is_linked() && peer.accepts_proof(**scheme)
        };
        schemes.iter().find(fits).copied()
    }

    pub(crate) fn sign(&self, question: &Sign) -> Reply<Result<Vec<u8>, SigningError>> {
        match &self.key {
            PrivateKey::Signs(signer) => {
                Reply::Now(signer.sign(question.scheme, &question.message))
            }
            PrivateKey::Decapsulates(_) => Reply::Now(Err(SigningError)),
            PrivateKey::Elsewhere(_) => Reply::Later,
        }
    }

    pub(crate) fn decapsulate(
        &self,
        question: &Decapsulate,
    ) -> Reply<Result<SharedSecret, AgreementError>> {
        match &self.key {
            PrivateKey::Decapsulates(key) => Reply::Now(key.decapsulate(&question.encapsulation)),
            PrivateKey::Signs(_) => Reply::Now(Err(AgreementError::Provider)),
            PrivateKey::Elsewhere(_) => Reply::Later,
        }
    }
}

/// Returns the types of this side's credentials, in order.
pub(crate) fn types_of(credentials: &[Credential]) -> Vec<CertificateType> {
    let mut types = Vec::new();
    for credential in credentials {
        if !types.contains(&credential.certificate_type) {
            types.push(credential.certificate_type);
        }
    }
    types
}

/// Ranks a credential by its issuers: 0 is best. Unknown issuers may be among those that the peer
/// names.
fn issuer_misses(credential: &Credential, peer: &CertificateCriteria<'_>) -> u8 {
    match peer.authorities {
        None => 0,
        Some(names) if names.contain_any(&credential.issuers) => 0,
        Some(_) if credential.issuers.is_empty() => 1,
        Some(_) => 2,
    }
}

/// Chooses the credential for a peer: returns its index in `credentials`, and the scheme to authenticate with. Its
/// type is `allowed`, and its key signs what the peer can check; among several, those whose chain the peer
/// can check come first, then those that the peer's authorities issued, then the order of the list.
pub(crate) fn choose_credential(
    credentials: &[Credential],
    own_role: Role,
    peer: &CertificateCriteria<'_>,
    allowed: impl Fn(&Credential) -> bool,
) -> Option<(usize, SignatureScheme)> {
    let typed = credentials.iter().enumerate().filter(|(_, credential)| allowed(credential));
    let fitting = typed.filter_map(|(index, credential)| {
        let scheme = credential.scheme_for(peer)?;
        let chain = credential.chain_schemes.iter().all(|scheme| peer.accepts_in_chain(*scheme));
        // RFC 8446 §4.4.2.3: a client's certificates MUST be signed so; §4.4.2.2: a server without
        // such a chain sends another.
        if own_role == Role::Client && !chain {
            return None;
        }
        Some(((index, scheme), (!chain, issuer_misses(credential, peer))))
    });
    fitting.min_by_key(|(_, misses)| *misses).map(|(chosen, _)| chosen)
}
