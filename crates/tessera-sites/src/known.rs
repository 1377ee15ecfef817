//! Recognises sites: a certificate of a trusted authority is not enough.

use std::sync::Arc;

use tessera::auth::{
    AskedKey, PeerAcceptance, PeerIdentity, PeerRejected, PeerVerifier, VerifierPolicy, VerifyPeer,
};
use tessera::handshake::Reply;
use tessera::wire::{AlertDescription, CertificateType, EntryExtensions, SignatureScheme};

/// How a site proves its identity, once its certificate is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteProof {
    /// The certificate has this DNS name among its subject alternative names. For `tessera_webpki::WebPkiVerifier`,
    /// whose authorities must issue that name to no other party.
    DnsName(String),
    /// It is this certificate (DER), byte for byte.
    Certificate(Vec<u8>),
    /// The verifier returns this identity for the peer, such as `key:NAME` of a pinned public key.
    Identity(Vec<u8>),
}

/// A verifier that accepts only known sites, whichever authority signed their certificates.
///
/// A peer that the inner verifier accepts must also match a [`SiteProof`]; otherwise the handshake ends with
/// `access_denied`. Names and proofs are part of the policy: when a site leaves the list, its tickets become invalid.
pub struct KnownSites {
    verifier: Arc<dyn PeerVerifier>,
    sites: Vec<(String, SiteProof)>,
}

impl KnownSites {
    /// Creates a verifier that knows no site yet.
    ///
    /// The inner verifier must answer at once; one that answers later accepts no peer here.
    pub fn new(verifier: Arc<dyn PeerVerifier>) -> Self {
        Self { verifier, sites: Vec::new() }
    }

    /// Adds a site, by one proof of possibly several.
    ///
    /// Connections and requests are counted by `name`, which may be any text.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, proof: SiteProof) -> Self {
        self.sites.push((name.into(), proof));
        self
    }

    fn recognise(
        &self,
        question: &VerifyPeer,
        mut accepted: PeerAcceptance,
    ) -> Result<PeerAcceptance, PeerRejected> {
        let blob = &accepted.identity.blob;
        let site = self.sites.iter().find(|(_, proof)| match proof {
            SiteProof::DnsName(name) => has_dns_name(blob, name),
            SiteProof::Certificate(der) => {
                question.certificate_type == CertificateType::X509
                    && question.chain.first() == Some(der)
            }
            SiteProof::Identity(identity) => identity == blob,
        });
        let (name, _) = site.ok_or_else(|| PeerRejected {
            alert: AlertDescription::ACCESS_DENIED,
            reason: "the certificate is valid, but not a known site's".into(),
        })?;
        accepted.identity.blob = [PREFIX, name.as_bytes()].concat();
        Ok(accepted)
    }
}

/// Returns the name of the site, if [`KnownSites`] recognised the peer.
pub(crate) fn name_of(peer: Option<&PeerIdentity>) -> Option<String> {
    let name = peer?.blob.strip_prefix(PREFIX)?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// No other verifier's identities begin with this.
const PREFIX: &[u8] = b"tessera-site:";

/// Whether an identity from `tessera_webpki` lists this DNS name.
fn has_dns_name(identity: &[u8], name: &str) -> bool {
    // Any other beginning is not a list: a subject may hold any bytes.
    let is_list = identity.starts_with(b"dns:") || identity.starts_with(b"uri:");
    let name = name.to_ascii_lowercase();
    is_list
        && identity
            .split(|byte| *byte == b' ')
            .any(|listed| listed.strip_prefix(b"dns:") == Some(name.as_bytes()))
}

impl PeerVerifier for KnownSites {
    fn schemes(&self) -> &[SignatureScheme] {
        self.verifier.schemes()
    }

    fn chain_schemes(&self) -> &[SignatureScheme] {
        self.verifier.chain_schemes()
    }

    fn authorities(&self) -> &[Vec<u8>] {
        self.verifier.authorities()
    }

    fn certificate_types(&self) -> &[CertificateType] {
        self.verifier.certificate_types()
    }

    fn entry_extensions(&self) -> EntryExtensions {
        self.verifier.entry_extensions()
    }

    fn kem_scheme(&self, asked: &AskedKey<'_>) -> Option<SignatureScheme> {
        self.verifier.kem_scheme(asked)
    }

    fn policy(&self) -> VerifierPolicy {
        let sites = self.sites.iter().map(|(name, proof)| {
            let (kind, proof) = match proof {
                SiteProof::DnsName(name) => ("dns", name.as_bytes()),
                SiteProof::Certificate(der) => ("certificate", der.as_slice()),
                SiteProof::Identity(identity) => ("identity", identity.as_slice()),
            };
            let site = VerifierPolicy::new(kind).with(name.as_bytes()).with(proof);
            site.as_bytes().to_vec()
        });
        VerifierPolicy::new("tessera-sites: known, 1")
            .with_policy(&self.verifier.policy())
            .with_set(sites)
    }

    fn verify(&self, question: &VerifyPeer) -> Reply<Result<PeerAcceptance, PeerRejected>> {
        match self.verifier.verify(question) {
            Reply::Now(Ok(accepted)) => Reply::Now(self.recognise(question, accepted)),
            other => other,
        }
    }
}
