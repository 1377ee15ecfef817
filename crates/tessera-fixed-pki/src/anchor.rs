//! Trust anchors.

use tessera::auth::VerifierPolicy;

use crate::certificate::Certificate;
use crate::defect::Defect;
use crate::der::{Tag, only};

/// A trust anchor: a name with a key (RFC 5280 §6.1.1 (d)), or a certificate. Borrows its bytes, which an image has in its
/// flash.
#[derive(Debug, Clone, Copy)]
pub struct Anchor {
    /// The contents of its Name.
    name: &'static [u8],
    /// The whole SubjectPublicKeyInfo.
    public_key: &'static [u8],
    certificate: Option<&'static [u8]>,
    is_issuer: bool,
}

impl Anchor {
    /// Trusts this certificate (DER): an authority's for what it issues, by its name and its key, and any certificate for
    /// the peer that presents it. The dates of an authority that vouches for others are not checked.
    ///
    /// # Errors
    /// Returns an error if it isn't a certificate of version 3, or has critical extensions or name constraints that this
    /// crate doesn't know. Such an anchor can be given by name and key.
    pub fn certificate(der: &'static [u8]) -> Result<Self, Defect> {
        let certificate = Certificate::read(der)?;
        Ok(Self {
            name: certificate.subject,
            public_key: certificate.public_key,
            certificate: Some(der),
            is_issuer: certificate.extensions.may_issue(),
        })
    }

    /// Trusts what is issued under this name (a DER `Name`) and signed with this key (a DER SubjectPublicKeyInfo).
    ///
    /// # Errors
    /// Returns an error if one of them isn't DER.
    pub fn name_and_key(name: &'static [u8], public_key: &'static [u8]) -> Result<Self, Defect> {
        only(public_key, Tag::Sequence)?;
        Ok(Self {
            name: only(name, Tag::Sequence)?,
            public_key,
            certificate: None,
            is_issuer: true,
        })
    }

    /// Returns its key if it may have issued a certificate that names this issuer.
    pub(crate) fn key_of_issuer(&self, issuer: &[u8]) -> Option<&'static [u8]> {
        (self.is_issuer && self.name == issuer).then_some(self.public_key)
    }

    /// Whether it is this certificate.
    pub(crate) fn is(&self, der: &[u8]) -> bool {
        self.certificate == Some(der)
    }

    /// Adds all that decides to a policy.
    pub(crate) fn add_to(&self, policy: VerifierPolicy) -> VerifierPolicy {
        match self.certificate {
            Some(der) => policy.with(b"certificate").with(der),
            None => policy.with(b"name and key").with(self.name).with(self.public_key),
        }
    }
}
