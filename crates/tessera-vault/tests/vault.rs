//! The memory vault: the contract, and what is its own.

use std::time::Duration;

use tessera::resume::{Absent, TakePurpose, Vault};
use tessera_vault::contract::{LIFETIME, NOW, accept, id, put, race, secret, take};
use tessera_vault::{MemoryVault, contract};

#[test]
fn keeps_the_contract() {
    contract::vault(|| MemoryVault::new(100));
    contract::vault(|| MemoryVault::new(100_000));
}

#[test]
fn a_full_vault_evicts_the_oldest() {
    let vault = MemoryVault::new(3);
    for number in 0..5 {
        assert!(put(&vault, number));
    }
    assert_eq!(vault.len(), 3);
    assert_eq!(accept(&vault, 0), Err(Absent::Unknown));
    assert_eq!(accept(&vault, 1), Err(Absent::Unknown));
    for number in 2..5 {
        assert_eq!(accept(&vault, number), Ok(()));
    }
}

#[test]
fn a_full_vault_evicts_the_expired_first() {
    let vault = MemoryVault::new(3);
    assert!(put(&vault, 0));
    vault.put(&id(1), secret(1), NOW).unwrap();
    assert!(put(&vault, 2));
    // The vault learns the time from takes; this one sweeps, too.
    assert_eq!(accept(&vault, 9), Err(Absent::Unknown));
    assert_eq!(vault.len(), 2);
    assert!(put(&vault, 3));
    assert_eq!(accept(&vault, 0), Ok(()), "it was the oldest, but not expired");
}

#[test]
fn capacity_is_a_bound_over_all_shards() {
    let vault = MemoryVault::new(20_001);
    for number in 0..40_000 {
        assert!(put(&vault, number));
        assert!(vault.len() <= 20_001 || number % 1000 != 0);
    }
    assert!((19_000..=20_001).contains(&vault.len()), "{}", vault.len());
    let live = (0..40_000).filter(|number| accept(&vault, *number).is_ok()).count();
    assert!((19_000..=20_001).contains(&live), "{live}");
    assert_eq!(vault.len(), 0);
}

#[test]
fn a_vault_without_room_refuses() {
    let vault = MemoryVault::new(0);
    assert!(!put(&vault, 1));
    assert_eq!(accept(&vault, 1), Err(Absent::Unknown));
    vault.burn(&id(1));
    assert_eq!(vault.purge(NOW), 0);
}

#[test]
fn tombstones_are_bounded() {
    let vault = MemoryVault::with_tombstones(10, 4);
    for number in 0..10 {
        assert!(put(&vault, number));
    }
    for number in 0..10 {
        assert_eq!(accept(&vault, number), Ok(()));
    }
    for number in 0..6 {
        assert_eq!(accept(&vault, number), Err(Absent::Unknown));
    }
    for number in 6..10 {
        assert_eq!(accept(&vault, number), Err(Absent::Used));
    }
    let forgetful = MemoryVault::with_tombstones(10, 0);
    assert!(put(&forgetful, 1));
    assert_eq!(accept(&forgetful, 1), Ok(()));
    assert_eq!(accept(&forgetful, 1), Err(Absent::Unknown));
}

#[test]
fn purge_destroys_what_has_expired() {
    let vault = MemoryVault::new(100_000);
    for number in 0..1000 {
        let lifetime = if number % 2 == 0 { LIFETIME } else { LIFETIME * 2 };
        vault.put(&id(number), secret(number), NOW + lifetime).unwrap();
    }
    assert_eq!(vault.purge(NOW), 0);
    assert_eq!(vault.purge(NOW + LIFETIME), 500);
    assert_eq!(vault.len(), 500);
    assert_eq!(vault.purge(Duration::MAX), 500);
    assert!(vault.is_empty());
}

#[test]
fn without_a_clock_the_last_reading_counts() {
    let vault = MemoryVault::new(10);
    assert!(put(&vault, 1));
    assert!(put(&vault, 2));
    assert_eq!(take(&vault, 1, TakePurpose::Accept, None), Ok(()));
    assert_eq!(take(&vault, 9, TakePurpose::Accept, Some(NOW + LIFETIME)), Err(Absent::Unknown));
    assert_eq!(take(&vault, 2, TakePurpose::Accept, None), Err(Absent::Unknown));
}

#[test]
fn puts_takes_and_purges_from_many_threads() {
    let vault = MemoryVault::new(1000);
    let taken: usize = race(16, |thread| {
        let thread = thread as u32;
        let mut taken = 0;
        for round in 0..500 {
            assert!(put(&vault, thread * 500 + round));
            // Mostly of other threads, and every id is wanted by several.
            let wanted = (thread * 131 + round * 7) % 8000;
            taken += usize::from(accept(&vault, wanted).is_ok());
            if round % 100 == 0 {
                vault.purge(NOW);
            }
        }
        taken
    })
    .into_iter()
    .sum();
    assert!(vault.len() <= 1000);
    assert!(taken + vault.len() <= 8000);
}
