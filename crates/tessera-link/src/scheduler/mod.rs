//! Decides when a packet leaves the link, if it does.
//!
//! This is one direction of a link, without I/O and without a clock: callers pass times, as durations since any fixed
//! point. So every decision can be tested with exact times, and repeats exactly.

mod loss;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ops::Add;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use self::loss::Loss;
use crate::parameters::{End, LinkParameters};

/// The most packets that one direction holds, whatever its parameters: a bound on memory (some 100 MB at the default
/// mtu), far above what TCP keeps in flight on any link worth emulating.
const MOST_HELD: usize = 65_536;

const NANOSECONDS: u128 = 1_000_000_000;

/// Packet counts of one direction since the link was last set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectionStatistics {
    /// Packets that arrived at the link.
    pub offered_packets: u64,
    /// Bytes that arrived at the link, IP headers included.
    pub offered_bytes: u64,
    /// Packets that left the link, copies included.
    pub delivered_packets: u64,
    /// Bytes that left the link, IP headers and copies included.
    pub delivered_bytes: u64,
    /// SYNs that carried data (RFC 7413), lost ones included.
    pub syn_data_packets: u64,
    /// Packets dropped by the loss in the parameters.
    pub lost: u64,
    /// Packets dropped because the client's end was down.
    pub down: u64,
    /// Packets of which the link made a second copy.
    pub duplicated: u64,
    /// Packets that the client's NAT dropped.
    pub filtered: u64,
    /// Packets dropped because they found the queue full.
    pub overflowed: u64,
    /// Packets that the receiving end's kernel refused.
    pub refused: u64,
    /// The sum over all delivered packets of how late they left the link: how exact the emulation was, which depends on
    /// the load of the machine.
    pub late_total: Duration,
    /// How late the latest packet left the link.
    pub late_most: Duration,
}

impl Add for DirectionStatistics {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            offered_packets: self.offered_packets + other.offered_packets,
            offered_bytes: self.offered_bytes + other.offered_bytes,
            delivered_packets: self.delivered_packets + other.delivered_packets,
            delivered_bytes: self.delivered_bytes + other.delivered_bytes,
            syn_data_packets: self.syn_data_packets + other.syn_data_packets,
            lost: self.lost + other.lost,
            down: self.down + other.down,
            duplicated: self.duplicated + other.duplicated,
            filtered: self.filtered + other.filtered,
            overflowed: self.overflowed + other.overflowed,
            refused: self.refused + other.refused,
            late_total: self.late_total + other.late_total,
            late_most: self.late_most.max(other.late_most),
        }
    }
}

/// What becomes of a packet that was offered to a [`Scheduler`] or a [`VirtualLink`](crate::VirtualLink).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet is held, and leaves at this time.
    Held(Duration),
    /// The packet is lost, by the loss in the parameters.
    Lost,
    /// The packet is lost, since the client's end is down when it would leave it or reach it.
    Down,
    /// The client's NAT dropped the packet; a [`Scheduler`] has none.
    Filtered,
    /// No path belongs to the addresses of the packet; a [`Scheduler`] does not look at them.
    NoPath,
    /// The queue is full.
    Overflowed,
}

struct QueuedPacket<P> {
    due: Duration,
    bytes: usize,
    /// The setting of the link when the packet arrived: packets of an earlier setting do not count as delivered in the
    /// present statistics.
    setting: u64,
    packet: P,
}

/// One direction of a link, without I/O and without a clock: callers pass times, as durations since any fixed point.
///
/// The same seed repeats the same decisions, packet by packet; the two directions of a link share a seed.
/// [`Outages`](crate::Outages) are at the client's end, and count from time zero.
pub struct Scheduler<P> {
    towards: End,
    parameters: LinkParameters,
    random: Xoshiro256PlusPlus,
    /// Separate, so that the other random numbers are the same with congestion and without.
    congestion_random: Xoshiro256PlusPlus,
    /// Separate for the same reason.
    duplication_random: Xoshiro256PlusPlus,
    loss: Loss,
    /// The packets in flight, by the time they are due.
    held: VecDeque<QueuedPacket<P>>,
    /// When the last bit of the last packet is on the wire; matters only with a limited rate.
    wire_free: Duration,
    /// The latest departure time so far.
    last_due: Duration,
    /// When outages begin to count.
    began: Duration,
    /// Whether the client's end was set down.
    is_down: bool,
    setting: u64,
    statistics: DirectionStatistics,
}

