//! Revocation lists, and the meaning of their absence.

use alloc::vec::Vec;

#[cfg(feature = "known-chains")]
use der::{
    Decode, SliceReader, Tag, Tagged,
    asn1::{AnyRef, GeneralizedTime, UtcTime},
};
use tessera::auth::VerifierPolicy;
use webpki::{
    BorrowedCertRevocationList, CertRevocationList, Error, ExpirationPolicy, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy,
};

use crate::alerts::words;
use crate::error::ConfigError;

/// What to do when no current revocation list covers a certificate of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownStatus {
    /// Refuse the peer. A list past its nextUpdate counts as unknown.
    Reject,
    /// Accept the peer. A list past its nextUpdate still revokes what it lists.
    Accept,
}

/// The lists of a verifier.
pub(crate) struct Revocation {
    lists: Vec<CertRevocationList<'static>>,
    /// What each list decides: which issuer it covers, and what it revokes.
    policies: Vec<VerifierPolicy>,
    /// The lists as loaded, until they are taken.
    #[cfg(feature = "known-chains")]
    sources: Vec<Vec<u8>>,
    unknown: UnknownStatus,
}

impl Revocation {
    /// Parses the lists. Signatures are checked on use: only then is every issuer's key known. A list in an
    /// anchor's name that no anchor of that name signed is refused here already, since it would refuse all
    /// peers of that issuer.
    pub(crate) fn new<T: AsRef<[u8]>>(
        lists: &[T],
        unknown: UnknownStatus,
        signed: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<Self, ConfigError> {
        let failed = |error: Error| ConfigError::Crl(words(&error));
        let mut own = Self {
            lists: Vec::new(),
            policies: Vec::new(),
            #[cfg(feature = "known-chains")]
            sources: Vec::new(),
            unknown,
        };
        for der in lists.iter().map(AsRef::as_ref) {
            let list = BorrowedCertRevocationList::from_der(der).map_err(failed)?;
            let revoked: Result<Vec<_>, _> =
                list.into_iter().map(|entry| entry.map(|entry| entry.serial_number)).collect();
            let revoked = revoked.map_err(failed)?;
            let owned: CertRevocationList<'_> = list.to_owned().map_err(failed)?.into();
            if !signed(owned.issuer(), der) {
                return Err(ConfigError::CrlSignature);
            }
            let policy = VerifierPolicy::new("list").with(owned.issuer());
            let policy = policy.with_set(owned.issuing_distribution_point());
            own.policies.push(policy.with_set(revoked));
            own.lists.push(owned);
            #[cfg(feature = "known-chains")]
            own.sources.push(der.to_vec());
        }
        Ok(own)
    }

    /// Returns how the lists are used, which issuers they cover, and what they revoke: a resumption consults
    /// no list, so sessions end with a list that revokes a certificate. A later list with the same content
    /// changes nothing.
    pub(crate) fn policy(&self) -> VerifierPolicy {
        let unknown = match self.unknown {
            UnknownStatus::Reject => "unknown status: reject",
            UnknownStatus::Accept => "unknown status: accept",
        };
        VerifierPolicy::new("revocation").with(unknown.as_bytes()).with_set(&self.policies)
    }

    /// Takes the lists themselves, and when their successors are due, in seconds since the Unix epoch: if
    /// unknown status isn't accepted, a list is ignored from then on. `None` if one has no readable end.
    /// Returns them once.
    #[cfg(feature = "known-chains")]
    pub(crate) fn take_sources(&mut self) -> Option<(Vec<Vec<u8>>, Vec<u64>)> {
        let sources = core::mem::take(&mut self.sources);
        let mut ends = Vec::new();
        if self.unknown == UnknownStatus::Reject {
            for der in &sources {
                ends.push(next_update(der).ok()?);
            }
        }
        Some((sources, ends))
    }

    /// Returns the lists in the form that webpki borrows.
    pub(crate) fn lists(&self) -> Vec<&CertRevocationList<'static>> {
        self.lists.iter().collect()
    }

    /// Has every certificate of the path checked, not only the end entity.
    pub(crate) fn options<'a>(
        &self,
        lists: &'a [&'a CertRevocationList<'a>],
    ) -> Option<RevocationOptions<'a>> {
        let (status, expiration) = match self.unknown {
            UnknownStatus::Reject => (UnknownStatusPolicy::Deny, ExpirationPolicy::Enforce),
            UnknownStatus::Accept => (UnknownStatusPolicy::Allow, ExpirationPolicy::Ignore),
        };
        let builder = RevocationOptionsBuilder::new(lists).ok()?;
        Some(builder.with_status_policy(status).with_expiration_policy(expiration).build())
    }
}

/// Returns the nextUpdate of a CertificateList (RFC 5280 §5.1), which webpki has parsed but doesn't expose.
#[cfg(feature = "known-chains")]
fn next_update(list: &[u8]) -> der::Result<u64> {
    let mut list = SliceReader::new(AnyRef::from_der(list)?.value())?;
    let mut fields = SliceReader::new(AnyRef::decode(&mut list)?.value())?;
    // version, signature, issuer, thisUpdate: webpki refuses a list that lacks one of them.
    for _ in 0..4 {
        AnyRef::decode(&mut fields)?;
    }
    let time = AnyRef::decode(&mut fields)?;
    let since_epoch = match time.tag() {
        Tag::UtcTime => time.decode_as::<UtcTime>()?.to_unix_duration(),
        _ => time.decode_as::<GeneralizedTime>()?.to_unix_duration(),
    };
    Ok(since_epoch.as_secs())
}
