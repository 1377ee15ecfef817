//! Revocation lists and what their silence means.

use alloc::string::ToString;
use alloc::vec::Vec;

use tessera::auth::VerifierPolicy;
use webpki::{
    BorrowedCertRevocationList, CertRevocationList, Error, ExpirationPolicy, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy,
};

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
    /// What each list decides: for whom it speaks, and whom it revokes.
    policies: Vec<VerifierPolicy>,
    unknown: UnknownStatus,
}

impl Revocation {
    /// Parses the lists. Who signed them is checked when they are used: only then is every issuer's key
    /// known. A list in an anchor's name that no anchor of that name signed is refused here already: it would
    /// refuse all peers of that name.
    pub(crate) fn new<T: AsRef<[u8]>>(
        lists: &[T],
        unknown: UnknownStatus,
        signed: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Result<Self, ConfigError> {
        let failed = |error: Error| ConfigError::Crl(error.to_string());
        let mut own = Self { lists: Vec::new(), policies: Vec::new(), unknown };
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
        }
        Ok(own)
    }

    /// How the lists are used, for which issuers they speak, and whom they revoke: a resumption looks at
    /// no list, so sessions end with a list that revokes somebody. One that only says the same again, at a
    /// later time, changes nothing.
    pub(crate) fn policy(&self) -> VerifierPolicy {
        let unknown = match self.unknown {
            UnknownStatus::Reject => "unknown status: reject",
            UnknownStatus::Accept => "unknown status: accept",
        };
        VerifierPolicy::new("revocation").with(unknown.as_bytes()).with_set(&self.policies)
    }

    /// The lists in the form that webpki borrows them.
    pub(crate) fn lists(&self) -> Vec<&CertRevocationList<'static>> {
        self.lists.iter().collect()
    }

    /// Every certificate of the path is checked, not only the end entity.
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
