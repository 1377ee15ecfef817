//! Eviction in a full vault: never from a named client for one that holds more.

use tessera::resume::Vault;
use tessera_vault::contract::{accept, put, put_for};
use tessera_vault::{Limits, MemoryVault};

/// Takes `numbers`, and returns how many were still there.
fn left(vault: &MemoryVault, numbers: std::ops::Range<u32>) -> usize {
    numbers.filter(|number| accept(vault, *number).is_ok()).count()
}

/// Puts as much as possible for one client after the other; `None` is a client without a name.
fn flood(vault: &MemoryVault, attackers: &[Option<u8>], puts: u32) {
    for (round, number) in (10_000_000..10_000_000 + puts).enumerate() {
        let attacker = attackers[round % attackers.len()].map(|name| [b'a', name]);
        put_for(vault, number, attacker.as_ref().map(|name| &name[..]));
    }
}

/// Quiet clients hold a fifth of the room in a vault filled by clients without a name.
#[test]
fn a_few_greedy_clients_evict_nothing_of_many_quiet_ones() {
    for (capacity, quiet) in [(10_000, 2000), (200, 40), (100, 20)] {
        for attackers in 1..=5_u8 {
            let vault = MemoryVault::with_limits(Limits::new(capacity));
            (0..capacity as u32).for_each(|number| assert!(put(&vault, number)));
            for number in 1_000_000..1_000_000 + quiet {
                assert!(put_for(&vault, number, Some(&number.to_be_bytes())));
            }
            let mut names: Vec<_> = (0..attackers).map(Some).collect();
            flood(&vault, &names, 3 * capacity as u32);
            names.push(None);
            flood(&vault, &names, 3 * capacity as u32);
            assert_eq!(vault.len(), capacity);
            let left = left(&vault, 1_000_000..1_000_000 + quiet);
            assert_eq!(left, quiet as usize, "{attackers} attackers, {capacity} secrets");
        }
    }
}

/// At every capacity, with every number of attackers: a client that lost anything holds, up to the last
/// secret, no less than the attacker.
#[test]
fn no_client_evicts_what_a_client_with_a_name_has_that_holds_less() {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below
    };
    for capacity in (1..150).chain([255, 256, 511, 512, 513, 700]) {
        let attackers: Vec<_> = (0..1 + random(5) as u8).map(Some).collect();
        let attackers = if random(2) == 0 { attackers } else { [vec![None], attackers].concat() };
        let limits = Limits { per_client: capacity, ..Limits::new(capacity) };
        let vault = MemoryVault::with_limits(limits);
        // Client n has numbers from n * 1000 on.
        let quiet: Vec<_> = (0..1 + random(6) as u32)
            .map(|client| {
                let has = 1 + random(1 + capacity as u64 / 4) as u32;
                let put = |number| put_for(&vault, client * 1000 + number, Some(&[client as u8]));
                (0..has).filter(|number| put(*number)).count() as u32
            })
            .collect();
        flood(&vault, &attackers, capacity as u32 * 4);
        let flood = 10_000_000..10_000_000 + capacity as u32 * 4;
        let mut held = vec![0; attackers.len()];
        for (round, number) in flood.enumerate() {
            held[round % attackers.len()] += usize::from(accept(&vault, number).is_ok());
        }
        let named = attackers.iter().zip(&held).filter(|(name, _)| name.is_some());
        let most = named.map(|(_, held)| *held).max().unwrap_or(0);
        for (client, has) in (0..).zip(quiet) {
            let first = client * 1000;
            let left = left(&vault, first..first + has);
            let lost_nothing = left == has as usize;
            assert!(lost_nothing || left + 1 >= most, "{capacity}: {left} of {has}, but {most}");
        }
    }
}
