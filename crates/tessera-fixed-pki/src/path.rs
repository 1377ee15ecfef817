//! Certification paths, in the order in which peers present them (RFC 5280 §6.1, RFC 8446 §4.4.2).

use alloc::vec::Vec;

use tessera::Role;

use crate::algorithms::{CertificateAlgorithms, check_certificate};
use crate::anchor::Anchor;
use crate::certificate::Certificate;
use crate::defect::Defect;
use crate::time::Validity;

/// The most certificates below an anchor: the end entity and four intermediates.
pub const MAX_CERTIFICATES: usize = 5;

/// What an accepted chain consists of.
pub(crate) struct Path<'a> {
    pub(crate) end_entity: Certificate<'a>,
    /// When all of its certificates are valid; an anchor's dates don't count.
    pub(crate) validity: Validity,
    /// How many of the certificates that were sent it has.
    #[cfg_attr(not(feature = "known-chains"), expect(dead_code, reason = "for the memory"))]
    used: usize,
    #[cfg_attr(not(feature = "known-chains"), expect(dead_code, reason = "for the memory"))]
    anchor: Anchor,
}

#[cfg(feature = "known-chains")]
impl Path<'_> {
    /// Whether it is the whole chain, which its own anchor may follow.
    pub(crate) fn is_all_of(&self, chain: &[Vec<u8>]) -> bool {
        match chain.get(self.used..) {
            Some([]) => true,
            Some([last]) => self.anchor.is(last),
            _ => false,
        }
    }
}

/// Decides which chains are accepted.
pub(crate) struct Rules<'a> {
    pub(crate) anchors: &'a [Anchor],
    pub(crate) algorithms: CertificateAlgorithms,
    pub(crate) peer: Role,
    /// Seconds since the Unix epoch; `None` if dates go unchecked.
    pub(crate) unix: Option<u64>,
}

impl Rules<'_> {
    /// Returns the path from the end entity, which comes first, to an anchor. What follows is ignored.
    pub(crate) fn path<'c>(&self, chain: &'c [Vec<u8>]) -> Result<Path<'c>, Defect> {
        let first = chain.first().ok_or(Defect::NoCertificate)?;
        if let Some(anchor) = self.anchors.iter().find(|anchor| anchor.is(first)) {
            return self.anchored_itself(first, *anchor);
        }
        let mut links: [Option<Certificate<'c>>; MAX_CERTIFICATES] = [None; MAX_CERTIFICATES];
        let mut defect = Defect::UnknownIssuer;
        for (at, der) in chain.iter().enumerate() {
            if at == MAX_CERTIFICATES {
                return Err(Defect::TooManyCertificates);
            }
            let below = links.get(..at).unwrap_or_default();
            let certificate = match self.link(der, below) {
                Ok(certificate) => certificate,
                // What an anchor of the right name did not sign is of more interest.
                Err(found) if defect == Defect::UnknownIssuer => return Err(found),
                Err(_) => return Err(defect),
            };
            if let Some(link) = links.get_mut(at) {
                *link = Some(certificate);
            }
            let path = links.get(..=at).unwrap_or_default();
            for anchor in self.anchors {
                let Some(key) = anchor.key_of_issuer(certificate.issuer) else { continue };
                match self.accepted(path, key, *anchor) {
                    Err(found) => defect = found,
                    path => return path,
                }
            }
        }
        Err(defect)
    }

    /// Reads the certificate that follows those below it, and checks all but its signature.
    fn link<'c>(
        &self,
        der: &'c [u8],
        below: &[Option<Certificate<'_>>],
    ) -> Result<Certificate<'c>, Defect> {
        let certificate = Certificate::read(der)?;
        let mut below = below.iter().flatten();
        let others = below.clone().count();
        if let Some(issued) = below.clone().last() {
            // RFC 5280 §6.1.3 (a) (4). And no loops, as in webpki (RFC 4158 §5.2).
            let is_same = |it: &Certificate<'_>| {
                it.subject == certificate.subject && it.public_key == certificate.public_key
            };
            if certificate.subject != issued.issuer || below.any(is_same) {
                return Err(Defect::UnknownIssuer);
            }
        }
        if let Some(unix) = self.unix {
            certificate.validity.check(unix)?;
        }
        certificate.extensions.check(others.checked_sub(1), self.purpose())?;
        Ok(certificate)
    }

    /// Checks the signatures from the anchor down, so that no key is used that isn't vouched for.
    fn accepted<'c>(
        &self,
        path: &[Option<Certificate<'c>>],
        anchor_key: &[u8],
        anchor: Anchor,
    ) -> Result<Path<'c>, Defect> {
        let mut issuer_key = anchor_key;
        let mut accepted = None;
        let mut validity = Validity { not_before: 0, not_after: u64::MAX };
        for certificate in path.iter().rev().flatten() {
            check_certificate(self.algorithms, issuer_key, certificate)?;
            validity = validity.and(certificate.validity);
            issuer_key = certificate.public_key;
            accepted = Some(*certificate);
        }
        let end_entity = accepted.ok_or(Defect::NoCertificate)?;
        Ok(Path { end_entity, validity, used: path.len(), anchor })
    }

    /// Checks a certificate that is an anchor itself: it needs no issuer, and may be an authority's.
    fn anchored_itself<'c>(&self, der: &'c [u8], anchor: Anchor) -> Result<Path<'c>, Defect> {
        let end_entity = Certificate::read(der)?;
        let validity = end_entity.validity;
        if let Some(unix) = self.unix {
            validity.check(unix)?;
        }
        end_entity.extensions.check_purpose(self.purpose())?;
        Ok(Path { end_entity, validity, used: 1, anchor })
    }

    fn purpose(&self) -> &'static [u8] {
        match self.peer {
            Role::Server => SERVER_AUTH,
            Role::Client => CLIENT_AUTH,
        }
    }
}

/// id-kp-serverAuth, 1.3.6.1.5.5.7.3.1.
const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];

/// id-kp-clientAuth, 1.3.6.1.5.5.7.3.2.
const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
