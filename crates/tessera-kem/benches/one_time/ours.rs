//! ML-KEM and the one-time KEMs of this crate.

use tessera_kem::reproduction::{ExperimentalAsCodedKey, ExperimentalEncryptThenMacKey};
use tessera_kem::{
    DecapsulationKey, EncapsulationKey, ExperimentalFoSkipKey, ExperimentalOneTimeKey,
};

use crate::Kem;

pub struct Full<const K: usize>;
pub struct OneTime<const K: usize>;
pub struct FoSkip<const K: usize>;
pub struct EncryptThenMac<const K: usize>;
pub struct AsCoded<const K: usize>;

fn read<const K: usize>(public: &[u8]) -> EncapsulationKey<K> {
    EncapsulationKey::new(public).unwrap()
}

impl<const K: usize> Kem for Full<K> {
    type Key = Box<DecapsulationKey<K>>;

    fn generate(seed: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>) {
        let key = Box::new(DecapsulationKey::from_seed(seed.as_flattened().try_into().unwrap()));
        let mut public = vec![0; EncapsulationKey::<K>::LEN];
        key.encapsulation_key().write(&mut public).unwrap();
        (key, public)
    }

    fn encapsulate(public: &[u8], random: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]) {
        let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
        let secret = read::<K>(public).encapsulate(&random[0], &mut ciphertext).unwrap();
        (ciphertext, *secret.expose())
    }

    fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32] {
        *key.decapsulate(ciphertext).unwrap().expose()
    }
}

impl<const K: usize> Kem for FoSkip<K> {
    type Key = Box<ExperimentalFoSkipKey<K>>;

    fn generate(seed: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>) {
        let mut public = vec![0; EncapsulationKey::<K>::LEN];
        let key = Box::new(ExperimentalFoSkipKey::generate(&seed[0], &mut public).unwrap());
        (key, public)
    }

    fn encapsulate(public: &[u8], random: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]) {
        Full::<K>::encapsulate(public, random)
    }

    fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32] {
        *key.decapsulate_boxed(ciphertext).unwrap().expose()
    }
}

impl<const K: usize> Kem for OneTime<K> {
    type Key = Box<ExperimentalOneTimeKey<K>>;

    fn generate(seed: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>) {
        let mut public = vec![0; EncapsulationKey::<K>::LEN];
        let key = Box::new(ExperimentalOneTimeKey::generate(&seed[0], &mut public).unwrap());
        (key, public)
    }

    fn encapsulate(public: &[u8], random: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]) {
        let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
        let secret =
            ExperimentalOneTimeKey::encapsulate(&read::<K>(public), random, &mut ciphertext);
        (ciphertext, *secret.unwrap().expose())
    }

    fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32] {
        *key.decapsulate_boxed(ciphertext).unwrap().expose()
    }
}

impl<const K: usize> Kem for EncryptThenMac<K> {
    type Key = Box<ExperimentalEncryptThenMacKey<K>>;

    fn generate(seed: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>) {
        let mut public = vec![0; EncapsulationKey::<K>::LEN];
        let key = Box::new(ExperimentalEncryptThenMacKey::generate(seed, &mut public).unwrap());
        (key, public)
    }

    fn encapsulate(public: &[u8], random: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]) {
        let mut ciphertext = vec![0; ExperimentalEncryptThenMacKey::<K>::CIPHERTEXT_LEN];
        let secret =
            ExperimentalEncryptThenMacKey::encapsulate(&read::<K>(public), random, &mut ciphertext);
        (ciphertext, *secret.unwrap().expose())
    }

    fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32] {
        *key.decapsulate(ciphertext).unwrap().expose()
    }
}

impl<const K: usize> Kem for AsCoded<K> {
    type Key = Box<ExperimentalAsCodedKey<K>>;

    fn generate(seed: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>) {
        let mut public = vec![0; EncapsulationKey::<K>::LEN];
        let key = Box::new(ExperimentalAsCodedKey::generate(&seed[0], &mut public).unwrap());
        (key, public)
    }

    fn encapsulate(public: &[u8], random: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]) {
        let mut ciphertext = vec![0; EncapsulationKey::<K>::CIPHERTEXT_LEN];
        let secret =
            ExperimentalAsCodedKey::encapsulate(&read::<K>(public), &random[0], &mut ciphertext);
        (ciphertext, *secret.unwrap().expose())
    }

    fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32] {
        *key.decapsulate(ciphertext).unwrap().expose()
    }
}
