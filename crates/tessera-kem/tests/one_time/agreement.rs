//! Both ends of every kind agree, with keys that are ML-KEM's, and refuse what is too long or too short.

use tessera_kem::reproduction::{ExperimentalAsCodedKey, ExperimentalEncryptThenMacKey};
use tessera_kem::{
    DecapsulationKey, EncapsulationKey, Error, ExperimentalFoSkipKey, ExperimentalOneTimeKey,
};

use crate::kinds::{Kind, generate};
use crate::public;

/// What becomes of the secret if the ciphertext changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Changed {
    /// It is always another.
    Another,
    /// It is the same, as long as K-PKE decrypts the same.
    Same,
}

fn check<const K: usize, T: Kind<K>>(changed: Changed) {
    let len = EncapsulationKey::<K>::CIPHERTEXT_LEN + T::TAG_LEN;
    for n in 0..32 {
        let (key, public) = generate::<K, T>([n; 32]);
        let mut ciphertext = vec![0; len];
        let secret = *T::encapsulate(&public, [n ^ 0xff; 32], &mut ciphertext).unwrap().expose();
        assert_eq!(*key.decapsulate(&ciphertext).unwrap().expose(), secret, "{n}");

        // The last byte of v: the lowest bit of a coefficient is far less than its noise.
        let at = EncapsulationKey::<K>::CIPHERTEXT_LEN - 1;
        let mut damaged = ciphertext.clone();
        damaged[at] ^= 0x10;
        let (key, _) = generate::<K, T>([n; 32]);
        let decapsulated = *key.decapsulate(&damaged).unwrap().expose();
        assert_eq!(decapsulated == secret, changed == Changed::Same, "{n}");

        let (other, _) = generate::<K, T>([n ^ 0x80; 32]);
        assert_ne!(*other.decapsulate(&ciphertext).unwrap().expose(), secret, "{n}");
        let again = *T::encapsulate(&public, [n ^ 0xf0; 32], &mut ciphertext).unwrap().expose();
        assert_ne!(again, secret, "{n}");
    }
    // The public half is that of ML-KEM, from the same d.
    let mut standard = public::<K>();
    DecapsulationKey::<K>::from_seed(&[5; 64]).encapsulation_key().write(&mut standard).unwrap();
    let mut public = public::<K>();
    assert!(T::generate([5; 32], &mut public).is_ok());
    assert_eq!(public, standard);
    refuses::<K, T>(len);
}

fn refuses<const K: usize, T: Kind<K>>(len: usize) {
    let (_, public) = generate::<K, T>([1; 32]);
    for wrong in [0, 1, T::TAG_LEN, len - T::TAG_LEN, len - 1, len + 1, len + T::TAG_LEN, 2 * len] {
        if wrong != len {
            let (key, _) = generate::<K, T>([1; 32]);
            assert_eq!(key.decapsulate(&vec![0; wrong]).err(), Some(Error::Length), "{wrong}");
            let refused = T::encapsulate(&public, [2; 32], &mut vec![0; wrong]);
            assert_eq!(refused.err(), Some(Error::Length), "{wrong}");
        }
    }
    for wrong in [0, EncapsulationKey::<K>::LEN - 1, EncapsulationKey::<K>::LEN + 1] {
        assert_eq!(T::generate([1; 32], &mut vec![0; wrong]).err(), Some(Error::Length), "{wrong}");
    }
}

#[test]
fn ends_agree_by_t_h() {
    check::<2, ExperimentalOneTimeKey<2>>(Changed::Another);
    check::<3, ExperimentalOneTimeKey<3>>(Changed::Another);
    check::<4, ExperimentalOneTimeKey<4>>(Changed::Another);
    check::<3, Box<ExperimentalOneTimeKey<3>>>(Changed::Another);
}

/// The reason why these keys are secure only below a transcript.
#[test]
fn without_re_encryption_a_changed_ciphertext_has_the_same_secret() {
    check::<2, ExperimentalFoSkipKey<2>>(Changed::Same);
    check::<3, ExperimentalFoSkipKey<3>>(Changed::Same);
    check::<4, ExperimentalFoSkipKey<4>>(Changed::Same);
    check::<3, Box<ExperimentalFoSkipKey<3>>>(Changed::Same);
}

#[test]
fn ends_agree_as_the_thesis_code_does() {
    check::<2, ExperimentalAsCodedKey<2>>(Changed::Another);
    check::<3, ExperimentalAsCodedKey<3>>(Changed::Another);
    check::<4, ExperimentalAsCodedKey<4>>(Changed::Another);
}

#[test]
fn ends_agree_by_encrypt_then_mac() {
    check::<2, ExperimentalEncryptThenMacKey<2>>(Changed::Another);
    check::<3, ExperimentalEncryptThenMacKey<3>>(Changed::Another);
    check::<4, ExperimentalEncryptThenMacKey<4>>(Changed::Another);
}

/// Any peer's ciphertext opens: AWS-LC's.
#[test]
fn fo_skip_opens_what_a_standard_peer_encapsulated() {
    use aws_lc_rs::kem;
    for n in 0..100 {
        let mut share = public::<3>();
        let key = ExperimentalFoSkipKey::<3>::generate(&[n; 32], &mut share).unwrap();
        let peer = kem::EncapsulationKey::new(&kem::ML_KEM_768, &share).unwrap();
        let (ciphertext, secret) = peer.encapsulate().unwrap();
        assert_eq!(key.decapsulate(ciphertext.as_ref()).unwrap().expose(), secret.as_ref());
    }
}

#[test]
fn a_wrong_tag_yields_a_secret_that_its_maker_does_not_know() {
    for bit in 0..128 {
        let (key, public) = generate::<3, ExperimentalEncryptThenMacKey<3>>([1; 32]);
        let mut ciphertext = [0; ExperimentalEncryptThenMacKey::<3>::CIPHERTEXT_LEN];
        let secret = *<ExperimentalEncryptThenMacKey<3> as Kind<3>>::encapsulate(
            &public,
            [2; 32],
            &mut ciphertext,
        )
        .unwrap()
        .expose();
        ciphertext[EncapsulationKey::<3>::CIPHERTEXT_LEN + bit / 8] ^= 1 << (bit % 8);
        assert_ne!(*key.decapsulate(&ciphertext).unwrap().expose(), secret, "{bit}");
    }
}

/// Otherwise everyone could compute it from the ciphertext.
#[test]
fn the_secret_of_a_wrong_tag_hangs_on_z() {
    let rejected = [8, 9].map(|z| {
        let key =
            ExperimentalEncryptThenMacKey::<3>::generate(&[[1; 32], [z; 32]], &mut public::<3>());
        let ciphertext = [7; ExperimentalEncryptThenMacKey::<3>::CIPHERTEXT_LEN];
        *key.unwrap().decapsulate(&ciphertext).unwrap().expose()
    });
    assert_ne!(rejected[0], rejected[1]);
}
