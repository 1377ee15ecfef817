//! What ML-KEM's keys and ciphertexts are made of: all of it is drawn, and each part by itself.

use std::cell::RefCell;

use tessera::crypto::{KeyAgreement, Provider, RandomFailed};
use tessera::wire::NamedGroup;
use tessera_kem::{DecapsulationKey, EncapsulationKey};
use tessera_rustcrypto::RandomSource;

use crate::source::AwsLc;

/// Records what the thread draws.
struct Recorded;

thread_local! {
    static DRAWN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl RandomSource for Recorded {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        AwsLc::fill(out)?;
        DRAWN.with_borrow_mut(|drawn| drawn.extend_from_slice(out));
        Ok(())
    }
}

fn drawn<const LEN: usize>() -> [u8; LEN] {
    DRAWN.take().try_into().expect("so many bytes are drawn")
}

fn group(provider: &Provider, id: NamedGroup) -> &'static dyn KeyAgreement {
    provider.group(id).expect("the provider has it")
}

/// Of what was drawn, the key with its rejections, and the ciphertext with its secret.
fn is_of_what_is_drawn<const K: usize>(id: NamedGroup) {
    let group = group(&tessera_rustcrypto::provider::<Recorded>(), id);
    let key = group.generate().unwrap();
    let same = DecapsulationKey::<K>::from_seed(&drawn());
    let mut public = vec![0; EncapsulationKey::<K>::LEN];
    same.encapsulation_key().write(&mut public).unwrap();
    assert_eq!(key.share(), public);

    let (ciphertext, secret) = group.encapsulate(&public).unwrap();
    let mut expected = vec![0; ciphertext.len()];
    let of_drawn = same.encapsulation_key().encapsulate(&drawn(), &mut expected).unwrap();
    assert_eq!((ciphertext, secret.expose()), (expected, &of_drawn.expose()[..]));

    // The secret of a wrong ciphertext hangs on z alone, which no public key shows.
    let wrong = vec![7; EncapsulationKey::<K>::CIPHERTEXT_LEN];
    let rejected = same.decapsulate(&wrong).unwrap();
    assert_eq!(key.decapsulate(&wrong).unwrap().expose(), rejected.expose());
}

#[test]
fn keys_and_ciphertexts_are_of_what_is_drawn() {
    is_of_what_is_drawn::<3>(NamedGroup::MLKEM768);
    #[cfg(feature = "ml-kem-512")]
    is_of_what_is_drawn::<2>(NamedGroup::MLKEM512);
    #[cfg(feature = "ml-kem-1024")]
    is_of_what_is_drawn::<4>(NamedGroup::MLKEM1024);
}

/// Without a re-encryption, plaintext and coins are independent (docs/one-time-kem.md §2).
#[cfg(feature = "one-time-experimental")]
#[test]
fn one_time_ciphertexts_are_of_what_is_drawn() {
    use tessera_kem::ExperimentalOneTimeKey;

    let provider = tessera_rustcrypto::experimental_one_time_provider::<Recorded>();
    let group = group(&provider, NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM768);
    let key = group.generate().unwrap();
    let mut public = vec![0; EncapsulationKey::<3>::LEN];
    ExperimentalOneTimeKey::<3>::generate(&drawn(), &mut public).unwrap();
    assert_eq!(key.share(), public);

    let (ciphertext, secret) = group.encapsulate(&public).unwrap();
    let drawn: [u8; 64] = drawn();
    let (m, r) = drawn.split_at(32);
    let random = [m, r].map(|half| half.try_into().unwrap());
    let mut expected = vec![0; ciphertext.len()];
    let public = EncapsulationKey::<3>::new(&public).unwrap();
    let of_drawn = ExperimentalOneTimeKey::encapsulate(&public, &random, &mut expected).unwrap();
    assert_eq!((ciphertext, secret.expose()), (expected, &of_drawn.expose()[..]));
}
