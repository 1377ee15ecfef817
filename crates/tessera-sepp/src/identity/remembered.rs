//! The identity of a peer, within a connection and within its tickets.

use std::fmt;
use std::sync::Arc;

use tessera::auth::PeerIdentity;

use super::CertificateIdentity;
use super::association::AssociationId;
use super::names;
use crate::names::{Fqdn, PlmnId, PlmnSet};

/// Who the peer of a connection is, as the full handshake verified it, and what the connection was for. It travels in
/// tickets and sessions, and all of it is judged again when they are used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The peer, by its name in the configuration.
    pub peer: Fqdn,
    /// Its certificate.
    pub certificate: CertificateIdentity,
    /// Which side opened the connection.
    pub direction: Direction,
    /// The listener that accepted it, or that it was dialled to.
    pub listener: Listener,
    /// The association with the peer at that time, if one was established.
    pub association: Option<AssociationId>,
    /// The epoch of the peer's settings.
    pub epoch: u64,
}

/// Which side opened a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The peer.
    Incoming,
    /// This SEPP.
    Outgoing,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Listener {
    /// N32-c alone: always a full handshake.
    N32c,
    /// N32-f alone.
    N32f,
    /// Both, on one address.
    Shared,
}

impl Identity {
    /// Encodes it for the engine.
    ///
    /// # Errors
    /// If it exceeds the maximum length of an identity: some sixty networks fit, each with a name.
    pub fn encode(&self) -> Result<PeerIdentity, IdentityTooLong> {
        let certificate = &self.certificate;
        let mut blob = vec![VERSION, self.direction.code(), self.listener.code()];
        blob.extend_from_slice(&self.epoch.to_be_bytes());
        match &self.association {
            None => blob.push(0),
            Some(AssociationId(id)) => {
                blob.push(1);
                blob.extend_from_slice(id);
            }
        }
        blob.extend_from_slice(&certificate.fingerprint);
        blob.extend_from_slice(&certificate.expires_at.to_be_bytes());
        let anchor = certificate.anchor.as_bytes();
        blob.push(u8::try_from(anchor.len()).map_err(|_| IdentityTooLong)?);
        blob.extend_from_slice(anchor);
        names::encode(&self.peer, &mut blob);
        put_count(&mut blob, certificate.plmns.iter().len())?;
        certificate.plmns.iter().for_each(|plmn| blob.extend_from_slice(&plmn.to_octets()));
        put_count(&mut blob, certificate.fqdns.len())?;
        certificate.fqdns.iter().for_each(|name| names::encode(name, &mut blob));
        if blob.len() > PeerIdentity::MAX_LEN {
            return Err(IdentityTooLong);
        }
        Ok(PeerIdentity { blob, expires_at: Some(certificate.expires_at) })
    }

    /// Decodes an identity from the engine; returns `None` unless [`encode`](Self::encode) wrote it.
    #[must_use]
    pub fn decode(peer: &PeerIdentity) -> Option<Self> {
        let blob = &mut peer.blob.as_slice();
        let [VERSION, direction, listener] = array(blob)? else { return None };
        let epoch = u64::from_be_bytes(array(blob)?);
        let association = match array(blob)? {
            [0] => None,
            [1] => Some(AssociationId(array(blob)?)),
            _ => return None,
        };
        let fingerprint = array(blob)?;
        let expires_at = u64::from_be_bytes(array(blob)?);
        let [anchor_len] = array(blob)?;
        let anchor = std::str::from_utf8(take(blob, anchor_len.into())?).ok()?;
        let name = names::decode(blob)?;
        let plmns: Option<PlmnSet> =
            (0..count(blob)?).map(|_| PlmnId::from_octets(array(blob)?)).collect();
        let fqdns: Option<Vec<Fqdn>> = (0..count(blob)?).map(|_| names::decode(blob)).collect();
        let certificate = CertificateIdentity {
            fqdns: fqdns?,
            plmns: plmns?,
            anchor: Arc::from(anchor),
            fingerprint,
            expires_at,
        };
        let identity = Self {
            peer: name,
            certificate,
            direction: Direction::of_code(direction)?,
            listener: Listener::of_code(listener)?,
            association,
            epoch,
        };
        // The encoding is canonical, and the engine's end of validity is the identity's.
        (blob.is_empty() && identity.encode().ok()? == *peer).then_some(identity)
    }
}

