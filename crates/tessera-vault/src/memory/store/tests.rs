//! The store against a simple model, and what types guarantee about wiping.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use tessera::resume::{FlightHandle, TakePurpose};
use zeroize::ZeroizeOnDrop;

use super::{Content, EncodedSecret, Fate, Incoming, Slot, Store};
use crate::memory::Limits;
use crate::memory::accounts::ClientHash;

const MAX_LIVE: usize = 20;
/// How many are for clients without a name.
const NAMELESS: usize = 15;
const PER_CLIENT: usize = 7;
const MAX_TOMBSTONES: usize = 10;

/// Returns the client of a secret. Half of all secrets belong to named clients: one has many, some have
/// few. All hashes are equal in the bits that tables use first.
fn client(number: u8) -> Option<ClientHash> {
    let client = match number % 16 {
        0..=3 => 0,
        4 | 5 => 1,
        6 => 2,
        7 => 3 + u64::from(number / 16),
        _ => return None,
    };
    Some(ClientHash(client << 32))
}

/// The same rules in their simplest form. The store decides when expired secrets go.
#[derive(Default)]
struct Model {
    live: Vec<(u8, u32)>,
    gone: VecDeque<(u8, Fate)>,
}

impl Model {
    /// Forgets secrets that had expired and that the store has swept.
    fn follow(&mut self, store: &Store, now: u32) {
        self.live.retain(|entry| entry.1 > now || is_there(store, entry));
    }

    /// Checks that nothing else is gone.
    fn check(&self, store: &Store) {
        assert!(self.live.iter().all(|entry| is_there(store, entry)), "one went before its time");
    }

    fn held_by(&self, client: Option<ClientHash>) -> usize {
        self.live.iter().filter(|(number, _)| self::client(*number) == client).count()
    }

    /// Makes room if there is none: the client that has most loses its oldest; `store` breaks ties. `false`
    /// if nothing can be evicted.
    fn evict(&mut self, for_number: u8, store: &Store) -> bool {
        if self.live.len() < MAX_LIVE {
            return true;
        }
        let named = self.live.iter().filter_map(|(number, _)| client(*number));
        let most = named.map(|client| self.held_by(Some(client))).max().unwrap_or(0);
        let (nameless, own) = (self.held_by(None), client(for_number));
        let has_most = |client| self.held_by(Some(client)) == most;
        let gives_way = |client: Option<ClientHash>| match (own, client) {
            (Some(_), None) => nameless > NAMELESS,
            (Some(own), Some(client)) if has_most(own) => nameless <= NAMELESS && client == own,
            (Some(_), Some(client)) => nameless <= NAMELESS && has_most(client),
            (None, None) => nameless >= NAMELESS || most <= nameless,
            (None, Some(client)) => nameless < NAMELESS && most > nameless && has_most(client),
        };
        let Some(goes) = self.live.iter().position(|entry| !is_there(store, entry)) else {
            return !self.live.iter().any(|(number, _)| gives_way(client(*number)));
        };
        let loser = client(self.live[goes].0);
        assert!(gives_way(loser), "{loser:?} had to give way to {own:?}");
        let oldest = self.live.iter().position(|(number, _)| client(*number) == loser);
        assert_eq!(oldest, Some(goes));
        self.live.remove(goes);
        true
    }

    fn fate(&self, number: u8) -> Option<Fate> {
        self.gone.iter().find(|(gone, _)| *gone == number).map(|(_, fate)| *fate)
    }

    fn position(&self, number: u8) -> Option<usize> {
        self.live.iter().position(|(live, _)| *live == number)
    }

    fn put(&mut self, number: u8, expires_at: u32, store: &Store) -> bool {
        let has_enough = client(number).is_some_and(|it| self.held_by(Some(it)) >= PER_CLIENT);
        if self.position(number).is_some() || self.fate(number).is_some() || has_enough {
            return false;
        }
        if !self.evict(number, store) {
            return false;
        }
        self.live.push((number, expires_at));
        true
    }

    fn take(&mut self, number: u8, then: Fate, now: u32) -> Result<(), Fate> {
        if let Some(fate) = self.fate(number) {
            return Err(fate);
        }
        let (_, expires_at) = self.live.remove(self.position(number).ok_or(Fate::Unknown)?);
        if expires_at <= now {
            return Err(Fate::Unknown);
        }
        self.gone.push_back((number, then));
        if self.gone.len() > MAX_TOMBSTONES {
            self.gone.pop_front();
        }
        Ok(())
    }
}

