//! Revocation lists and what their silence means.

use alloc::vec::Vec;

use webpki::{
    CertRevocationList, Error, ExpirationPolicy, OwnedCertRevocationList, RevocationOptions,
    RevocationOptionsBuilder, UnknownStatusPolicy,
};

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
    unknown: UnknownStatus,
}

impl Revocation {
    /// Parses the lists. Who signed them is checked when they are used: only then is the issuer's
    /// key known.
    pub(crate) fn new<T: AsRef<[u8]>>(lists: &[T], unknown: UnknownStatus) -> Result<Self, Error> {
        let lists = lists
            .iter()
            .map(|list| OwnedCertRevocationList::from_der(list.as_ref()).map(Into::into))
            .collect::<Result<_, _>>()?;
        Ok(Self { lists, unknown })
    }

    /// How the lists are used. What they list is data: it changes every day, and decides about single
    /// certificates.
    pub(crate) fn policy(&self) -> &'static str {
        match self.unknown {
            UnknownStatus::Reject => "unknown status: reject",
            UnknownStatus::Accept => "unknown status: accept",
        }
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