impl Direction {
    fn code(self) -> u8 {
        match self {
            Self::Incoming => 1,
            Self::Outgoing => 2,
        }
    }

    fn of_code(code: u8) -> Option<Self> {
        [Self::Incoming, Self::Outgoing].into_iter().find(|it| it.code() == code)
    }
}

impl Listener {
    /// Returns its name in logs and in the scope of tickets.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::N32c => "n32c",
            Self::N32f => "n32f",
            Self::Shared => "n32c and n32f",
        }
    }

    fn code(self) -> u8 {
        match self {
            Self::N32c => 1,
            Self::N32f => 2,
            Self::Shared => 3,
        }
    }

    fn of_code(code: u8) -> Option<Self> {
        [Self::N32c, Self::N32f, Self::Shared].into_iter().find(|it| it.code() == code)
    }
}

/// The peer has more names and networks than fit an identity (1,024 bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdentityTooLong;

impl fmt::Display for IdentityTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("more names and networks than an identity has room for")
    }
}

impl std::error::Error for IdentityTooLong {}

fn put_count(blob: &mut Vec<u8>, count: usize) -> Result<(), IdentityTooLong> {
    let count = u16::try_from(count).map_err(|_| IdentityTooLong)?;
    blob.extend_from_slice(&count.to_be_bytes());
    Ok(())
}

fn count(blob: &mut &[u8]) -> Option<u16> {
    array(blob).map(u16::from_be_bytes)
}

fn array<const N: usize>(blob: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = blob.split_first_chunk()?;
    *blob = rest;
    Some(*first)
}

fn take<'b>(blob: &mut &'b [u8], len: usize) -> Option<&'b [u8]> {
    let (first, rest) = blob.split_at_checked(len)?;
    *blob = rest;
    Some(first)
}

const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(networks: u32) -> Identity {
        let plmns: PlmnSet =
            (0..networks).map(|at| PlmnId::new("999", &format!("{at:02}")).unwrap()).collect();
        let mut fqdns: Vec<Fqdn> = (0..networks)
            .map(|at| format!("sepp.5gc.mnc{at:03}.mcc999.3gppnetwork.org").parse().unwrap())
            .collect();
        fqdns.push("sepp.visited.example".parse().unwrap());
        fqdns.sort_unstable();
        Identity {
            peer: "sepp.5gc.mnc001.mcc999.3gppnetwork.org".parse().unwrap(),
            certificate: CertificateIdentity {
                fqdns,
                plmns,
                anchor: "visited".into(),
                fingerprint: [7; 32],
                expires_at: 1_800_000_000,
            },
            direction: Direction::Incoming,
            listener: Listener::N32f,
            association: Some(AssociationId([9; 16])),
            epoch: u64::MAX,
        }
    }

    #[test]
    fn encoding_and_decoding_are_inverse() {
        for networks in [0, 1, 60] {
            let identity = identity(networks);
            assert_eq!(Identity::decode(&identity.encode().unwrap()), Some(identity));
        }
        let other = Identity {
            direction: Direction::Outgoing,
            listener: Listener::Shared,
            association: None,
            epoch: 0,
            ..identity(2)
        };
        assert_eq!(Identity::decode(&other.encode().unwrap()), Some(other));
    }

    #[test]
    fn an_identity_that_does_not_fit_is_never_cut() {
        assert_eq!(identity(100).encode(), Err(IdentityTooLong));
        let mut named = identity(1);
        named.certificate.anchor = "a".repeat(256).into();
        assert_eq!(named.encode(), Err(IdentityTooLong));
    }

    /// Changing, removing or adding any byte yields another identity, or none.
    #[test]
    fn no_two_encodings_are_one_identity() {
        let identity = identity(2);
        let encoded = identity.encode().unwrap();
        for at in 0..encoded.blob.len() {
            let mut changed = encoded.clone();
            changed.blob[at] ^= 1;
            assert_ne!(Identity::decode(&changed).as_ref(), Some(&identity), "{at}");
            changed.blob.truncate(at);
            assert_eq!(Identity::decode(&changed), None, "{at}");
        }
        let mut longer = encoded.clone();
        longer.blob.push(0);
        assert_eq!(Identity::decode(&longer), None);
        for expires_at in [None, Some(1)] {
            assert_eq!(Identity::decode(&PeerIdentity { expires_at, ..encoded.clone() }), None);
        }
        assert_eq!(Identity::decode(&PeerIdentity::default()), None);
    }
}
