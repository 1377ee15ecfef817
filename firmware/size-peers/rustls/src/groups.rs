//! X25519 (RFC 7748), and X25519MLKEM768.

use alloc::boxed::Box;

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved};
use size_peer_board::fill;
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

const INVALID: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

struct Scalar {
    scalar: [u8; 32],
    share: [u8; 32],
}

impl Scalar {
    fn generate() -> Self {
        let mut scalar = [0; 32];
        fill(&mut scalar);
        // The ladder: the base point's tables would take 30 KB.
        Self { scalar, share: x25519(scalar, X25519_BASEPOINT_BYTES) }
    }

    fn agree(&self, share: &[u8]) -> Result<[u8; 32], Error> {
        let secret = x25519(self.scalar, share.try_into().map_err(|_| INVALID)?);
        // RFC 8446 §7.4.2: points of small order.
        if secret == [0; 32] { Err(INVALID) } else { Ok(secret) }
    }
}

#[cfg(not(feature = "hybrid"))]
pub(crate) use classical::X25519 as Group;

#[cfg(not(feature = "hybrid"))]
mod classical {
    use super::*;

    #[derive(Debug)]
    pub(crate) struct X25519;

    impl SupportedKxGroup for X25519 {
        fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
            Ok(Box::new(Scalar::generate()))
        }

        fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
            None
        }

        fn name(&self) -> NamedGroup {
            NamedGroup::X25519
        }
    }

    impl ActiveKeyExchange for Scalar {
        fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
            Ok(SharedSecret::from(&self.agree(share)?[..]))
        }

        fn pub_key(&self) -> &[u8] {
            &self.share
        }

        fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
            None
        }

        fn group(&self) -> NamedGroup {
            NamedGroup::X25519
        }
    }
}

#[cfg(feature = "hybrid")]
pub(crate) use hybrid::X25519MlKem768 as Group;

#[cfg(feature = "hybrid")]
mod hybrid {
    use alloc::vec::Vec;

    use ml_kem::kem::{Decapsulate, KeyExport};
    use ml_kem::{DecapsulationKey768, Seed};

    use super::*;

    /// Length of an ML-KEM-768 ciphertext (FIPS 203 §8, table 3).
    const CIPHERTEXT: usize = 1088;

    #[derive(Debug)]
    pub(crate) struct X25519MlKem768;

    struct Both {
        scalar: Scalar,
        key: Box<DecapsulationKey768>,
        share: Vec<u8>,
    }

    impl SupportedKxGroup for X25519MlKem768 {
        fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
            let mut seed = Seed::default();
            fill(&mut seed);
            let key = Box::new(DecapsulationKey768::from_seed(seed));
            let scalar = Scalar::generate();
            let mut share = key.encapsulation_key().to_bytes().to_vec();
            share.extend_from_slice(&scalar.share);
            Ok(Box::new(Both { scalar, key, share }))
        }

        fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
            None
        }

        fn name(&self) -> NamedGroup {
            NamedGroup::X25519MLKEM768
        }
    }

    impl ActiveKeyExchange for Both {
        fn complete(self: Box<Self>, reply: &[u8]) -> Result<SharedSecret, Error> {
            let (ciphertext, share) = reply.split_at_checked(CIPHERTEXT).ok_or(INVALID)?;
            let ciphertext = ciphertext.try_into().map_err(|_| INVALID)?;
            let mut secret = self.key.decapsulate(&ciphertext).to_vec();
            secret.extend_from_slice(&self.scalar.agree(share)?);
            Ok(SharedSecret::from(secret))
        }

        fn pub_key(&self) -> &[u8] {
            &self.share
        }

        fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
            None
        }

        fn group(&self) -> NamedGroup {
            NamedGroup::X25519MLKEM768
        }
    }
}
