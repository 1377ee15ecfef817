//! Every kind of one-time key, in one shape.

use tessera_kem::reproduction::{ExperimentalAsCodedKey, ExperimentalEncryptThenMacKey, TAG_LEN};
use tessera_kem::{
    EncapsulationKey, Error, ExperimentalFoSkipKey, ExperimentalOneTimeKey, SharedSecret,
};

use crate::public;

pub(crate) trait Kind<const K: usize> {
    /// What follows the ciphertext of K-PKE.
    const TAG_LEN: usize = 0;

    /// Derives the key of a seed, and its public half.
    fn generate(seed: [u8; 32], public: &mut [u8]) -> Result<Self, Error>
    where
        Self: Sized;

    fn encapsulate(
        public: &EncapsulationKey<K>,
        random: [u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error>;

    fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error>;
}

/// A key with its public half.
pub(crate) fn generate<const K: usize, T: Kind<K>>(seed: [u8; 32]) -> (T, EncapsulationKey<K>) {
    let mut public = public::<K>();
    let key = T::generate(seed, &mut public).unwrap();
    (key, EncapsulationKey::new(&public).unwrap())
}

impl<const K: usize> Kind<K> for ExperimentalOneTimeKey<K> {
    fn generate(seed: [u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        Self::generate(&seed, public)
    }

    fn encapsulate(
        public: &EncapsulationKey<K>,
        random: [u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        Self::encapsulate(public, &[random, [7; 32]], ciphertext)
    }

    fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.decapsulate(ciphertext)
    }
}

impl<const K: usize> Kind<K> for Box<ExperimentalOneTimeKey<K>> {
    fn generate(seed: [u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        ExperimentalOneTimeKey::generate(&seed, public).map(Self::new)
    }

    fn encapsulate(
        public: &EncapsulationKey<K>,
        random: [u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        ExperimentalOneTimeKey::encapsulate(public, &[random, [7; 32]], ciphertext)
    }

    fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.decapsulate_boxed(ciphertext)
    }
}

impl<const K: usize> Kind<K> for ExperimentalFoSkipKey<K> {
    fn generate(seed: [u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        Self::generate(&seed, public)
    }

    fn encapsulate(
        public: &EncapsulationKey<K>,
        random: [u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        public.encapsulate(&random, ciphertext)
    }

    fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.decapsulate(ciphertext)
    }
}

impl<const K: usize> Kind<K> for Box<ExperimentalFoSkipKey<K>> {
    fn generate(seed: [u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        ExperimentalFoSkipKey::generate(&seed, public).map(Self::new)
    }

    fn encapsulate(
        public: &EncapsulationKey<K>,
        random: [u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        public.encapsulate(&random, ciphertext)
    }

    fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.decapsulate_boxed(ciphertext)
    }
}

impl<const K: usize> Kind<K> for ExperimentalAsCodedKey<K> {
    fn generate(seed: [u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        Self::generate(&seed, public)
    }

    fn encapsulate(
        public: &EncapsulationKey<K>,
        random: [u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        Self::encapsulate(public, &random, ciphertext)
    }

    fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.decapsulate(ciphertext)
    }
}

impl<const K: usize> Kind<K> for ExperimentalEncryptThenMacKey<K> {
    const TAG_LEN: usize = TAG_LEN;

    fn generate(seed: [u8; 32], public: &mut [u8]) -> Result<Self, Error> {
        Self::generate(&[seed, [8; 32]], public)
    }

    fn encapsulate(
        public: &EncapsulationKey<K>,
        random: [u8; 32],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, Error> {
        Self::encapsulate(public, &[random, [7; 32]], ciphertext)
    }

    fn decapsulate(self, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        self.decapsulate(ciphertext)
    }
}
