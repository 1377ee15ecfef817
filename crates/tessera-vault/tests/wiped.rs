//! A vault leaves nothing in memory of secrets that are gone.
//!
//! A separate program, because it searches the whole process.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::sync::Mutex;

use tessera::crypto::{KeyForm, Secret, SecretBytes};
use tessera::resume::{OneTimeSecret, TakePurpose, Vault};
use tessera::wire::NamedGroup;
use tessera_aws_lc::provider;
use tessera_harness::Mark;
use tessera_vault::contract::{LIFETIME, NOW, handle, put_until, question};
use tessera_vault::{
    EpochKey, Limits, MemoryVault, MovingVault, ServerState, StateKey, StateOptions, WrappingKeys,
    WrappingPurpose,
};
use zeroize::Zeroizing;

fn secret(mark: &Mark) -> OneTimeSecret {
    let mut key = SecretBytes::zeros(2432);
    mark.fill(&mut key);
    let fs_secret = Secret::filled_by(48, |out| mark.fill(out));
    OneTimeSecret { kind: NamedGroup::X25519MLKEM768, form: KeyForm::Expanded, key, fs_secret }
}

fn fill(vault: &impl Vault, mark: &Mark, numbers: std::ops::Range<u32>) {
    for number in numbers {
        assert!(put_until(vault, number, secret(mark), NOW + LIFETIME, None));
    }
}

/// A search finds what another one reads.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn secrets_that_a_vault_gave_up_are_gone_from_memory() {
    let _turn = ONE_AT_A_TIME.lock();
    let mark = Mark::new();
    let vault = MemoryVault::new(300);
    fill(&vault, &mark, 0..300);
    assert!(mark.count() >= 300 * 5, "what is there is found");
    // Taken, burned, evicted, expired; the table grew while it held secrets.
    for number in 0..50 {
        let purpose = if number % 2 == 0 { TakePurpose::Accept } else { TakePurpose::Burn };
        drop(vault.take(&question(number, purpose, Some(NOW))));
        vault.burn(&handle(number + 50));
    }
    let other = Mark::new();
    fill(&vault, &other, 1000..1300);
    assert_eq!(mark.count(), 0, "taken, burned or evicted, and still in memory");
    let purged = (0..=60).map(|minute| vault.purge(NOW + LIFETIME * minute / 60));
    assert_eq!(purged.sum::<usize>(), 300);
    assert_eq!(other.count(), 0, "expired, and still in memory");

    // Through a snapshot, and together with their vault.
    let dir = std::env::temp_dir().join(format!("tessera-wiped-{}", std::process::id()));
    let keys = WrappingKeys::new(&provider(), WrappingPurpose::Snapshot);
    keys.add(EpochKey::forever([1; 16], [7; 32].into()), NOW).unwrap();
    let open = || MemoryVault::open(&dir, Limits::new(3000), &provider(), &keys, NOW).unwrap().0;
    let vault = open();
    fill(&vault, &mark, 0..900);
    vault.close(&provider(), &keys, NOW).unwrap();
    assert_eq!(mark.count(), 0, "closed, and still in memory");
    drop(vault);
    let vault = open();
    assert_eq!(vault.len(), 900);
    assert!(mark.count() >= 900 * 5, "it is back");
    drop(vault);
    assert_eq!(mark.count(), 0, "dropped, and still in memory");
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn associations_that_were_handed_over_are_gone_from_memory() {
    let _turn = ONE_AT_A_TIME.lock();
    let mark = Mark::new();
    let dir = std::env::temp_dir().join(format!("tessera-wiped-state-{}", std::process::id()));
    let open = || {
        let key = StateKey::new(Box::new([7; StateKey::LEN].into()));
        ServerState::open(&dir, &[key], &provider(), StateOptions::default(), NOW).unwrap()
    };
    let state = open();
    let association = || {
        let mut bytes = Zeroizing::new(vec![0; 400]);
        mark.fill(&mut bytes[200..]);
        bytes
    };
    let associations: Vec<_> = (0..500).map(|_| association()).collect();
    assert!(mark.count() >= 500, "what is there is found");
    state.close_with(associations, NOW).unwrap();
    assert_eq!(mark.count(), 0, "handed over, and still in memory");
    drop(state);
    let state = open();
    let associations = state.take_associations().unwrap();
    assert!(mark.count() >= 500, "they are back");
    drop(associations);
    assert_eq!(mark.count(), 0, "dropped, and still in memory");
    drop(state);
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn a_secret_that_moved_and_was_taken_is_gone_from_both_vaults() {
    let _turn = ONE_AT_A_TIME.lock();
    let mark = Mark::new();
    let [from, to] = [1, 2].map(|name| {
        let random = provider().random;
        MovingVault::new(MemoryVault::new(100), [name; 16], 100, LIFETIME, random).unwrap()
    });
    for number in 0..10 {
        assert!(put_until(&from, number, secret(&mark), NOW + LIFETIME, Some(b"drone")));
    }
    assert!(mark.count() >= 10 * 5, "what is there is found");
    for (number, moved) in (0..).zip(from.depart(b"drone", to.life()).unwrap()) {
        // Half of the messages are lost.
        if number % 2 == 0 {
            to.arrive(moved, NOW).unwrap();
        }
    }
    assert_eq!((from.len(), to.len()), (0, 5));
    for number in 0..10 {
        drop(to.take(&question(number, TakePurpose::Accept, Some(NOW))));
    }
    assert_eq!((mark.count(), from.len(), to.len()), (0, 0, 0));
}
