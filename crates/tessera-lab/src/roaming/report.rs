//! The report of the experiment `roaming`: every sample, as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tessera_link::LinkStatistics;

pub(crate) use super::sample::Sample;
use crate::bench::us;
use crate::machine::Machine;
use crate::variants::Variant;

/// An experiment with its results.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) experiment: String,
    pub(crate) seed: u64,
    pub(crate) machine: Machine,
    /// The source revision of the program that measured.
    pub(crate) revision: Option<String>,
    /// How links were made: `tun` or `loopback`.
    pub(crate) link: String,
    pub(crate) cells: Vec<Cell>,
    /// Requested cells without numbers.
    pub(crate) not_run: Vec<SkippedCell>,
}

/// One cell of the grid: the variant, what carries it, and the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CellName {
    #[serde(flatten)]
    pub(crate) variant: Variant,
    pub(crate) through: Setup,
    pub(crate) link: LinkName,
}

/// What carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Setup {
    /// Both ends in one thread of one process: bytes go from memory to memory.
    Engine,
    /// Two processes, and the kernel's TCP between them.
    Endpoints,
    /// Two processes of `tessera sepp`, with network functions behind them.
    Sepp,
}

impl Setup {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Engine, Self::Endpoints, Self::Sepp];

    /// Its name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Endpoints => "endpoints",
            Self::Sepp => "sepp",
        }
    }
}

/// A link: a pair of cities or a round-trip time, and its other effects on packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkName {
    /// `none`, a pair of cities, or the round-trip time.
    pub(crate) name: String,
    pub(crate) rtt_ms: f64,
    /// The share of packets that is lost.
    pub(crate) loss: f64,
    /// How many packets are lost in a row, in the mean; 1: independently.
    pub(crate) loss_burst: f64,
    /// The mean of the delay that congestion adds to a packet, as a share of the round-trip time.
    pub(crate) congestion: f64,
}

/// The measurements of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    #[serde(with = "super::sample::columns")]
    pub(crate) samples: Vec<Sample>,
    /// How many reconnections failed, or were not of this variant; they have no samples.
    pub(crate) failed: u32,
    /// How many failed for which reason.
    pub(crate) why_failed: BTreeMap<String, u32>,
    pub(crate) round_trips: RoundTrips,
    pub(crate) bytes: Bytes,
    pub(crate) operations: Sides<Vec<Operation>>,
    /// The cost of a ticket, which was made beforehand and is in none of the samples.
    pub(crate) issuing: Option<IssuingCost>,
    pub(crate) registration: Option<Registration>,
    /// How many other runs measured at the same time, each with a share of the cells.
    pub(crate) beside: usize,
    /// How exact the link was; absent without emulation.
    pub(crate) lateness: Option<Lateness>,
}

/// How long after they were due packets left the link, both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lateness {
    pub(crate) packets: u64,
    pub(crate) mean_us: f64,
    pub(crate) most_us: f64,
}

impl Lateness {
    /// Of a link that was set once or more often; `None` if no packet left it.
    pub(crate) fn of(settings: &[LinkStatistics]) -> Option<Self> {
        let directions = || settings.iter().flat_map(|it| [it.to_server, it.to_client]);
        let packets: u64 = directions().map(|it| it.delivered_packets).sum();
        let total: Duration = directions().map(|it| it.late_total).sum();
        let most_us = us(directions().map(|it| it.late_most).max()?);
        (packets > 0).then(|| Self { packets, mean_us: us(total) / packets as f64, most_us })
    }
}

/// The number of round trips, including TCP's own: in memory flights are counted, half a round trip each; over a link
/// it is the median of the samples divided by the round-trip time, absent if that is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RoundTrips {
    /// Until the server's application holds the first byte of the request.
    pub(crate) first_byte: Option<f64>,
    /// Until the client's application holds the response.
    pub(crate) response: Option<f64>,
}

/// The bytes that each side sent over TCP in one connection, including request, response and close_notify, without new
/// tickets: the medians. Absent if not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bytes {
    pub(crate) client: Option<u64>,
    pub(crate) server: Option<u64>,
    /// The client's bytes before it received anything.
    pub(crate) first_flight: Option<u64>,
}

/// Both sides of something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sides<T> {
    pub(crate) client: T,
    pub(crate) server: T,
}

/// A kind of cryptographic operation in one reconnection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Operation {
    pub(crate) operation: String,
    /// How often, in one reconnection.
    pub(crate) count: f64,
    /// How long all of them took together, in microseconds: the median.
    pub(crate) us: f64,
}

/// The cost of one ticket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct IssuingCost {
    /// In the server's calls of the engine, its store included, in microseconds.
    pub(crate) server_us: f64,
    /// In the client's calls of the engine, in microseconds.
    pub(crate) client_us: f64,
    /// On the wire.
    pub(crate) bytes: u64,
}

