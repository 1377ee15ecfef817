//! What a run measured: a sample, made of what its client reported and its network counted.

use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client::ClientEvent;
use super::scenario::HandOver;
use super::sequence::SequenceDatagram;

/// What a run left. Moments are since the client began.
pub(super) struct Recording {
    pub(super) events: Vec<ClientEvent>,
    pub(super) hand_overs: Vec<HandOver>,
    pub(super) datagrams: Datagrams,
    /// The first of them, if they were seen one by one.
    pub(super) sequence: Vec<SequenceDatagram>,
    pub(super) traffic: Traffic,
    /// Processor time of the client, and of the server.
    pub(super) cpu: [Duration; 2],
    /// The most sockets of the server at once, and the most ports.
    pub(super) server_sockets: [u32; 2],
    /// Why it ended early, if it did.
    pub(super) failure: Option<String>,
}

/// What is known of a run's datagrams.
pub(super) enum Datagrams {
    /// All of them, in the order in which they were sent.
    Each(Vec<DatagramNote>),
    /// What was counted when only messages went to and fro any more, and at the first hand-over.
    Counted {
        counts: Option<(Counts, Counts)>,
        /// Whether the transport acknowledges messages, in datagrams of its own.
        are_acknowledged: bool,
    },
}

/// What was counted in each direction, to the server first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts(pub(super) [Direction; 2]);

/// What was counted in a direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Direction {
    pub(super) datagrams: u64,
    /// Of IP.
    pub(super) bytes: u64,
    /// How many of them have a message, or its acknowledgement.
    pub(super) data: u64,
}

/// A datagram that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct DatagramNote {
    pub(super) at: Duration,
    pub(super) is_to_server: bool,
    /// Whether it has a message, or its acknowledgement.
    pub(super) is_data: bool,
    /// Without the headers of UDP and IP.
    pub(super) len: usize,
}

/// What was sent in both directions, and lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traffic {
    pub(crate) datagrams: u64,
    /// With the headers of UDP and IP.
    pub(crate) bytes: u64,
    pub(crate) lost: u64,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// How many messages were acknowledged.
    pub(crate) acks: u32,
    /// Why it ended before all were, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
    /// From the first message to the last acknowledgement, in µs.
    pub(crate) time_us: u64,
    pub(crate) setup: Setup,
    pub(crate) recoveries: Vec<Recovery>,
    pub(crate) traffic: Traffic,
    pub(crate) client_cpu_us: u64,
    pub(crate) server_cpu_us: u64,
    /// How many sockets the client used.
    pub(crate) client_sockets: u32,
    /// The most sockets of the server at once, and the most ports.
    pub(crate) server_sockets: [u32; 2],
}

/// What the first handshake cost, and what belongs to it before the first hand-over: tickets, connection IDs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setup {
    pub(crate) handshake_us: u64,
    pub(crate) datagrams: u64,
    /// With the headers of UDP and IP.
    pub(crate) bytes: u64,
}

/// How a client went on after a hand-over. Times are in µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recovery {
    /// From a usable path to the first new acknowledgement.
    pub(crate) all_us: u64,
    /// Of that, until the client sends the message, or begins the handshake, that leads to it.
    pub(crate) detection_us: u64,
    /// Of that, the handshake.
    pub(crate) keys_us: u64,
    /// From the first record over the usable path, or that missed a server that restarted, to the acknowledgement.
    pub(crate) from_record_us: u64,
    /// How many datagrams without data were sent meanwhile, and how long the longest was.
    pub(crate) others: u32,
    pub(crate) longest_other: u32,
}

impl Recovery {
    /// Of all the time, what is left for the message and its acknowledgement.
    pub(crate) fn drain_us(&self) -> u64 {
        self.all_us.saturating_sub(self.detection_us + self.keys_us)
    }
}

/// The headers of IPv4 and UDP, in bytes.
const HEADERS: u64 = 20 + 8;

