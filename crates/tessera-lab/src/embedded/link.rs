//! The time of a handshake as a model: a client of a certain speed, a server that computes in no time, and TCP over a link.
//!
//! - A step begins when its end has finished the one before, and the bytes that it reads have arrived: an end works while
//!   more of a flight is on its way.
//! - TCP's own handshake is left out, as the thesis leaves it out. Nothing is lost. Each segment has 40 bytes of headers
//!   (IPv4, TCP), and is acknowledged when it arrives; acknowledgements take half a round trip, and none of the rate.
//! - Slow start (RFC 5681 §3.1) from the initial window of RFC 6928 §2: as many bytes more as are acknowledged.
//! - The bytes of a step are sent at once, in segments of their own (TCP_NODELAY).

use std::collections::VecDeque;

use super::suites::{Side, Suite};

/// How many cycles an instruction takes.
pub(crate) const CYCLES: f64 = 1.2;

/// The client's speed, at 150 MHz.
pub(crate) const INSTRUCTIONS_A_SECOND: f64 = 150e6 / CYCLES;

/// Headers of IPv4 and TCP.
const HEADERS: u32 = 40;

/// A link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Link {
    pub(crate) rtt_ms: f64,
    pub(crate) bits_a_second: f64,
    pub(crate) mtu: u32,
}

/// That of the thesis, as far as it is known: Wi-Fi and a campus, a latency "under 10 ms".
pub(crate) const OF_THE_THESIS: Link = Link { rtt_ms: 10.0, bits_a_second: 20e6, mtu: 1500 };

impl Link {
    fn segment(&self) -> u32 {
        self.mtu - HEADERS
    }

    pub(crate) fn initial_window(&self) -> u32 {
        let segment = self.segment();
        (10 * segment).min((2 * segment).max(14_600))
    }
}

/// Returns the client's own time for some instructions, in milliseconds.
pub(crate) fn computing(instructions: u64) -> f64 {
    instructions as f64 / INSTRUCTIONS_A_SECOND * 1e3
}

/// Returns when first data may be sent, and when the server is authenticated, in milliseconds from the client's start.
pub(crate) fn times(suite: &Suite, link: &Link) -> [f64; 2] {
    let mut directions = [Direction::new(link), Direction::new(link)];
    let (mut free, mut read) = ([0.0_f64; 2], [0_u64; 2]);
    let mut ends = Vec::new();
    for step in &suite.steps {
        let (own, peer) = (step.side as usize, step.side.peer() as usize);
        read[own] += u64::from(step.read);
        let begin = free[own].max(directions[peer].arrival(read[own]));
        let works = if step.side == Side::Client { computing(step.instructions) } else { 0.0 };
        free[own] = begin + works;
        directions[own].send(free[own], step.sent);
        ends.push(free[own]);
    }
    suite.last_steps().map(|index| ends[index])
}

/// Bytes on their way from an end to the other.
struct Direction<'a> {
    link: &'a Link,
    window: u32,
    /// When the link has room for another segment.
    free: f64,
    /// Unacknowledged segments: when their acknowledgement arrives, and their bytes.
    in_flight: VecDeque<(f64, u32)>,
    /// When so many bytes in all have arrived.
    arrived: Vec<(u64, f64)>,
}

impl<'a> Direction<'a> {
    fn new(link: &'a Link) -> Self {
        let window = link.initial_window();
        Self { link, window, free: 0.0, in_flight: VecDeque::new(), arrived: Vec::new() }
    }

    /// Sends some bytes, which are there at this time.
    fn send(&mut self, at: f64, bytes: u32) {
        let mut left = bytes;
        while left > 0 {
            let length = left.min(self.link.segment());
            let begin = self.with_window(at.max(self.free), length);
            let bits = f64::from(length + HEADERS) * 8.0;
            self.free = begin + bits / self.link.bits_a_second * 1e3;
            let arrival = self.free + self.link.rtt_ms / 2.0;
            self.in_flight.push_back((arrival + self.link.rtt_ms / 2.0, length));
            let before = self.arrived.last().map_or(0, |(bytes, _)| *bytes);
            self.arrived.push((before + u64::from(length), arrival));
            left -= length;
        }
    }

    /// Returns when the window has room for so many bytes, from a time on.
    fn with_window(&mut self, mut at: f64, length: u32) -> f64 {
        loop {
            let acknowledged = self.in_flight.partition_point(|(then, _)| *then <= at);
            self.window +=
                self.in_flight.drain(..acknowledged).map(|(_, bytes)| bytes).sum::<u32>();
            let in_flight: u32 = self.in_flight.iter().map(|(_, bytes)| bytes).sum();
            match self.in_flight.front() {
                Some((next, _)) if in_flight + length > self.window => at = *next,
                _ => return at,
            }
        }
    }