/// A whole registration on each connection: the exchanges of a roaming subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Registration {
    /// How long each took, from the first request to the last response, in microseconds.
    pub(crate) samples_us: Vec<f64>,
    /// How many exchanges it is.
    pub(crate) exchanges: u32,
    /// Processor time of both processes for a reconnection and its registration, in microseconds: the medians.
    pub(crate) cpu_us: Sides<f64>,
    /// Resident memory of both processes after the last, in bytes.
    pub(crate) resident: Sides<u64>,
}

/// A cell that has no numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkippedCell {
    #[serde(flatten)]
    pub(crate) name: CellName,
    pub(crate) reason: String,
}

impl CellName {
    /// Returns it as a key, for programs.
    pub(crate) fn key(&self) -> String {
        format!("{}/{}/{}", self.through.name(), self.variant.key(), self.link)
    }
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.loss > 0.0 {
            write!(f, ",loss={}", self.loss)?;
        }
        if self.loss_burst > 1.0 {
            write!(f, ",burst={}", self.loss_burst)?;
        }
        if self.congestion > 0.0 {
            write!(f, ",congestion={}", self.congestion)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn name() -> CellName {
        let link = LinkName {
            name: "seoul-tokyo".to_owned(),
            rtt_ms: 33.0,
            loss: 0.01,
            loss_burst: 3.0,
            congestion: 0.05,
        };
        let variant = Variant::all()[0];
        CellName { variant, through: Setup::Endpoints, link }
    }

    /// The names that other programs rely on.
    #[test]
    fn the_roaming_report_has_the_form_that_readers_expect() {
        let cell = Cell {
            name: name(),
            samples: vec![Sample { send_us: Some(1.5), ..Sample::default() }],
            failed: 2,
            why_failed: [("the link failed".to_owned(), 2)].into(),
            round_trips: RoundTrips { first_byte: Some(2.5), response: Some(3.0) },
            bytes: Bytes { client: Some(1), server: Some(2), first_flight: Some(3) },
            operations: Sides {
                client: vec![Operation { operation: "aead".to_owned(), count: 4.0, us: 5.0 }],
                server: Vec::new(),
            },
            issuing: Some(IssuingCost { server_us: 6.0, client_us: 7.0, bytes: 8 }),
            registration: Some(Registration {
                samples_us: vec![9.0],
                exchanges: 13,
                cpu_us: Sides { client: 10.0, server: 11.0 },
                resident: Sides { client: 12, server: 13 },
            }),
            beside: 3,
            lateness: Some(Lateness { packets: 14, mean_us: 15.0, most_us: 16.0 }),
        };
        let expected = json!({
            "option": "a", "mode": "full", "kx": "x25519", "ticket_key": null, "continuation": null,
            "store": "memory", "suite": "0x1302", "through": "endpoints",
            "link": {
                "name": "seoul-tokyo", "rtt_ms": 33.0, "loss": 0.01, "loss_burst": 3.0, "congestion": 0.05
            },
            "samples": { "send_us": [1.5] }, "failed": 2, "why_failed": { "the link failed": 2 },
            "round_trips": { "first_byte": 2.5, "response": 3.0 },
            "bytes": { "client": 1, "server": 2, "first_flight": 3 },
            "operations": { "client": [{ "operation": "aead", "count": 4.0, "us": 5.0 }], "server": [] },
            "issuing": { "server_us": 6.0, "client_us": 7.0, "bytes": 8 },
            "registration": {
                "samples_us": [9.0], "exchanges": 13, "cpu_us": { "client": 10.0, "server": 11.0 },
                "resident": { "client": 12, "server": 13 }
            },
            "beside": 3, "lateness": { "packets": 14, "mean_us": 15.0, "most_us": 16.0 }
        });
        assert_eq!(serde_json::to_value(&cell).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Cell>(expected).unwrap(), cell);
    }

    #[test]
    fn a_cell_without_numbers_says_why() {
        let not_run = SkippedCell { name: name(), reason: "no link".to_owned() };
        let json: Value = serde_json::to_value(&not_run).unwrap();
        assert_eq!(json["reason"], "no link");
        assert_eq!(json["option"], "a");
        assert_eq!(json["link"]["name"], "seoul-tokyo");
        assert_eq!(serde_json::from_value::<SkippedCell>(json).unwrap(), not_run);
    }

    #[test]
    fn a_cell_has_a_key_of_its_own() {
        let key = "endpoints/a/full/x25519/none/none/memory/0x1302/seoul-tokyo,loss=0.01,burst=3,congestion=0.05";
        assert_eq!(name().key(), key);
    }
}