fn is_there(store: &Store, (number, expires_at): &(u8, u32)) -> bool {
    store.slots.iter().any(|slot| {
        slot.handle == handle(*number)
            && slot.expires_at == *expires_at
            && matches!(slot.content, Content::Secret(_))
    })
}

fn handle(number: u8) -> FlightHandle {
    FlightHandle([number; 32])
}

/// Makes secrets, some of them long.
fn stored(number: u8) -> EncodedSecret {
    let len = if number.is_multiple_of(3) { 257 + usize::from(number) } else { 256 };
    EncodedSecret::from(vec![number; len])
}

fn limits(secrets: usize, tombstones: usize, per_client: usize) -> Limits {
    Limits { secrets, per_client, tombstones, expanded_bytes: 1 << 20 }
}

#[test]
fn the_store_of_a_memory_vault_does_what_its_model_does() {
    let hashing = RandomState::new();
    let mut store = store(MAX_LIVE, MAX_TOMBSTONES);
    let mut model = Model::default();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below
    };
    for step in 0..50_000_u32 {
        let number = random(64) as u8;
        let handle = handle(number);
        let entry = (&handle, hashing.hash_one(handle));
        // Mostly forward, sometimes back or far ahead.
        let now = match random(1000) {
            0 => step * 2,
            1 => step / 2,
            _ => step,
        };
        store.sweep(now, &hashing);
        model.follow(&store, now);
        model.check(&store);
        match random(8) {
            0..=3 => {
                let expires_at = now + 1 + random(200) as u32;
                let kept = put(&mut store, number, expires_at, now, &hashing);
                // The store has swept again.
                model.follow(&store, now);
                assert_eq!(kept, model.put(number, expires_at, &store));
            }
            4 => {
                store.burn(entry, &hashing);
                let _ = model.take(number, Fate::Burned, 0);
            }
            purpose => {
                let (purpose, then) = match purpose {
                    5 => (TakePurpose::Accept, Fate::Used),
                    _ => (TakePurpose::Burn, Fate::Burned),
                };
                let taken = store.take(entry, purpose, now, &hashing);
                let taken = taken.map(|taken| assert_eq!(*taken, *stored(number)));
                assert_eq!(taken, model.take(number, then, now));
            }
        }
        assert_eq!(store.live.len(), model.live.len());
        assert_eq!(store.tombstones.len(), model.gone.len());
        model.check(&store);
        check(&mut store, &model);
    }
}

fn store(max_live: usize, max_tombstones: usize) -> Store {
    Store::new(limits(max_live, max_tombstones, PER_CLIENT))
}

fn put(store: &mut Store, number: u8, expires_at: u32, now: u32, hashing: &RandomState) -> bool {
    let handle = handle(number);
    let (hash, client) = (hashing.hash_one(handle), client(number));
    let new = Incoming { handle: &handle, hash, stored: stored(number), expires_at, client };
    store.put(new, now, hashing)
}

/// Checks that lists, index and slots agree.
fn check(store: &mut Store, model: &Model) {
    let entries = store.live.len() + store.tombstones.len();
    assert_eq!(store.index.len(), entries);
    assert_eq!(store.slots.len(), entries + store.free.len());
    assert!(store.slots.len() <= MAX_LIVE + MAX_TOMBSTONES + 1);
    let secrets = store.slots.iter().filter(|slot| matches!(slot.content, Content::Secret(_)));
    assert_eq!(secrets.count(), model.live.len(), "a secret stayed where none should be");
    let lens = model.live.iter().map(|(number, _)| stored(*number).len());
    assert_eq!(store.long_bytes, lens.filter(|len| *len > super::LONG).sum());
    let mut lists = 0;
    for (oldest, _) in store.live.oldest_of_each().collect::<Vec<_>>() {
        let first = store.slots[oldest as usize].handle.0[0];
        let mut next = Some(oldest);
        for (number, _) in model.live.iter().filter(|entry| client(entry.0) == client(first)) {
            let slot = next.unwrap();
            assert_eq!(store.slots[slot as usize].handle, handle(*number));
            next = super::List::after(&mut store.slots, slot);
        }
        assert!(next.is_none());
        lists += 1;
    }
    let clients: HashSet<_> =
        model.live.iter().map(|entry| client(entry.0).map(|it| it.0)).collect();
    assert_eq!(lists, clients.len(), "each client has one list");
}

