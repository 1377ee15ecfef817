//! ML-KEM of others: the crate `ml-kem`, which keeps the expanded matrix with a key, and AWS-LC, which draws its random bits
//! itself.

use aws_lc_rs::kem::{self, Algorithm};
use ml_kem::kem::{Decapsulate, KeyExport};

use crate::Kem;

macro_rules! rust_crypto {
    ($name:ident, $module:ident) => {
        pub struct $name;

        impl Kem for $name {
            type Key = Box<ml_kem::$module::DecapsulationKey>;

            fn generate(seed: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>) {
                let seed: [u8; 64] = seed.as_flattened().try_into().unwrap();
                let key = Box::new(ml_kem::$module::DecapsulationKey::from_seed(seed.into()));
                let public = key.encapsulation_key().to_bytes().to_vec();
                (key, public)
            }

            fn encapsulate(public: &[u8], random: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]) {
                let public = public.try_into().unwrap();
                let public = ml_kem::$module::EncapsulationKey::new(public).unwrap();
                let (ciphertext, secret) = public.encapsulate_deterministic(&random[0].into());
                (ciphertext.to_vec(), secret.into())
            }

            fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32] {
                key.decapsulate(ciphertext.try_into().unwrap()).into()
            }
        }
    };
}

rust_crypto!(MlKem512, ml_kem_512);
rust_crypto!(MlKem768, ml_kem_768);
rust_crypto!(MlKem1024, ml_kem_1024);

pub struct AwsLc<const K: usize>;

fn algorithm(rank: usize) -> &'static Algorithm {
    match rank {
        2 => &kem::ML_KEM_512,
        3 => &kem::ML_KEM_768,
        _ => &kem::ML_KEM_1024,
    }
}

impl<const K: usize> Kem for AwsLc<K> {
    type Key = kem::DecapsulationKey;

    fn generate(_: &[[u8; 32]; 2]) -> (Self::Key, Vec<u8>) {
        let key = kem::DecapsulationKey::generate(algorithm(K)).unwrap();
        let public = key.encapsulation_key().unwrap().key_bytes().unwrap().as_ref().to_vec();
        (key, public)
    }

    fn encapsulate(public: &[u8], _: &[[u8; 32]; 2]) -> (Vec<u8>, [u8; 32]) {
        let public = kem::EncapsulationKey::new(algorithm(K), public).unwrap();
        let (ciphertext, secret) = public.encapsulate().unwrap();
        (ciphertext.as_ref().to_vec(), secret.as_ref().try_into().unwrap())
    }

    fn decapsulate(key: Self::Key, ciphertext: &[u8]) -> [u8; 32] {
        key.decapsulate(ciphertext.into()).unwrap().as_ref().try_into().unwrap()
    }
}
