//! When a packet leaves the link, or that it does not.
//!
//! This is one direction of a link without its packets' input and output and without a clock:
//! times are handed in, as durations since any fixed point. So every decision can be tested with
//! exact times, and repeats exactly.

use std::collections::VecDeque;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::{End, LinkParameters};

/// How many packets one direction holds at most, whatever its parameters: a bound on memory (some
/// 100 MB at the default mtu), far above what TCP keeps in flight on any link worth emulating.
const MOST_HELD: usize = 65_536;

const NANOSECONDS: u128 = 1_000_000_000;

/// What became of the packets of one direction since the link was last set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectionStatistics {
    /// Packets that arrived at the link.
    pub offered_packets: u64,
    /// Bytes that arrived at the link, IP headers included.
    pub offered_bytes: u64,
    /// Packets that left the link.
    pub delivered_packets: u64,
    /// Bytes that left the link, IP headers included.
    pub delivered_bytes: u64,
    /// Packets dropped by the loss that was asked for.
    pub lost: u64,
    /// Packets dropped because they found the queue full.
    pub overflowed: u64,
    /// Packets that the receiving end's kernel refused.
    pub refused: u64,
    /// How long after they were due all delivered packets together left the link: how exact the
    /// emulation was, which depends on how busy the machine is.
    pub late_total: Duration,
    /// How long after it was due the latest packet left the link.
    pub late_most: Duration,
}

/// What the scheduler does with a packet that is offered to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is held, and leaves at this time.
    Held(Duration),
    /// It is lost, as the parameters ask.
    Lost,
    /// It found no room.
    Overflowed,
}

struct Held<P> {
    due: Duration,
    bytes: usize,
    /// The setting of the link under which the packet came, so that packets of an earlier one do
    /// not count as delivered in the statistics of the present one.
    setting: u64,
    packet: P,
}

/// One direction of a link.
pub(super) struct Scheduler<P> {
    towards: End,
    parameters: LinkParameters,
    random: Xoshiro256PlusPlus,
    /// The packets in flight, by the time they are due.
    held: VecDeque<Held<P>>,
    /// When the last bit of the last packet is on the wire; matters only with a limited rate.
    wire_free: Duration,
    /// When the packet leaves that leaves last so far.
    last_due: Duration,
    setting: u64,
    statistics: DirectionStatistics,
}

impl<P> Scheduler<P> {
    /// The direction that ends at `towards`.
    pub(super) fn new(parameters: &LinkParameters, towards: End) -> Self {
        Self {
            towards,
            parameters: parameters.clone(),
            random: stream(parameters.seed, towards),
            held: VecDeque::new(),
            wire_free: Duration::ZERO,
            last_due: Duration::ZERO,
            setting: 0,
            statistics: DirectionStatistics::default(),
        }
    }

    /// Starts over with other parameters (or the same): random numbers begin again at the seed and
    /// statistics at zero. Packets in flight stay, and leave when it was said they would; later
    /// ones do not overtake them unless reordering is allowed.
    pub(super) fn set(&mut self, parameters: &LinkParameters) {
        self.parameters = parameters.clone();
        self.random = stream(parameters.seed, self.towards);
        self.wire_free = Duration::ZERO;
        self.setting += 1;
        self.statistics = DirectionStatistics::default();
    }

    /// Takes in a packet that arrived at `now`.
    pub(super) fn offer(&mut self, now: Duration, bytes: usize, packet: P) -> Verdict {
        self.statistics.offered_packets += 1;
        self.statistics.offered_bytes += bytes as u64;

        // Both numbers are drawn for every packet, needed or not: so which packets are lost
        // depends on the seed and the loss alone, not on the jitter, the rate or the queue.
        let loss_draw = self.random.next_u64();
        let jitter_draw = self.random.next_u64();

        if unit(loss_draw) < self.parameters.loss {
            self.statistics.lost += 1;
            return Verdict::Lost;
        }
        let Some(sent) = self.serialise(now, bytes) else {
            self.statistics.overflowed += 1;
            return Verdict::Overflowed;
        };

        let mut due = sent + self.parameters.rtt / 2 + share(self.parameters.jitter, jitter_draw);
        if !self.parameters.reordering {
            due = due.max(self.last_due);
        }
        self.last_due = self.last_due.max(due);
        // Without reordering this is always the end. Packets due at once stay in order.
        let place = self.held.partition_point(|held| held.due <= due);
        self.held.insert(place, Held { due, bytes, setting: self.setting, packet });
        Verdict::Held(due)
    }

