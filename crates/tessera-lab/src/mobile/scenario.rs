//! What happens to a client: its link, its hand-overs, and how it notices them.

use std::str::FromStr;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use tessera_link::{LinkParameters, Nat, NatKind};

use super::client::{Detection, Task};
use crate::numbers::plain;

/// The time from one hand-over to the next, in milliseconds: the paper's.
const PERIOD_MS: u32 = 10_000;

/// The least time between two messages. The paper names none.
pub(super) const PACE: Duration = Duration::from_millis(100);

/// How long an acknowledgement is awaited: the paper's.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);

/// How long an interface is down, in milliseconds. The paper names none.
pub(super) const OUTAGE_MS: u32 = 500;

/// What happens at each hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The interface is down, and then has another address.
    NewAddress,
    /// The interface is down, and then has the same address.
    SameAddress,
    /// A NAT changes the address that the server sees; the client notices nothing.
    Rebinding,
    /// The server restarts, and has lost its associations.
    Restart,
}

/// What happens to a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scenario {
    /// One way, in milliseconds.
    pub(crate) delay_ms: f64,
    pub(crate) loss: f64,
    /// How many datagrams are lost in a row, in the mean.
    pub(crate) loss_burst: f64,
    pub(crate) change: Change,
    /// From one to the next, in milliseconds.
    pub(crate) period_ms: u32,
    pub(crate) outage_ms: u32,
    /// The NAT in front of the client, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "nat_name")]
    pub(crate) nat: Option<NatKind>,
    /// How many interfaces the client has.
    pub(crate) interfaces: u8,
    pub(crate) detection: Detection,
    /// After how many time-outs in a row a client connects again whose association doesn't survive.
    pub(crate) timeouts: u32,
}

impl Scenario {
    /// That of the paper, with this delay one way.
    pub(super) fn of_paper(delay_ms: f64) -> Self {
        Self {
            delay_ms,
            loss: 0.0,
            loss_burst: 1.0,
            change: Change::NewAddress,
            period_ms: PERIOD_MS,
            outage_ms: OUTAGE_MS,
            nat: None,
            interfaces: 1,
            detection: Detection::Timeout,
            timeouts: 1,
        }
    }

    pub(super) fn round_trip(&self) -> Duration {
        Duration::from_secs_f64(self.delay_ms * 2.0 / 1e3)
    }

    pub(super) fn link(&self, seed: u64) -> LinkParameters {
        LinkParameters {
            rtt: self.round_trip(),
            loss: self.loss,
            loss_burst: self.loss_burst,
            nat: self.nat.map(Nat::from),
            seed,
            ..LinkParameters::default()
        }
    }

    pub(super) fn task(&self, acks: u32) -> Task {
        Task { acks, pace: PACE, timeout: TIMEOUT, detection: self.detection }
    }

    /// Returns what happens within a time. Each hand-over is later by less than the time from a message to the next, which the
    /// seed draws: periods are multiples of the pace, and all hand-overs would meet the same moment of a message.
    pub(super) fn schedule(&self, within: Duration, seed: u64) -> Schedule {
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let between = self.round_trip().max(PACE).as_nanos() as u64;
        let mut schedule = Schedule::default();
        let [period, outage] =
            [self.period_ms, self.outage_ms].map(|ms| Duration::from_millis(ms.into()));
        for interface in 0..self.interfaces {
            // The paper interleaves two interfaces.
            let offset = period * u32::from(interface) / u32::from(self.interfaces);
            for number in 1.. {
                let later = Duration::from_nanos(draws.next_u64() % between);
                let at = period * number + offset + later;
                if at > within {
                    break;
                }
                let index = usize::from(interface);
                let usable = match self.change {
                    Change::NewAddress | Change::SameAddress => {
                        let up = (at + outage, Step::Up(index));
                        schedule.steps.extend([(at, Step::Down(index)), up]);
                        // With two, the other one is up.
                        if self.interfaces > 1 { at } else { at + outage }
                    }
                    Change::Rebinding => {
                        schedule.steps.push((at, Step::Rebind));
                        at
                    }
                    Change::Restart => {
                        schedule.steps.push((at, Step::Restart));
                        at
                    }
                };
                // While the first interface is up, the others are idle.
                if interface == 0 {
                    schedule.hand_overs.push(self.hand_over(at, usable));
                }
            }
        }
        schedule.steps.sort_by_key(|(at, _)| *at);
        schedule
    }

    /// Returns a hand-over of these moments.
    pub(super) fn hand_over(&self, at: Duration, usable: Duration) -> HandOver {
        let first_sent = match self.change {
            Change::Restart => at.saturating_sub(self.round_trip() / 2),
            Change::NewAddress | Change::SameAddress | Change::Rebinding => usable,
        };
        HandOver { at, usable, first_sent }
    }