    /// Returns when so many bytes in all have arrived, as far as they were sent.
    fn arrival(&self, bytes: u64) -> f64 {
        let place = self.arrived.partition_point(|(in_all, _)| *in_all < bytes);
        match self.arrived.get(place).or(self.arrived.last()) {
            Some((_, at)) if bytes > 0 => *at,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::suites::{ClientEnd, ServerEnd, Step, Work};
    use super::Side::{Client, Server};
    use super::*;

    /// A handshake of these steps, whose metrics end with these two.
    fn suite(steps: &[(Side, u32, u64, u32)], last: [usize; 2]) -> Suite {
        let step = |&(side, read, instructions, sent)| Step { side, read, instructions, sent };
        let work = Work { instructions: 0, exchange: 0, chain: 0, proof: 0, aead: 0 };
        let empty = String::new;
        Suite {
            key_exchange: empty(),
            ca: empty(),
            leaf: empty(),
            mode: empty(),
            chain: 0,
            client: ClientEnd { sent: 0, stack: 0, heap: 0 },
            server: ServerEnd { sent: 0 },
            first_data: work.clone(),
            explicit: work,
            steps: steps.iter().map(step).collect(),
            first_data_step: last[0],
            explicit_step: last[1],
        }
    }

    fn near(is: [f64; 2], expected: [f64; 2]) {
        let differ = is.iter().zip(expected).any(|(is, expected)| (is - expected).abs() > 1e-9);
        assert!(!differ, "{is:?}, not {expected:?}");
    }

    #[test]
    fn a_flight_each_way_takes_the_work_a_round_trip_and_the_serialisation() {
        // 1 ms; 460 bytes with headers at 1 Mbit/s are 3.68 ms; 5 ms there; at once 1,240 bytes, 9.92 ms; 5 ms back; 2 ms.
        let link = Link { rtt_ms: 10.0, bits_a_second: 1e6, mtu: 1500 };
        let steps = [
            (Client, 0, 125_000, 420),
            (Server, 420, 9_000_000, 1200),
            (Client, 1200, 250_000, 60),
        ];
        near(times(&suite(&steps, [2, 2]), &link), [1.0 + 3.68 + 5.0 + 9.92 + 5.0 + 2.0; 2]);
    }

    #[test]
    fn a_flight_above_the_initial_window_waits_for_an_acknowledgement() {
        // An MTU of 256: segments of 216 bytes, the first ten of which fill the window; 12.8 µs each at 160 Mbit/s. The first
        // is acknowledged 100 ms after it was sent, and lets two more go.
        let link = Link { rtt_ms: 100.0, bits_a_second: 160e6, mtu: 256 };
        let sent = 0.0128;
        let whole = |segments: u32| {
            let steps = [
                (Client, 0, 0, 10),
                (Server, 10, 0, 216 * segments),
                (Client, 216 * segments, 0, 0),
            ];
            times(&suite(&steps, [2, 2]), &link)[0]
        };
        let request = 50.0 * 8.0 / 160e3 + 50.0;
        assert_eq!(link.initial_window(), 2160);
        for (segments, at) in
            [(10, 10.0 * sent), (11, 100.0 + 2.0 * sent), (12, 100.0 + 3.0 * sent)]
        {
            near([whole(segments); 2], [request + at + 50.0; 2]);
        }
        // Ten acknowledgements double the window: 20 segments in the second round, and the next is in the third.
        near([whole(30); 2], [request + 100.0 + 21.0 * sent + 50.0; 2]);
        near([whole(31); 2], [request + 200.0 + 3.0 * sent + 50.0; 2]);
    }

    #[test]
    fn at_a_slow_rate_a_client_works_while_more_arrives() {
        // 20 kbit/s: 0.4 ms a byte. The ServerHello of 60 bytes arrives at 40 + 40 ms, and 460 bytes more take 200 ms; the
        // client's work on the first, of 50 ms, is done by then.
        let link = Link { rtt_ms: 0.0, bits_a_second: 20e3, mtu: 1500 };
        let steps = [
            (Client, 0, 0, 60),
            (Server, 60, 0, 60),
            (Server, 0, 0, 460),
            (Client, 60, 50 * 125_000, 0),
            (Client, 460, 125_000, 0),
        ];
        near(times(&suite(&steps, [3, 4]), &link), [40.0 + 40.0 + 50.0, 40.0 + 40.0 + 200.0 + 1.0]);
    }

    #[test]
    fn a_busy_client_reads_later_what_has_arrived() {
        // The same at 20 Mbit/s: what arrives meanwhile waits for the 50 ms.
        let link = Link { rtt_ms: 20.0, bits_a_second: 20e6, mtu: 1500 };
        let steps = [
            (Client, 0, 0, 460),
            (Server, 460, 0, 460),
            (Server, 0, 0, 960),
            (Client, 460, 50 * 125_000, 0),
            (Client, 960, 125_000, 0),
        ];
        near(times(&suite(&steps, [3, 4]), &link), [20.4 + 50.0, 20.4 + 50.0 + 1.0]);
    }

    #[test]
    fn the_initial_window_is_that_of_rfc_6928() {
        let of = |mtu| Link { mtu, ..OF_THE_THESIS }.initial_window();
        assert_eq!([of(256), of(1500), of(9000)], [2160, 14_600, 17_920]);
    }
}
