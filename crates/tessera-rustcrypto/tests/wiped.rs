//! Nothing of a private key of ML-KEM is left in memory once it is gone, where its user wipes the stack as the engine does.
//!
//! A separate program, because it searches the whole process.
#![cfg(all(target_os = "linux", feature = "ml-kem-1024", feature = "one-time-experimental"))]
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::sync::{Mutex, OnceLock};

use tessera::crypto::{
    Decapsulator, Depth, Ephemeral, KeyAgreement, Provider, RandomFailed, wipe_stack_below,
};
use tessera::wire::NamedGroup;
use tessera_harness::Mark;
use tessera_kem::{DecapsulationKey, SharedSecret};
use tessera_rustcrypto::{KemKey, RandomSource, experimental_one_time_provider};

/// A search finds what another test holds.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Draws the same bytes each time, of which memory has only the complement.
struct Marked;

static COMPLEMENT: OnceLock<[u8; 64]> = OnceLock::new();

impl RandomSource for Marked {
    fn fill(out: &mut [u8]) -> Result<(), RandomFailed> {
        let complement = COMPLEMENT.get_or_init(|| {
            let mut bytes = [0; 64];
            aws_lc_rs::rand::fill(&mut bytes).unwrap();
            bytes
        });
        for (byte, complement) in out.iter_mut().zip(complement.iter().cycle()) {
            *byte = !complement;
        }
        Ok(())
    }
}

/// What builds without optimisation reach, and more.
const DEEP: Depth = Depth::of::<{ 512 * 1024 }>();

/// The seed's halves d and z, of which d is also a message, and K-PKE's key.
type Marks = [Mark; 3];

#[inline(never)]
fn marks<const K: usize>() -> Marks {
    let mut seed = tessera::Zeroizing::new([0; 64]);
    Marked::fill(&mut *seed).unwrap();
    let key = Box::new(DecapsulationKey::<K>::from_seed(&seed));
    let mut expanded = tessera::Zeroizing::new([0; 3168]);
    key.write_expanded(&mut expanded[..DecapsulationKey::<K>::EXPANDED_LEN]).unwrap();
    let (d, z) = seed.split_at(32);
    // Allocators write to the beginning of a block that is freed.
    [d, z, &expanded[100..]].map(Mark::of)
}

/// Returns which of the marks are in memory.
fn found(marks: &Marks) -> [bool; 3] {
    marks.each_ref().map(|mark| mark.count() > 0)
}

const NOTHING: [bool; 3] = [false; 3];

#[inline(never)]
fn generate(group: &dyn KeyAgreement) -> Box<dyn Ephemeral> {
    group.generate().unwrap()
}

#[inline(never)]
fn encapsulate(group: &dyn KeyAgreement, share: &[u8]) -> Vec<u8> {
    group.encapsulate(share).unwrap().0
}

#[inline(never)]
fn decapsulate(key: Box<dyn Ephemeral>, reply: &[u8]) {
    key.decapsulate(reply).unwrap();
}

/// What each step leaves on the stack is gone, and so is the key: used, or not.
fn leaves_nothing<const K: usize>(provider: &Provider, id: NamedGroup) {
    let marks = marks::<K>();
    wipe_stack_below(DEEP);
    let group = provider.group(id).unwrap();
    for is_used in [false, true] {
        let keys = several(|| generate(group));
        wipe_stack_below(DEEP);
        assert!(marks[2].count() > 0, "{id:?}: a key that is there is found");
        let reply = is_used.then(|| encapsulate(group, keys[0].0.share()));
        let mut between = Vec::new();
        for (key, block) in keys {
            match &reply {
                Some(reply) => decapsulate(key, reply),
                None => drop(key),
            }
            between.push(block);
        }
        wipe_stack_below(DEEP);
        assert_eq!(found(&marks), NOTHING, "{id:?}, used: {is_used}");
    }
}

/// Makes several, with a block of memory after each, since the search itself takes a block or two of what is freed.
#[inline(never)]
fn several<T>(make: impl Fn() -> T) -> Vec<(T, Box<[u8; 64]>)> {
    (0..16).map(|_| (make(), Box::new([0; 64]))).collect()
}

#[test]
fn ephemeral_keys_leave_nothing() {
    let _turn = ONE_AT_A_TIME.lock();
    let provider = experimental_one_time_provider::<Marked>();
    leaves_nothing::<4>(&provider, NamedGroup::MLKEM1024);
    leaves_nothing::<3>(&provider, NamedGroup::EXPERIMENTAL_ONE_TIME_MLKEM768);
}

#[inline(never)]
fn static_key() -> KemKey<3> {
    let mut seed = tessera::Zeroizing::new([0; 64]);
    Marked::fill(&mut *seed).unwrap();
    KemKey::from_seed(&seed)
}

#[test]
fn static_keys_leave_nothing() {
    let _turn = ONE_AT_A_TIME.lock();
    let marks = marks::<3>();
    let keys = several(static_key);
    wipe_stack_below(DEEP);
    assert_eq!(found(&marks), [false, true, true], "d is gone, and the rest is there");
    let mut between = Vec::new();
    for (key, block) in keys {
        key.decapsulate(&[7; 1088]).unwrap();
        drop(key);
        between.push(block);
    }
    wipe_stack_below(DEEP);
    assert_eq!(found(&marks), NOTHING);
}

#[inline(never)]
fn secret() -> Box<SharedSecret> {
    let key = DecapsulationKey::<3>::from_seed(&[1; 64]);
    let mut message = tessera::Zeroizing::new([0; 32]);
    Marked::fill(&mut *message).unwrap();
    Box::new(key.encapsulation_key().encapsulate(&message, &mut [0; 1088]).unwrap())
}

#[test]
fn secrets_leave_nothing() {
    let _turn = ONE_AT_A_TIME.lock();
    let secrets = several(secret);
    wipe_stack_below(DEEP);
    let mark = Mark::of(&secrets[0].0.expose()[16..]);
    assert!(mark.count() > 0, "a secret that is there is found");
    let between: Vec<_> = secrets.into_iter().map(|(_, block)| block).collect();
    assert_eq!(mark.count(), 0);
    drop(between);
}