impl<P: Clone> Scheduler<P> {
    /// Creates the direction that ends at `towards`. The parameters should be possible: [`Link::open`](crate::Link::open)
    /// refuses others.
    pub fn new(parameters: &LinkParameters, towards: End) -> Self {
        Self {
            towards,
            parameters: parameters.clone(),
            random: stream(parameters.seed, towards),
            congestion_random: congestion_stream(parameters.seed, towards),
            duplication_random: duplication_stream(parameters.seed, towards),
            loss: Loss::new(parameters),
            held: VecDeque::new(),
            wire_free: Duration::ZERO,
            last_due: Duration::ZERO,
            began: Duration::ZERO,
            is_down: false,
            setting: 0,
            statistics: DirectionStatistics::default(),
        }
    }

    /// Starts over with other parameters (or the same): random numbers restart from the seed, and statistics from zero.
    /// Packets in flight stay, and leave when due; later ones do not overtake them unless reordering is allowed. Outages
    /// count from `now`.
    pub(crate) fn set(&mut self, now: Duration, parameters: &LinkParameters) {
        self.parameters = parameters.clone();
        self.random = stream(parameters.seed, self.towards);
        self.congestion_random = congestion_stream(parameters.seed, self.towards);
        self.duplication_random = duplication_stream(parameters.seed, self.towards);
        self.loss = Loss::new(parameters);
        self.wire_free = Duration::ZERO;
        self.began = now;
        self.setting += 1;
        self.statistics = DirectionStatistics::default();
    }

    /// Sets the client's end down, or up again: meanwhile, packets that leave it or reach it are lost.
    pub fn set_down(&mut self, is_down: bool) {
        self.is_down = is_down;
    }

    /// Counts a SYN that carries data; returns whether it is lost for that. It is not offered then, so the random
    /// numbers of other packets stay the same.
    pub(crate) fn loses_syn_data(&mut self, bytes: usize) -> bool {
        self.statistics.syn_data_packets += 1;
        if self.parameters.syn_data_lost {
            self.statistics.offered_packets += 1;
            self.statistics.offered_bytes += bytes as u64;
            self.statistics.lost += 1;
        }
        self.parameters.syn_data_lost
    }

    /// Decides on a packet of this many bytes that arrived at `now`. The fate of a copy is not reported.
    pub fn offer(&mut self, now: Duration, bytes: usize, packet: P) -> Fate {
        self.statistics.offered_packets += 1;
        self.statistics.offered_bytes += bytes as u64;

        // All numbers are drawn for every packet, needed or not: which packets are lost depends only on the seed and
        // the loss, not on the jitter, the congestion, the rate, the queue, the copies or the outages.
        let loss_draw = self.random.next_u64();
        let delay_draws = [self.random.next_u64(), self.congestion_random.next_u64()];
        let copy_draw = self.duplication_random.next_u64();
        let copy_delay_draws = [(); 2].map(|()| self.duplication_random.next_u64());

        if self.loss.decide(unit(loss_draw)) {
            self.statistics.lost += 1;
            return Fate::Lost;
        }
        if self.towards == End::Server && (self.is_down || self.has_outage_at(now)) {
            self.statistics.down += 1;
            return Fate::Down;
        }
        let Some(sent) = self.serialise(now, bytes) else {
            self.statistics.overflowed += 1;
            return Fate::Overflowed;
        };
        let copy = (unit(copy_draw) < self.parameters.duplication).then(|| packet.clone());
        let fate = self.hold(sent, delay_draws, bytes, packet);
        if let Some(copy) = copy
            && self.held.len() < MOST_HELD
        {
            // The network makes it behind the wire, so it takes none of the rate.
            let copied = self.hold(sent, copy_delay_draws, bytes, copy);
            self.statistics.duplicated += u64::from(matches!(copied, Fate::Held(_)));
        }
        fate
    }

    /// Holds a packet that was on the wire at `sent` until it is due.
    fn hold(
        &mut self,
        sent: Duration,
        [jitter, congestion]: [u64; 2],
        bytes: usize,
        packet: P,
    ) -> Fate {
        let mut due = sent
            + self.parameters.rtt / 2
            + share(self.parameters.jitter, jitter)
            + exponential(self.parameters.mean_congestion(), congestion);
        if !self.parameters.reordering {
            due = due.max(self.last_due);
        }
        self.last_due = self.last_due.max(due);
        if self.towards == End::Client && self.has_outage_at(due) {
            self.statistics.down += 1;
            return Fate::Down;
        }
        // Without reordering this is always the end. Packets due at the same time stay in order.
        let place = self.held.partition_point(|held| held.due <= due);
        self.held.insert(place, QueuedPacket { due, bytes, setting: self.setting, packet });
        Fate::Held(due)
    }

