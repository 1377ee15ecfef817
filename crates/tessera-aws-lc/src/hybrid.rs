//! X25519MLKEM768: key agreement, and one-time keys.

use tessera::crypto::{Hybrid, HybridOneTimeKeys};
use tessera::wire::NamedGroup;

use crate::{dh, kem, one_time};

pub(crate) static X25519_ML_KEM_768: Hybrid =
    Hybrid { group: NamedGroup::X25519MLKEM768, first: &kem::ML_KEM_768, second: &dh::X25519 };

pub(crate) static ONE_TIME_X25519_ML_KEM_768: HybridOneTimeKeys = HybridOneTimeKeys {
    kind: NamedGroup::X25519MLKEM768,
    first: &one_time::MlKem768,
    first_encapsulated_len: kem::CIPHERTEXT_LEN,
    second: &one_time::X25519,
};
