//! The shard against a simple model, and what types promise about wiping.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use tessera::resume::{Absent, TakePurpose, TicketId};
use zeroize::ZeroizeOnDrop;

use super::{Content, Shard, Slot, Stored};

const MAX_LIVE: usize = 20;
const MAX_TOMBSTONES: usize = 10;

/// The same rules, written as simply as they can be.
#[derive(Default)]
struct Model {
    live: Vec<(u8, u64)>,
    gone: VecDeque<(u8, Absent)>,
}

impl Model {
    fn sweep(&mut self, now: u64) {
        let mut seen = 0;
        self.live.retain(|(_, expires_at)| {
            seen += 1;
            seen > super::SWEPT || *expires_at > now
        });
    }

    fn fate(&self, id: u8) -> Option<Absent> {
        self.gone.iter().find(|(gone, _)| *gone == id).map(|(_, why)| *why)
    }

    fn position(&self, id: u8) -> Option<usize> {
        self.live.iter().position(|(live, _)| *live == id)
    }

    fn put(&mut self, id: u8, expires_at: u64, now: u64) -> bool {
        if self.position(id).is_some() || self.fate(id).is_some() {
            return false;
        }
        self.sweep(now);
        if self.live.len() == MAX_LIVE {
            self.live.remove(0);
        }
        self.live.push((id, expires_at));
        true
    }

    fn take(&mut self, id: u8, why: Absent, now: u64) -> Result<(), Absent> {
        if let Some(fate) = self.fate(id) {
            return Err(fate);
        }
        let (_, expires_at) = self.live.remove(self.position(id).ok_or(Absent::Unknown)?);
        if expires_at <= now {
            return Err(Absent::Unknown);
        }
        self.gone.push_back((id, why));
        if self.gone.len() > MAX_TOMBSTONES {
            self.gone.pop_front();
        }
        Ok(())
    }
}

fn id(number: u8) -> TicketId {
    [number; 32]
}

fn stored(number: u8) -> Stored {
    Stored::new(Box::new([number; 40]))
}

#[test]
fn a_shard_does_what_the_model_does() {
    let hashing = RandomState::new();
    let mut shard = Shard::new(MAX_LIVE, MAX_TOMBSTONES);
    let mut model = Model::default();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) % below
    };
    for step in 0..100_000_u64 {
        let number = random(64) as u8;
        let id = id(number);
        let entry = (&id, hashing.hash_one(id));
        // Goes forward, and sometimes back or far ahead.
        let now = match random(1000) {
            0 => step * 2,
            1 => step / 2,
            _ => step,
        };
        match random(8) {
            0..=3 => {
                let expires_at = now + 1 + random(200);
                let kept = shard.put(entry, stored(number), expires_at, now, &hashing);
                assert_eq!(kept, model.put(number, expires_at, now));
            }
            4 => {
                shard.burn(entry, &hashing);
                let _ = model.take(number, Absent::Burned, 0);
            }
            5 => {
                shard.sweep(now, &hashing);
                model.sweep(now);
            }
            purpose => {
                let (purpose, why) = match purpose {
                    6 => (TakePurpose::Accept, Absent::Used),
                    _ => (TakePurpose::Burn, Absent::Burned),
                };
                let taken = shard.take(entry, purpose, now, &hashing);
                let taken = taken.map(|taken| assert_eq!(*taken, *stored(number)));
                assert_eq!(taken, model.take(number, why, now));
            }
        }
        assert_eq!(shard.live.len(), model.live.len());
        assert_eq!(shard.tombstones.len(), model.gone.len());
        check(&mut shard, &model);
    }
}

/// The lists, the index and the slots say the same.
fn check(shard: &mut Shard, model: &Model) {
    let entries = shard.live.len() + shard.tombstones.len();
    assert_eq!(shard.index.len(), entries);
    assert_eq!(shard.slots.len(), entries + shard.free.len());
    assert!(shard.slots.len() <= MAX_LIVE + MAX_TOMBSTONES + 1);
    let secrets = shard.slots.iter().filter(|slot| matches!(slot.content, Content::Secret { .. }));
    assert_eq!(secrets.count(), model.live.len(), "a secret stayed where none should be");
    let mut next = shard.live.oldest();
    for (number, _) in &model.live {
        let slot = next.unwrap();
        assert_eq!(shard.slots[slot as usize].id, id(*number));
        next = super::List::after(&mut shard.slots, slot);
    }
    assert!(next.is_none());
}

#[test]
fn purge_sees_behind_secrets_that_live_longer() {
    let hashing = RandomState::new();
    let mut shard = Shard::new(1000, 0);
    let expiries: HashMap<u8, u64> = (0..200).map(|n| (n, 1000 - u64::from(n))).collect();
    for number in 0..200 {
        let id = id(number);
        let entry = (&id, hashing.hash_one(id));
        assert!(shard.put(entry, stored(number), expiries[&number], 0, &hashing));
    }
    assert_eq!(shard.sweep(900, &hashing), 0);
    assert_eq!(shard.purge(900, &hashing), 100);
    assert_eq!(shard.purge(900, &hashing), 0);
    assert_eq!(shard.purge(u64::MAX, &hashing), 100);
    assert_eq!(shard.len(), 0);
}

/// Freed memory can't be read in safe code; but what holds a secret says in its type that it wipes
/// it, and slots, which move, hold none themselves.
#[test]
fn secrets_are_wiped_by_their_type() {
    fn wipes<T: ZeroizeOnDrop>() {}
    wipes::<Stored>();
    assert_eq!(size_of::<Slot>(), 64);
}