    fn has_outage_at(&self, time: Duration) -> bool {
        let outages = self.parameters.outages;
        outages.is_some_and(|outages| outages.is_at(time.saturating_sub(self.began)))
    }

    /// Returns when the next packet is due, if one is in flight.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.held.front().map(|held| held.due)
    }

    /// Removes the next packet that is due at `now` or before.
    pub fn take_due(&mut self, now: Duration) -> Option<P> {
        self.take_admitted(now, |_| true)
    }

    /// As [`Self::take_due`], for the next packet that the client's NAT admits.
    pub(crate) fn take_admitted(
        &mut self,
        now: Duration,
        mut admit: impl FnMut(&mut P) -> bool,
    ) -> Option<P> {
        while self.next_due()? <= now {
            let QueuedPacket { due, bytes, setting, mut packet } = self.held.pop_front()?;
            let is_down = self.towards == End::Client && self.is_down;
            let is_admitted = !is_down && admit(&mut packet);
            if setting == self.setting {
                let statistics = &mut self.statistics;
                statistics.down += u64::from(is_down);
                statistics.filtered += u64::from(!is_down && !is_admitted);
                if is_admitted {
                    statistics.delivered_packets += 1;
                    statistics.delivered_bytes += bytes as u64;
                    let late = now - due;
                    statistics.late_total += late;
                    statistics.late_most = statistics.late_most.max(late);
                }
            }
            if is_admitted {
                return Some(packet);
            }
        }
        None
    }

    /// Counts a packet that the client's NAT did not let out. It is not offered then.
    pub(crate) fn filtered_on_offer(&mut self, bytes: usize) {
        self.statistics.offered_packets += 1;
        self.statistics.offered_bytes += bytes as u64;
        self.statistics.filtered += 1;
    }

    /// Counts that the receiving end refused a packet that was just taken.
    pub(crate) fn refused(&mut self) {
        self.statistics.refused += 1;
    }

    /// Returns the packet counts since it was created, or since its link was set.
    #[must_use]
    pub fn statistics(&self) -> DirectionStatistics {
        self.statistics
    }

    /// Puts a packet on the wire after those before it; returns when its last bit is on it, or `None` if there is no
    /// room.
    fn serialise(&mut self, now: Duration, bytes: usize) -> Option<Duration> {
        if self.held.len() >= MOST_HELD {
            return None;
        }
        let Some(rate) = self.parameters.rate else {
            return Some(now);
        };
        let waiting = self.wire_free.saturating_sub(now);
        let waiting_bytes = waiting.as_nanos() * u128::from(rate) / (8 * NANOSECONDS);
        // An idle link accepts any packet; otherwise a queue smaller than the mtu would carry nothing.
        if !waiting.is_zero() && waiting_bytes + bytes as u128 > self.parameters.queue as u128 {
            return None;
        }
        let nanoseconds = bytes as u128 * 8 * NANOSECONDS / u128::from(rate);
        let on_wire = Duration::from_nanos(u64::try_from(nanoseconds).ok()?);
        self.wire_free = now.max(self.wire_free) + on_wire;
        Some(self.wire_free)
    }
}

/// Returns the random numbers of one direction. The two directions share the seed, so they use disjoint parts of its
/// sequence; otherwise both would lose the same packets.
fn stream(seed: u64, towards: End) -> Xoshiro256PlusPlus {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    if towards == End::Client {
        random.jump();
    }
    random
}

/// Returns the random numbers for congestion, which no other sequence overlaps.
fn congestion_stream(seed: u64, towards: End) -> Xoshiro256PlusPlus {
    let mut random = stream(seed, towards);
    random.long_jump();
    random
}

/// Returns the random numbers for copies, which no other sequence overlaps.
fn duplication_stream(seed: u64, towards: End) -> Xoshiro256PlusPlus {
    let mut random = congestion_stream(seed, towards);
    random.long_jump();
    random
}

/// Returns a random number in [0, 1).
fn unit(draw: u64) -> f64 {
    // The type resolves 53 bits in this range.
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a random share of `whole`.
fn share(whole: Duration, draw: u64) -> Duration {
    let nanoseconds = (whole.as_nanos() * u128::from(draw)) >> 64;
    // Never more than `whole`, which validation keeps far below the limit.
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// Draws a time from the exponential distribution with this mean.
fn exponential(mean: Duration, draw: u64) -> Duration {
    // By the inverse of the distribution; at most 37 times the mean, since `unit` is never 1.
    mean.mul_f64(-(1.0 - unit(draw)).ln())
}