/// Makes 200 secrets that expire in reverse order of arrival: number n at 1000 - n.
fn living_long() -> (Store, RandomState) {
    let hashing = RandomState::new();
    let mut store = Store::new(limits(1000, 0, 1000));
    for number in 0..200 {
        assert!(put(&mut store, number, 1000 - u32::from(number), 0, &hashing));
    }
    (store, hashing)
}

#[test]
fn a_purge_finds_expired_secrets_behind_those_that_live_longer() {
    let (mut store, hashing) = living_long();
    assert_eq!(store.purge(0, 900, &hashing), None, "it was the last");
    assert_eq!(store.len(), 100);
    assert_eq!(store.purge(0, u32::MAX, &hashing), None);
    assert_eq!(store.len(), 0);
}

/// Long secrets are bounded in bytes, by the limit and an eighth; short secrets are not.
#[test]
fn long_secrets_fill_an_eighth_more_than_the_limit_to_the_last_byte() {
    let hashing = RandomState::new();
    let long: Vec<u8> =
        (0..=u8::MAX).filter(|it| stored(*it).len() > super::LONG).take(10).collect();
    let room: usize = long[..9].iter().map(|it| stored(*it).len()).sum();
    assert!(room.is_multiple_of(9), "the limit is a whole number of bytes");
    let mut store = Store::new(Limits { expanded_bytes: room / 9 * 8, ..limits(1000, 10, 1000) });
    let kept = long.iter().filter(|it| put(&mut store, **it, 1000, 0, &hashing)).count();
    assert_eq!((kept, store.long_bytes), (9, room));
}

#[test]
fn long_secrets_have_a_limit_in_bytes() {
    let hashing = RandomState::new();
    let long = stored(0).len();
    let bounded = |expanded_bytes| Store::new(Limits { expanded_bytes, ..limits(1000, 10, 1000) });
    let mut store = bounded(8 * long);
    let numbers = || (0..=u8::MAX).filter(|number| stored(*number).len() > super::LONG);
    let mut kept = Vec::new();
    for number in numbers() {
        let had_room = store.has_room_for_expanded();
        if put(&mut store, number, 1000, 0, &hashing) {
            kept.push(number);
        } else {
            assert!(!had_room || store.long_bytes + stored(number).len() > 9 * long);
        }
        assert!(store.long_bytes <= 9 * long);
    }
    assert!((7..=9).contains(&kept.len()) && !store.has_room_for_expanded(), "{}", kept.len());
    assert!(put(&mut store, 1, 1000, 0, &hashing), "a short one");
    // Removal makes room, however it happens.
    for number in kept {
        let handle = handle(number);
        let entry = (&handle, hashing.hash_one(handle));
        match number % 2 {
            0 => store.burn(entry, &hashing),
            _ => drop(store.take(entry, TakePurpose::Accept, 1, &hashing)),
        }
    }
    assert_eq!((store.long_bytes, store.len()), (0, 1));
    let mut none = bounded(0);
    assert!(!none.has_room_for_expanded());
    assert!(!put(&mut none, 0, 1000, 0, &hashing));
    assert!(put(&mut none, 1, 1000, 0, &hashing));
    let mut closed = bounded(1 << 20);
    assert!(put(&mut closed, 0, 1000, 0, &hashing));
    assert_eq!(closed.close(&hashing).len(), 1);
    assert_eq!(closed.long_bytes, 0);
}

#[test]
fn sweeping_finds_expired_secrets_behind_those_that_live_longer() {
    let (mut store, hashing) = living_long();
    for _ in 0..200 / super::SWEPT {
        store.sweep(900, &hashing);
    }
    assert_eq!(store.len(), 100);
}

/// Safe code can't read freed memory, but the type that holds a secret guarantees that it wipes it, and
/// slots, which move, hold none themselves.
#[test]
fn the_type_of_a_stored_secret_wipes_it() {
    fn wipes<T: ZeroizeOnDrop>() {}
    wipes::<EncodedSecret>();
    assert_eq!(size_of::<Slot>(), 64);
}
