//! What the deadlines of many associations cost, in a B-tree, as `tessera-endpoint` has them, and in a timer wheel:
//! `timers [ASSOCIATIONS [ROUNDS]]`. See ../README.md.

use std::collections::BTreeSet;
use std::env;
use std::time::Duration;

use allocation_counter::measure;
use tessera_datagram_bench::Cost;

fn main() {
    let mut numbers = env::args().skip(1).map_while(|argument| argument.parse::<usize>().ok());
    let (count, rounds) = (numbers.next().unwrap_or(100_000), numbers.next().unwrap_or(31));
    let mut results: [Vec<[f64; 3]>; 2] = Default::default();
    for round in 0..rounds as u64 {
        results[0].push(run::<Tree>(count, round));
        results[1].push(run::<Wheel>(count, round));
    }
    println!("{:<10} {:>14} {:>14} {:>10}", "", "replaced, ns", "expired, ns", "bytes");
    for (name, rounds) in ["B-tree", "wheel"].into_iter().zip(&results) {
        let [replaced, expired, bytes] = [0, 1, 2].map(|at| {
            let mut samples: Vec<_> = rounds.iter().map(|round| round[at]).collect();
            samples.sort_unstable_by(f64::total_cmp);
            samples[samples.len() / 2]
        });
        println!("{name:<10} {replaced:>14.1} {expired:>14.1} {bytes:>10.0}");
    }
    println!("\nMedians of {rounds} rounds in turn, {count} deadlines each, for one deadline.");
}

/// Returns what it takes to replace a deadline, to let one expire, and to keep one.
fn run<T: Timers>(count: usize, seed: u64) -> [f64; 3] {
    let mut random = seed.wrapping_mul(2).wrapping_add(1);
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let deadline = |from: Duration, random: u64| from + Duration::from_micros(random % 2_000_000);
    let mut deadlines = vec![Duration::ZERO; count];
    let mut timers = None;
    let held = measure(|| {
        let timers = timers.insert(T::new(count));
        for (id, at) in deadlines.iter_mut().enumerate() {
            *at = deadline(Duration::ZERO, next());
            timers.set(id, None, Some(*at));
        }
    });
    let Some(mut timers) = timers else { unreachable!() };
    let changes: Vec<_> =
        (0..count).map(|_| (next() as usize % count, deadline(Duration::ZERO, next()))).collect();
    let mut replacing = Duration::ZERO;
    Cost::time(&mut replacing, || {
        for (id, at) in changes {
            timers.set(id, Some(deadlines[id]), Some(at));
            deadlines[id] = at;
        }
    });
    let mut expiring = Duration::ZERO;
    let mut expired = 0;
    Cost::time(&mut expiring, || {
        for millis in 0..=2_000 {
            let now = Duration::from_millis(millis);
            while let Some(id) = timers.due(now) {
                timers.set(id, Some(deadlines[id]), None);
                expired += 1;
            }
        }
    });
    assert_eq!(expired, count);
    let nanos = |time: Duration| time.as_nanos() as f64 / count as f64;
    [nanos(replacing), nanos(expiring), held.bytes_current as f64 / count as f64]
}

trait Timers {
    fn new(count: usize) -> Self;
    fn set(&mut self, id: usize, earlier: Option<Duration>, now: Option<Duration>);
    fn due(&mut self, now: Duration) -> Option<usize>;
}

/// `crates/tessera-endpoint/src/timers.rs`.
#[derive(Default)]
struct Tree(BTreeSet<(Duration, u64)>);

impl Timers for Tree {
    fn new(_: usize) -> Self {
        Self::default()
    }

    fn set(&mut self, id: usize, earlier: Option<Duration>, now: Option<Duration>) {
        if let Some(earlier) = earlier {
            self.0.remove(&(earlier, id as u64));
        }
        if let Some(now) = now {
            self.0.insert((now, id as u64));
        }
    }

    fn due(&mut self, now: Duration) -> Option<usize> {
        self.0.first().filter(|(at, _)| *at <= now).map(|(_, id)| *id as usize)
    }
}

/// The simplest wheel: a list for each millisecond of a turn, and each association's place in its list. It has no levels,
/// and no first deadline, which an endpoint must report.
struct Wheel {
    slots: Vec<Vec<u32>>,
    places: Vec<u32>,
    at: usize,
}

impl Timers for Wheel {
    fn new(count: usize) -> Self {
        Self { slots: vec![Vec::new(); SLOTS], places: vec![0; count], at: 0 }
    }

    fn set(&mut self, id: usize, earlier: Option<Duration>, now: Option<Duration>) {
        if let Some(earlier) = earlier {
            let slot = &mut self.slots[slot_of(earlier)];
            let place = self.places[id];
            slot.swap_remove(place as usize);
            if let Some(moved) = slot.get(place as usize) {
                self.places[*moved as usize] = place;
            }
        }
        if let Some(now) = now {
            let slot = &mut self.slots[slot_of(now)];
            self.places[id] = slot.len() as u32;
            slot.push(id as u32);
        }
    }

    fn due(&mut self, now: Duration) -> Option<usize> {
        let until = now.as_millis() as usize;
        while self.at < until && self.slots[self.at % SLOTS].is_empty() {
            self.at += 1;
        }
        self.slots[self.at % SLOTS].last().map(|id| *id as usize)
    }
}

/// Rounded up: none expires early.
fn slot_of(at: Duration) -> usize {
    at.as_micros().div_ceil(1000) as usize % SLOTS
}

const SLOTS: usize = 4096;
