//! The shard against a simple model, and what types promise about wiping.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use tessera::resume::{FlightHandle, TakePurpose};
use zeroize::ZeroizeOnDrop;

use super::{Content, EncodedSecret, Fate, Incoming, Shard, Slot};
use crate::memory::clients::ClientCounts;

const MAX_LIVE: usize = 20;
const NAMED: usize = 5;
const MAX_TOMBSTONES: usize = 10;

/// Secrets with these numbers are of clients that have a name.
fn has_name(number: u8) -> bool {
    number.is_multiple_of(4)
}

/// The same rules, written as simply as they can be. When expired secrets go, the shard decides.
#[derive(Default)]
struct Model {
    live: Vec<(u8, u32)>,
    gone: VecDeque<(u8, Fate)>,
}

impl Model {
    /// Forgets what had expired and the shard has swept.
    fn follow(&mut self, shard: &Shard, now: u32) {
        self.live.retain(|entry| entry.1 > now || is_there(shard, entry));
    }

    /// Nothing else went.
    fn check(&self, shard: &Shard) {
        assert!(self.live.iter().all(|entry| is_there(shard, entry)), "one went before its time");
    }

    /// The oldest goes of those that have more than their share, if there are as many as there may be.
    fn evict(&mut self, for_number: u8) {
        if self.live.len() < MAX_LIVE {
            return;
        }
        let named = self.live.iter().filter(|(number, _)| has_name(*number)).count();
        let named_go = if has_name(for_number) { named >= NAMED } else { named > NAMED };
        let goes = self.live.iter().position(|(number, _)| has_name(*number) == named_go);
        self.live.remove(goes.unwrap());
    }

    fn fate(&self, number: u8) -> Option<Fate> {
        self.gone.iter().find(|(gone, _)| *gone == number).map(|(_, fate)| *fate)
    }

    fn position(&self, number: u8) -> Option<usize> {
        self.live.iter().position(|(live, _)| *live == number)
    }

    fn put(&mut self, number: u8, expires_at: u32) -> bool {
        if self.position(number).is_some() || self.fate(number).is_some() {
            return false;
        }
        self.evict(number);
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

fn is_there(shard: &Shard, (number, expires_at): &(u8, u32)) -> bool {
    shard.slots.iter().any(|slot| {
        slot.handle == handle(*number)
            && slot.expires_at == *expires_at
            && matches!(slot.content, Content::Secret(_))
    })
}

fn handle(number: u8) -> FlightHandle {
    FlightHandle([number; 32])
}

fn stored(number: u8) -> EncodedSecret {
    EncodedSecret::new(Box::new([number; 40]))
}

#[test]
fn a_shard_of_a_memory_vault_does_what_its_model_does() {
    let hashing = RandomState::new();
    let mut shard = shard(MAX_LIVE, MAX_TOMBSTONES);
    let mut model = Model::default();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below
    };
    for step in 0..100_000_u32 {
        let number = random(64) as u8;
        let handle = handle(number);
        let entry = (&handle, hashing.hash_one(handle));
        // Goes forward, and sometimes back or far ahead.
        let now = match random(1000) {
            0 => step * 2,
            1 => step / 2,
            _ => step,
        };
        shard.sweep(now, &hashing);
        model.follow(&shard, now);
        model.check(&shard);
        match random(8) {
            0..=3 => {
                let expires_at = now + 1 + random(200) as u32;
                let kept = put(&mut shard, number, expires_at, now, &hashing);
                // The shard has swept once more.
                model.follow(&shard, now);
                assert_eq!(kept, model.put(number, expires_at));
            }
            4 => {
                shard.burn(entry, &hashing);
                let _ = model.take(number, Fate::Burned, 0);
            }
            purpose => {
                let (purpose, then) = match purpose {
                    5 => (TakePurpose::Accept, Fate::Used),
                    _ => (TakePurpose::Burn, Fate::Burned),
                };
                let taken = shard.take(entry, purpose, now, &hashing);
                let taken = taken.map(|taken| assert_eq!(*taken, *stored(number)));
                assert_eq!(taken, model.take(number, then, now));
            }
        }
        assert_eq!(shard.live.len(), model.live.len());
        assert_eq!(shard.tombstones.len(), model.gone.len());
        model.check(&shard);
        check(&mut shard, &model);
    }
}

fn shard(max_live: usize, max_tombstones: usize) -> Shard {
    Shard::new(max_live, max_tombstones, Arc::new(ClientCounts::new(max_live, max_live)))
}

fn put(shard: &mut Shard, number: u8, expires_at: u32, now: u32, hashing: &RandomState) -> bool {
    let handle = handle(number);
    let client = [number];
    let account = shard.clients.account(has_name(number).then_some(&client[..]));
    let hash = hashing.hash_one(handle);
    let new = Incoming { handle: &handle, hash, stored: stored(number), expires_at, account };
    shard.put(new, now, hashing)
}

/// The lists, the index and the slots say the same.
fn check(shard: &mut Shard, model: &Model) {
    let entries = shard.live.len() + shard.tombstones.len();
    assert_eq!(shard.index.len(), entries);
    assert_eq!(shard.slots.len(), entries + shard.free.len());
    assert!(shard.slots.len() <= MAX_LIVE + MAX_TOMBSTONES + 1);
    let secrets = shard.slots.iter().filter(|slot| matches!(slot.content, Content::Secret(_)));
    assert_eq!(secrets.count(), model.live.len(), "a secret stayed where none should be");
    for (named, oldest) in [false, true].into_iter().zip(shard.live.oldest()) {
        let mut next = oldest;
        for (number, _) in model.live.iter().filter(|(number, _)| has_name(*number) == named) {
            let slot = next.unwrap();
            assert_eq!(shard.slots[slot as usize].handle, handle(*number));
            next = super::List::after(&mut shard.slots, slot);
        }
        assert!(next.is_none());
    }
}

/// 200 secrets, the first to come the last to expire: number n at 1000 - n.
fn living_long() -> (Shard, RandomState) {
    let hashing = RandomState::new();
    let mut shard = shard(1000, 0);
    for number in 0..200 {
        assert!(put(&mut shard, number, 1000 - u32::from(number), 0, &hashing));
    }
    (shard, hashing)
}

#[test]
fn a_purge_finds_expired_secrets_behind_those_that_live_longer() {
    let (mut shard, hashing) = living_long();
    assert_eq!(shard.purge(900, &hashing), 100);
    assert_eq!(shard.purge(900, &hashing), 0);
    assert_eq!(shard.purge(u32::MAX, &hashing), 100);
    assert_eq!(shard.len(), 0);
}

#[test]
fn sweeping_finds_expired_secrets_behind_those_that_live_longer() {
    let (mut shard, hashing) = living_long();
    for _ in 0..200 / super::SWEPT {
        shard.sweep(900, &hashing);
    }
    assert_eq!(shard.len(), 100);
}

/// Freed memory can't be read in safe code; but what holds a secret says in its type that it wipes
/// it, and slots, which move, hold none themselves.
#[test]
fn the_type_of_a_stored_secret_wipes_it() {
    fn wipes<T: ZeroizeOnDrop>() {}
    wipes::<EncodedSecret>();
    assert_eq!(size_of::<Slot>(), 64);
}
