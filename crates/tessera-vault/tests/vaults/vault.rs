//! The memory vault: the contract, and its own features.

use std::time::Duration;

use tessera::crypto::{KeyForm, Secret};
use tessera::resume::{Absence, OneTimeSecret, TakePurpose, Vault};
use tessera::wire::NamedGroup;
use tessera_vault::contract::{
    LIFETIME, NOW, accept, handle, put, put_for, put_until, race, secret, take,
};
use tessera_vault::{Limits, MemoryVault, contract};

#[test]
fn a_memory_vault_keeps_the_contract_of_vaults() {
    contract::vault(|| MemoryVault::new(100));
    contract::vault(|| MemoryVault::new(100_000));
}

#[test]
fn a_full_vault_evicts_the_oldest_secret() {
    let vault = MemoryVault::new(3);
    for number in 0..5 {
        assert!(put(&vault, number));
    }
    assert_eq!(vault.len(), 3);
    assert_eq!(accept(&vault, 0), Err(Absence::Unknown));
    assert_eq!(accept(&vault, 1), Err(Absence::Unknown));
    for number in 2..5 {
        assert_eq!(accept(&vault, number), Ok(()));
    }
}

#[test]
fn a_full_vault_evicts_expired_secrets_first() {
    let vault = MemoryVault::new(3);
    assert!(put(&vault, 0));
    assert!(put_until(&vault, 1, secret(1), NOW, None));
    assert!(put(&vault, 2));
    assert!(put(&vault, 3));
    assert_eq!(vault.len(), 3);
    assert_eq!(accept(&vault, 0), Ok(()), "it was the oldest, but not expired");
}

#[test]
fn the_capacity_of_a_vault_is_exact() {
    let vault = MemoryVault::new(20_001);
    for number in 0..40_000 {
        assert!(put(&vault, number));
        assert_eq!(vault.len(), 20_001.min(number as usize + 1));
    }
    assert!((19_999..40_000).all(|number| accept(&vault, number).is_ok()), "the newest");
    assert_eq!(vault.len(), 0);
}

#[test]
fn a_vault_without_room_refuses_secrets() {
    let vault = MemoryVault::new(0);
    assert!(!put(&vault, 1));
    assert_eq!(accept(&vault, 1), Err(Absence::Unknown));
    vault.burn(&handle(1));
    assert_eq!(vault.purge(NOW), 0);
}

#[test]
fn a_key_that_is_too_long_is_refused() {
    let vault = MemoryVault::new(10);
    let put_long = |number: u32, more: usize| {
        let key = vec![7; OneTimeSecret::MAX_KEY_LEN + more].into();
        put_until(&vault, number, OneTimeSecret { key, ..secret(1) }, NOW + LIFETIME, None)
    };
    assert_eq!([put_long(0, 0), put_long(1, 1), put_long(2, 5000)], [true, false, false]);
}

fn remembering(tombstones: usize) -> MemoryVault {
    MemoryVault::with_limits(Limits { tombstones, ..Limits::new(10) })
}

#[test]
fn a_memory_vault_keeps_its_limits() {
    contract::capacity_is_a_bound(&MemoryVault::new(100), 100);
    let limits = Limits { per_client: 7, ..Limits::new(1000) };
    contract::clients_have_a_limit_each(&MemoryVault::with_limits(limits), 7);
    contract::the_nameless_leave_room(&MemoryVault::new(100), 100);
    for capacity in [16, 17, 40, 100, 1000] {
        contract::who_holds_less_keeps_it(&MemoryVault::new(capacity), capacity);
    }
}

/// The test fills it as an engine does, with the form that it asks for. The bytes are bounded, and the number
/// of secrets is unchanged.
#[test]
fn a_vault_whose_bytes_are_used_up_asks_for_seeds() {
    let vault = MemoryVault::with_limits(Limits { expanded_bytes: 20_000, ..Limits::new(50) });
    let hybrid = |form| OneTimeSecret {
        kind: NamedGroup::X25519MLKEM768,
        form,
        key: vec![7; if form == KeyForm::Expanded { 2432 } else { 96 }].into(),
        fs_secret: Secret::filled_by(32, |_| ()),
    };
    let put_next = |number| {
        let form = vault.key_form();
        assert!(put_until(&vault, number, hybrid(form), NOW + LIFETIME, None), "{number}");
        form
    };
    let forms: Vec<_> = (0..60).map(put_next).collect();
    // 2,472 bytes each: the ninth exceeds the limit. In the end ten old ones were evicted, the expanded ones
    // first.
    assert!(forms[..9].iter().all(|form| *form == KeyForm::Expanded), "{forms:?}");
    assert!(forms[9..50].iter().all(|form| *form == KeyForm::Seed), "{forms:?}");
    assert!(forms[51..].contains(&KeyForm::Expanded), "what is gone makes room");
    assert_eq!(vault.len(), 50);
    // Expanded keys not asked for are taken up to an eighth more, and then refused.
    let more = (100..110).filter(|number| {
        put_until(&vault, *number, hybrid(KeyForm::Expanded), NOW + LIFETIME, None)
    });
    assert!(more.count() < 2);
    assert!(put(&vault, 200), "one that is short");
    let none = MemoryVault::with_limits(Limits { expanded_bytes: 0, ..Limits::new(50) });
    assert_eq!(none.key_form(), KeyForm::Seed);
}