    /// When the next packet is due, if one is in flight.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.held.front().map(|held| held.due)
    }

    /// Takes out the next packet that is due at `now` or was before.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<P> {
        if self.next_due()? > now {
            return None;
        }
        let held = self.held.pop_front()?;
        if held.setting == self.setting {
            self.statistics.delivered_packets += 1;
            self.statistics.delivered_bytes += held.bytes as u64;
            let late = now - held.due;
            self.statistics.late_total += late;
            self.statistics.late_most = self.statistics.late_most.max(late);
        }
        Some(held.packet)
    }

    /// Counts that the receiving end refused a packet just taken out.
    pub(super) fn refused(&mut self) {
        self.statistics.refused += 1;
    }

    /// What became of the packets since the last [`Scheduler::set`].
    pub(super) fn statistics(&self) -> DirectionStatistics {
        self.statistics
    }

    /// Puts a packet on the wire after those before it, and says when its last bit is on it; or
    /// that there is no room.
    fn serialise(&mut self, now: Duration, bytes: usize) -> Option<Duration> {
        if self.held.len() >= MOST_HELD {
            return None;
        }
        let Some(rate) = self.parameters.rate else {
            return Some(now);
        };
        let waiting = self.wire_free.saturating_sub(now);
        let waiting_bytes = waiting.as_nanos() * u128::from(rate) / (8 * NANOSECONDS);
        // An idle link takes any packet, or a queue smaller than the mtu would carry nothing.
        if !waiting.is_zero() && waiting_bytes + bytes as u128 > self.parameters.queue as u128 {
            return None;
        }
        let nanoseconds = bytes as u128 * 8 * NANOSECONDS / u128::from(rate);
        let on_wire = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
        self.wire_free = now.max(self.wire_free) + on_wire;
        Some(self.wire_free)
    }
}

/// The random numbers of one direction. The two directions share the seed, so they take parts of
/// its sequence that never meet; otherwise both would lose the same packets.
fn stream(seed: u64, towards: End) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    if towards == End::Client {
        random.jump();
    }
    random
}