impl Recording {
    /// Returns what it measured.
    pub(super) fn sample(&self) -> Sample {
        let acks = self.events.iter().filter(|it| matches!(it, ClientEvent::Ack { .. })).count();
        let of = |is_it: fn(&ClientEvent) -> bool| move |it: &&ClientEvent| is_it(it);
        let first_sent = self.events.iter().find(of(|it| matches!(it, ClientEvent::Sent { .. })));
        let last_ack = self.events.iter().rfind(of(|it| matches!(it, ClientEvent::Ack { .. })));
        let time = first_sent.zip(last_ack);
        let is_socket = |it: &&ClientEvent| matches!(it, ClientEvent::Socket { .. });
        let us = |time: Duration| time.as_micros() as u64;
        Sample {
            acks: acks as u32,
            failure: self.failure.clone(),
            time_us: time.map_or(0, |(first, last)| (last.at() - first.at()) / 1000),
            setup: self.setup(),
            recoveries: self.hand_overs().filter_map(|it| self.recovery(it)).collect(),
            traffic: self.traffic,
            client_cpu_us: us(self.cpu[0]),
            server_cpu_us: us(self.cpu[1]),
            client_sockets: self.events.iter().filter(is_socket).count() as u32,
            server_sockets: self.server_sockets,
        }
    }

    /// Returns the hand-overs of an association: those after the first handshake.
    fn hand_overs(&self) -> impl Iterator<Item = &HandOver> {
        let first = self.first_handshake_end().unwrap_or(u64::MAX);
        self.hand_overs.iter().filter(move |it| it.at.as_nanos() as u64 >= first)
    }

    fn first_handshake_end(&self) -> Option<u64> {
        self.events.iter().find_map(|it| match it {
            ClientEvent::HandshakeEnd { at } => Some(*at),
            _ => None,
        })
    }

    fn setup(&self) -> Setup {
        let begin = self.events.iter().find_map(|it| match it {
            ClientEvent::HandshakeBegin { at } => Some(*at),
            _ => None,
        });
        let end = self.first_handshake_end();
        let (datagrams, bytes) = match &self.datagrams {
            Datagrams::Each(all) => {
                let until = self.hand_overs.first().map_or(Duration::MAX, |it| it.at);
                let others = all.iter().filter(|it| !it.is_data && it.at < until);
                let bytes = others.clone().map(|it| it.len as u64 + HEADERS).sum();
                (others.count() as u64, bytes)
            }
            Datagrams::Counted { counts: Some((early, all)), are_acknowledged: false } => {
                without_data(early, all)
            }
            Datagrams::Counted { counts: Some((early, all)), are_acknowledged: true } => {
                without_messages(early, all)
            }
            Datagrams::Counted { counts: None, .. } => (0, 0),
        };
        let handshake_us = begin.zip(end).map_or(0, |(begin, end)| (end - begin) / 1000);
        Setup { handshake_us, datagrams, bytes }
    }

    /// Returns the datagrams of a time that were seen one by one, with those that the client sends.
    fn within(&self, from: u64, until: u64) -> impl Iterator<Item = &DatagramNote> {
        let each = match &self.datagrams {
            Datagrams::Each(each) => &each[..],
            Datagrams::Counted { .. } => &[],
        };
        each.iter().filter(move |it| (from..until).contains(&(it.at.as_nanos() as u64)))
    }