    /// Describes it.
    pub(crate) fn words(&self) -> String {
        let Self { delay_ms, loss, loss_burst, change, period_ms, outage_ms, .. } = self;
        let Self { interfaces, detection, timeouts, nat, .. } = self;
        let mut words = vec![format!("{} ms", plain(*delay_ms))];
        if *loss > 0.0 {
            words.push(format!("{} % lost", plain(loss * 100.0)));
        }
        if *loss_burst > 1.0 {
            words.push(format!("{} in a row", plain(*loss_burst)));
        }
        words.push(change.words().to_owned());
        if *period_ms != PERIOD_MS {
            words.push(format!("every {} s", plain(f64::from(*period_ms) / 1e3)));
        }
        if change.has_outage() {
            words.push(format!("down for {} s", plain(f64::from(*outage_ms) / 1e3)));
        }
        if let Some(nat) = nat {
            words.push(format!("NAT {nat}"));
        }
        if *interfaces > 1 {
            words.push(format!("{interfaces} interfaces"));
        }
        words.push(detection.words().to_owned());
        if *timeouts > 1 {
            words.push(format!("{timeouts} time-outs"));
        }
        words.join(", ")
    }
}

impl Change {
    /// Its name in options, tables and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::NewAddress => "new-address",
            Self::SameAddress => "same-address",
            Self::Rebinding => "rebinding",
            Self::Restart => "restart",
        }
    }

    /// Returns the one for which programs are configured; all but a restart are alike to them.
    pub(super) fn of_programs(restarts: bool) -> Self {
        if restarts { Self::Restart } else { Self::NewAddress }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NewAddress => "another address",
            Self::SameAddress => "the same address",
            Self::Rebinding => "rebinding",
            Self::Restart => "the server restarts",
        }
    }

    pub(super) fn has_outage(self) -> bool {
        matches!(self, Self::NewAddress | Self::SameAddress)
    }
}

impl FromStr for Detection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Timeout, Self::Rtt3, Self::Event];
        let known = all.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| format!("it is one of {}", all.map(Self::name).join(", ")))
    }
}

impl Detection {
    /// Its name in options, tables and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Rtt3 => "rtt3",
            Self::Event => "event",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Timeout => "time-out",
            Self::Rtt3 => "3 RTT",
            Self::Event => "link event",
        }
    }
}

/// NATs in reports, by name.
mod nat_name {
    use serde::{Deserialize, Deserializer, Serializer, de};
    use tessera_link::NatKind;

    pub(super) fn serialize<S: Serializer>(
        nat: &Option<NatKind>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match nat {
            Some(nat) => serializer.collect_str(nat),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(
        deserializer: D,
    ) -> Result<Option<NatKind>, D::Error> {
        let name = Option::<String>::deserialize(deserializer)?;
        name.map(|name| name.parse().map_err(de::Error::custom)).transpose()
    }
}

/// What happens, and when, from the beginning of the client on.
#[derive(Default)]
pub(super) struct Schedule {
    pub(super) steps: Vec<(Duration, Step)>,
    pub(super) hand_overs: Vec<HandOver>,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Down(usize),
    Up(usize),
    Rebind,
    Restart,
}

/// A hand-over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HandOver {
    /// When it begins.
    pub(super) at: Duration,
    /// From when on a path carries datagrams again.
    pub(super) usable: Duration,
    /// From when on what the client sends counts: if a server restarts, what is under way misses it.
    pub(super) first_sent: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn two_interfaces_are_down_in_turns() {
        let two = Scenario { interfaces: 2, ..Scenario::of_paper(5.0) };
        let schedule = two.schedule(SECOND * 26, 7);
        let downs = schedule.steps.iter().filter_map(|(at, step)| match step {
            Step::Down(index) => Some((at.as_secs(), *index)),
            _ => None,
        });
        assert_eq!(downs.collect::<Vec<_>>(), [(10, 0), (15, 1), (20, 0), (25, 1)]);
        let usable = schedule.hand_overs.iter().map(|it| it.usable.as_secs()).collect::<Vec<_>>();
        assert_eq!(usable, [10, 20]);
    }

    #[test]
    fn hand_overs_meet_other_moments_of_a_message() {
        for delay_ms in [5.0, 100.0] {
            let scenario = Scenario::of_paper(delay_ms);
            let between = scenario.round_trip().max(PACE).as_nanos();
            let phases = |seed| -> Vec<_> {
                let schedule = scenario.schedule(SECOND * 1000, seed);
                schedule
                    .hand_overs
                    .iter()
                    .map(|it| it.at.as_nanos() % between * 4 / between)
                    .collect()
            };
            for quarter in 0..4 {
                let met = phases(7).into_iter().filter(|it| *it == quarter).count();
                assert!((10..40).contains(&met), "{delay_ms} ms: {met} of 99 in a quarter");
            }
            assert_ne!(phases(7), phases(8));
        }
    }
}