/// A random number from 0 up to, and never, 1.
fn unit(draw: u64) -> f64 {
    // 53 bits are what the type can tell apart in this range.
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// A random share of `whole`.
fn share(whole: Duration, draw: u64) -> Duration {
    let nanoseconds = (whole.as_nanos() * u128::from(draw)) >> 64;
    // Never more than the whole, which parameters bound far below what fits.
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn verdicts(parameters: &LinkParameters, towards: End, packets: u32) -> Vec<Verdict> {
        let mut scheduler = Scheduler::new(parameters, towards);
        (0..packets).map(|i| scheduler.offer(MS * i, 1000, ())).collect()
    }

    fn losses(verdicts: &[Verdict]) -> Vec<bool> {
        verdicts.iter().map(|v| *v == Verdict::Lost).collect()
    }

    #[test]
    fn a_packet_is_held_for_half_the_round_trip() {
        let parameters = LinkParameters { rtt: 33 * MS, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        let due = 100 * MS + Duration::from_micros(16_500);
        assert_eq!(scheduler.offer(100 * MS, 40, 'a'), Verdict::Held(due));
        assert_eq!(scheduler.next_due(), Some(due));
        assert_eq!(scheduler.take_due(due - Duration::from_nanos(1)), None);
        assert_eq!(scheduler.take_due(due + MS / 10), Some('a'));
        assert_eq!(scheduler.next_due(), None);
        let statistics = scheduler.statistics();
        assert_eq!((statistics.late_total, statistics.late_most), (MS / 10, MS / 10));
    }

    #[test]
    fn without_delay_a_packet_is_due_at_once_and_in_order() {
        let mut scheduler = Scheduler::new(&LinkParameters::default(), End::Server);
        for packet in 0..10 {
            assert_eq!(scheduler.offer(MS, 40, packet), Verdict::Held(MS));
        }
        let left: Vec<_> = std::iter::from_fn(|| scheduler.take_due(MS)).collect();
        assert_eq!(left, Vec::from_iter(0..10));
    }

    #[test]
    fn the_same_seed_repeats_every_decision() {
        let parameters = LinkParameters {
            rtt: 10 * MS,
            jitter: 3 * MS,
            loss: 0.2,
            seed: 42,
            ..LinkParameters::default()
        };
        let first = verdicts(&parameters, End::Server, 2000);
        assert_eq!(first, verdicts(&parameters, End::Server, 2000));

        let other = LinkParameters { seed: 43, ..parameters.clone() };
        assert_ne!(losses(&first), losses(&verdicts(&other, End::Server, 2000)));
        assert_ne!(losses(&first), losses(&verdicts(&parameters, End::Client, 2000)));
    }

    #[test]
    fn the_decisions_of_a_seed_are_pinned() {
        // Results published with a seed have to repeat with later versions too.
        let parameters = LinkParameters { loss: 0.5, seed: 1, ..LinkParameters::default() };
        let pattern = |towards| -> String {
            let lost = losses(&verdicts(&parameters, towards, 32));
            lost.iter().map(|lost| if *lost { 'x' } else { '.' }).collect()
        };
        assert_eq!(pattern(End::Server), ".xx.x.xx..xxxx....x.xx..x.xxxxx.");
        assert_eq!(pattern(End::Client), ".........x.xxxxx.xx....x..xxx..x");
    }

    #[test]
    fn setting_the_link_again_repeats_the_same_losses() {
        let parameters = LinkParameters { loss: 0.3, seed: 9, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        let mut run = |start: u32| -> Vec<bool> {
            scheduler.set(&parameters);
            let run = (start..start + 500).map(|i| scheduler.offer(MS * i, 40, ()));
            losses(&run.collect::<Vec<_>>())
        };
        assert_eq!(run(0), run(777));
    }

    #[test]
    fn losses_do_not_depend_on_other_parameters() {
        let plain = LinkParameters { loss: 0.1, seed: 5, ..LinkParameters::default() };
        let busy = LinkParameters { rtt: 33 * MS, jitter: 5 * MS, ..plain.clone() };
        assert_eq!(
            losses(&verdicts(&plain, End::Client, 1000)),
            losses(&verdicts(&busy, End::Client, 1000))
        );
    }

    #[test]
    fn loss_is_about_as_frequent_as_asked() {
        let count = |loss| {
            let parameters = LinkParameters { loss, seed: 3, ..LinkParameters::default() };
            losses(&verdicts(&parameters, End::Server, 10_000)).iter().filter(|l| **l).count()
        };
        assert_eq!(count(0.0), 0);
        assert_eq!(count(1.0), 10_000);
        // Six standard deviations: the seed is fixed, so this cannot flicker.
        assert!((1820..2180).contains(&count(0.2)), "{}", count(0.2));
    }

    #[test]
    fn jitter_adds_up_to_itself_and_keeps_the_order() {
        let parameters =
            LinkParameters { rtt: 20 * MS, jitter: 4 * MS, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        let mut latest = Duration::ZERO;
        let mut held = Vec::new();
        for i in 0..1000 {
            let now = MS * i;
            let Verdict::Held(due) = scheduler.offer(now, 40, i) else { panic!("not held") };
            assert!(due >= latest, "overtaken");
            assert!(due >= now + 10 * MS && due < now + 14 * MS, "{:?}", due - now);
            latest = due;
            held.push(due - now);
        }
        assert!(held.iter().max().unwrap().abs_diff(*held.iter().min().unwrap()) > 3 * MS);
        let left: Vec<_> = std::iter::from_fn(|| scheduler.take_due(latest)).collect();
        assert_eq!(left, Vec::from_iter(0..1000));
    }

    #[test]
    fn reordering_happens_only_when_allowed() {
        let parameters =
            LinkParameters { jitter: 4 * MS, reordering: true, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        let mut dues = Vec::new();
        for i in 0..100_u32 {
            let Verdict::Held(due) = scheduler.offer(MS * i, 40, i) else { panic!("not held") };
            dues.push((due, i));
        }
        let left: Vec<_> = std::iter::from_fn(|| scheduler.take_due(MS * 200)).collect();
        assert_ne!(left, Vec::from_iter(0..100));
        dues.sort();
        assert_eq!(left, Vec::from_iter(dues.into_iter().map(|(_, i)| i)));
    }

    #[test]
    fn a_limited_rate_spaces_packets() {
        // 1000 bytes at 8 Mbit/s take one millisecond.
        let parameters =
            LinkParameters { rtt: 10 * MS, rate: Some(8_000_000), ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        for i in 1..=3 {
            assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Verdict::Held((5 + i) * MS));
        }
        // A packet that comes when the wire is still busy for half a millisecond waits for it.
        let now = Duration::from_micros(2500);
        assert_eq!(scheduler.offer(now, 1000, ()), Verdict::Held(9 * MS));
        // One that finds the wire idle does not: unused time is not saved up.
        assert_eq!(scheduler.offer(50 * MS, 500, ()), Verdict::Held(55 * MS + MS / 2));
    }

    #[test]
    fn a_full_queue_drops_and_drains() {
        let parameters =
            LinkParameters { rate: Some(8_000_000), queue: 3000, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        for _ in 0..3 {
            assert!(matches!(scheduler.offer(Duration::ZERO, 1000, ()), Verdict::Held(_)));
        }
        assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Verdict::Overflowed);
        assert_eq!(scheduler.offer(MS / 2, 1000, ()), Verdict::Overflowed);
        assert_eq!(scheduler.offer(MS, 1000, ()), Verdict::Held(4 * MS));
        let statistics = scheduler.statistics();
        assert_eq!((statistics.offered_packets, statistics.overflowed), (6, 2));
    }

    #[test]
    fn a_queue_smaller_than_a_packet_still_carries_one_at_a_time() {
        let parameters =
            LinkParameters { rate: Some(8_000_000), queue: 0, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Verdict::Held(MS));
        assert_eq!(scheduler.offer(Duration::ZERO, 1000, ()), Verdict::Overflowed);
        assert_eq!(scheduler.offer(MS, 1000, ()), Verdict::Held(2 * MS));
    }

    #[test]
    fn memory_is_bounded_without_a_rate_too() {
        let parameters = LinkParameters { rtt: 33 * MS, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&parameters, End::Server);
        for _ in 0..MOST_HELD {
            assert!(matches!(scheduler.offer(Duration::ZERO, 40, ()), Verdict::Held(_)));
        }
        assert_eq!(scheduler.offer(Duration::ZERO, 40, ()), Verdict::Overflowed);
    }

    #[test]
    fn statistics_count_only_the_present_setting() {
        let slow = LinkParameters { rtt: 20 * MS, ..LinkParameters::default() };
        let mut scheduler = Scheduler::new(&slow, End::Server);
        scheduler.offer(Duration::ZERO, 100, 'a');
        scheduler.set(&LinkParameters::default());
        // The new packet is due at once, but does not overtake the one in flight.
        assert_eq!(scheduler.offer(MS, 50, 'b'), Verdict::Held(10 * MS));
        assert_eq!(scheduler.take_due(10 * MS), Some('a'));
        assert_eq!(scheduler.take_due(10 * MS), Some('b'));
        let statistics = scheduler.statistics();
        assert_eq!((statistics.offered_packets, statistics.offered_bytes), (1, 50));
        assert_eq!((statistics.delivered_packets, statistics.delivered_bytes), (1, 50));
    }
}