    /// Returns how the client went on; `None` if it didn't within the run.
    fn recovery(&self, hand_over: &HandOver) -> Option<Recovery> {
        let [usable, first_sent] =
            [hand_over.usable, hand_over.first_sent].map(|moment| moment.as_nanos() as u64);
        let after = || self.events.iter().filter(|it| it.at() >= usable);
        // The first acknowledgement of a message that was sent over the new path.
        let mut sent = Vec::new();
        let (ack, acked) = after().find_map(|it| match it {
            ClientEvent::Sent { message, .. } => {
                sent.push(*message);
                None
            }
            ClientEvent::Ack { at, message } => sent.contains(message).then_some((*at, *message)),
            _ => None,
        })?;
        let handshake = self.handshake_before(ack, hand_over.at.as_nanos() as u64);
        let mut last_sent = after().filter(|it| it.at() <= ack).filter_map(|it| match it {
            ClientEvent::Sent { at, message } => (*message == acked).then_some(*at),
            _ => None,
        });
        let (begun, keys) = match handshake {
            Some((begin, end)) => (begin.max(usable), end.saturating_sub(begin.max(usable))),
            None => (last_sent.next_back()?, 0),
        };
        let first_datagram = self.within(first_sent, ack).find(|it| it.is_to_server);
        let first = first_datagram.map(|it| it.at.as_nanos() as u64).or_else(|| {
            self.events.iter().filter(|it| it.at() >= first_sent).find_map(|it| match it {
                ClientEvent::Sent { at, .. } | ClientEvent::HandshakeBegin { at } => Some(*at),
                _ => None,
            })
        })?;
        let others = || self.within(usable, ack).filter(|it| !it.is_data).map(|it| it.len as u32);
        Some(Recovery {
            all_us: (ack - usable) / 1000,
            detection_us: (begun - usable) / 1000,
            keys_us: keys / 1000,
            from_record_us: (ack - first) / 1000,
            others: others().count() as u32,
            longest_other: others().max().unwrap_or(0),
        })
    }

    /// Returns the last handshake that was complete before a moment, if it was after another.
    fn handshake_before(&self, moment: u64, after: u64) -> Option<(u64, u64)> {
        let (mut begin, mut found) = (None, None);
        for event in self.events.iter().filter(|it| (after..=moment).contains(&it.at())) {
            match event {
                ClientEvent::HandshakeBegin { at } => begin = Some(*at),
                ClientEvent::HandshakeEnd { at } => found = begin.zip(Some(*at)),
                _ => (),
            }
        }
        found
    }
}

/// Returns the datagrams without data that were counted at the end, and their bytes: those of data are as long as in the
/// meantime, in the mean.
fn without_data(early: &Counts, end: &Counts) -> (u64, u64) {
    let (mut datagrams, mut bytes) = (0, 0);
    for (early, end) in early.0.iter().zip(&end.0) {
        datagrams += end.datagrams.saturating_sub(end.data);
        let meantime = end.datagrams.saturating_sub(early.datagrams).max(1);
        let data = (end.bytes - early.bytes) * end.data / meantime;
        bytes += end.bytes.saturating_sub(data);
    }
    (datagrams, bytes)
}

/// Returns the datagrams that were counted early, and their bytes, without messages and what the transport sends for them:
/// as much for each as in the meantime, in the mean.
fn without_messages(early: &Counts, end: &Counts) -> (u64, u64) {
    let (mut datagrams, mut bytes) = (0, 0);
    for (early, end) in early.0.iter().zip(&end.0) {
        let messages = end.data.saturating_sub(early.data).max(1);
        let of_messages = |meantime: u64| meantime * early.data / messages;
        datagrams += early.datagrams.saturating_sub(of_messages(end.datagrams - early.datagrams));
        bytes += early.bytes.saturating_sub(of_messages(end.bytes - early.bytes));
    }
    (datagrams, bytes)
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.datagrams += other.datagrams;
        self.bytes += other.bytes;
        self.lost += other.lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(each: [u64; 3]) -> Counts {
        let [datagrams, bytes, data] = each;
        Counts([Direction { datagrams, bytes, data }; 2])
    }

    /// Six datagrams of 1,000 bytes set it up; then a message has 100 bytes, and every other one a datagram of 40 more.
    #[test]
    fn acknowledgements_of_the_transport_are_no_part_of_the_set_up() {
        let early = counts([6 + 4 + 2, 6_000 + 4 * 100 + 2 * 40, 4]);
        let end = counts([6 + 20 + 10, 6_000 + 20 * 100 + 10 * 40, 20]);
        assert_eq!(without_messages(&early, &end), (12, 12_000));
        assert_eq!(without_data(&early, &end).0, 2 * (6 + 10), "they would be");
    }
}