#[test]
fn a_secret_that_ends_makes_room_for_its_client() {
    let vault = MemoryVault::with_limits(Limits { per_client: 2, ..Limits::new(4) });
    let alice: Option<&[u8]> = Some(b"alice");
    assert!(put_for(&vault, 0, alice) && put_for(&vault, 1, alice));
    assert!(!put_for(&vault, 2, alice));
    vault.burn(&handle(0));
    assert!(put_for(&vault, 2, alice) && !put_for(&vault, 3, alice));
    // Evicted for a client that has less.
    assert!(put(&vault, 10) && put(&vault, 11) && put_for(&vault, 12, Some(b"bob")));
    assert_eq!(accept(&vault, 1), Err(Absence::Unknown));
    assert_eq!(accept(&vault, 10), Ok(()));
    assert!(put_for(&vault, 3, alice) && !put_for(&vault, 4, alice));
    // Expired.
    assert_eq!(purge_for_an_hour(&vault, NOW), 4);
    assert!(put_for(&vault, 4, alice) && put_for(&vault, 5, alice));
}

/// Named clients don't push all others out either, and each side may use what the other leaves.
#[test]
fn clients_with_a_name_leave_room_for_those_without() {
    let vault = MemoryVault::new(100);
    let put_named = |number: u32| put_for(&vault, number, Some(&number.to_be_bytes()));
    assert!((1000..1200).all(|number| put(&vault, number)));
    assert_eq!(vault.len(), 100);
    assert!((0..200).all(put_named));
    assert_eq!(vault.len(), 100);
    let left = (1000..1200).filter(|number| accept(&vault, *number).is_ok());
    assert_eq!(left.collect::<Vec<_>>(), (1125..1200).collect::<Vec<_>>());
    let left = (0..200).filter(|number| accept(&vault, *number).is_ok());
    assert_eq!(left.count(), 25);
    assert!((200..400).all(put_named));
    assert_eq!(vault.len(), 100, "there is no other client");
}

/// A secret that expired a moment ago by a wrong clock is neither returned nor destroyed.
#[test]
fn a_clock_that_jumps_ahead_does_not_empty_a_vault() {
    let vault = MemoryVault::new(1000);
    assert!((0..500).all(|number| put(&vault, number)));
    let later = NOW + LIFETIME * 10;
    for number in 0..100 {
        assert!(put_until(&vault, 1000 + number, secret(1), later + LIFETIME, None));
        assert_eq!(take(&vault, number, TakePurpose::Accept, Some(later)), Err(Absence::Unknown));
    }
    assert_eq!(vault.purge(later), 0);
    assert!((100..500).all(|number| accept(&vault, number).is_ok()), "the clock is right again");
}

/// Advances a correct clock by an hour; returns how many were purged.
fn purge_for_an_hour(vault: &MemoryVault, from: Duration) -> usize {
    (0..=60).map(|minute| vault.purge(from + LIFETIME * minute / 60)).sum()
}

#[test]
fn the_tombstones_of_a_vault_are_bounded() {
    let vault = remembering(4);
    for number in 0..10 {
        assert!(put(&vault, number));
    }
    for number in 0..10 {
        assert_eq!(accept(&vault, number), Ok(()));
    }
    for number in 0..6 {
        assert_eq!(accept(&vault, number), Err(Absence::Unknown));
    }
    for number in 6..10 {
        assert_eq!(accept(&vault, number), Err(Absence::Used));
    }
    let forgetful = remembering(0);
    assert!(put(&forgetful, 1));
    assert_eq!(accept(&forgetful, 1), Ok(()));
    assert_eq!(accept(&forgetful, 1), Err(Absence::Unknown));
}

#[test]
fn a_purge_destroys_expired_secrets() {
    let vault = MemoryVault::new(100_000);
    for number in 0..1000 {
        let lifetime = if number % 2 == 0 { LIFETIME } else { LIFETIME * 2 };
        assert!(put_until(&vault, number, secret(number), NOW + lifetime, None));
    }
    assert_eq!(vault.purge(NOW), 0);
    assert_eq!(purge_for_an_hour(&vault, NOW), 500);
    assert_eq!(vault.len(), 500);
    assert_eq!(purge_for_an_hour(&vault, NOW + LIFETIME), 500);
    assert!(vault.is_empty());
}

/// More than are looked at under one lock.
#[test]
fn a_purge_destroys_the_expired_of_very_many_secrets() {
    let vault = MemoryVault::new(200_000);
    for number in 0..100_000 {
        assert!(put_until(&vault, number, secret(number), NOW + LIFETIME, None));
    }
    assert_eq!(purge_for_an_hour(&vault, NOW), 100_000);
}

#[test]
fn a_vault_without_a_clock_uses_its_last_reading() {
    let vault = MemoryVault::new(10);
    assert!(put(&vault, 1));
    assert!(put(&vault, 2));
    assert_eq!(take(&vault, 1, TakePurpose::Accept, None), Ok(()));
    assert_eq!(take(&vault, 9, TakePurpose::Accept, Some(NOW + LIFETIME)), Err(Absence::Unknown));
    assert_eq!(take(&vault, 2, TakePurpose::Accept, None), Err(Absence::Unknown));
    // Even without a sweep in between.
    let vault = MemoryVault::new(100_000);
    assert!((0..1000).all(|number| put(&vault, number)));
    assert!(take(&vault, 1000, TakePurpose::Accept, Some(NOW + LIFETIME)).is_err());
    for number in 0..1000 {
        assert_eq!(take(&vault, number, TakePurpose::Accept, None), Err(Absence::Unknown));
    }
}

#[test]
fn a_vault_gives_each_secret_once_to_many_threads() {
    let vault = MemoryVault::new(1000);
    let taken: usize = race(16, |thread| {
        let thread = thread as u32;
        let mut taken = 0;
        for round in 0..500 {
            assert!(put(&vault, thread * 500 + round));
            // Mostly other threads' ids, and each id is wanted by several.
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
