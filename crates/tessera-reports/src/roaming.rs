//! The cells of the experiment `roaming`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::columns;
use crate::named::named;
use crate::sample::Sample;
use crate::sides::Sides;
use crate::variant::Variant;

/// One cell of the grid: the variant, what carries it, and the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellName {
    /// The variant.
    #[serde(flatten)]
    pub variant: Variant,
    /// What carries the bytes.
    pub through: Setup,
    /// The link.
    pub link: LinkName,
}

named! {
    /// What carries the bytes.
    Setup.name {
        /// Both ends in one thread of one process: bytes go from memory to memory.
        Engine = "engine",
        /// Two processes, and the kernel's TCP between them.
        Endpoints = "endpoints",
        /// Two processes of `tessera sepp`, with network functions behind them.
        Sepp = "sepp",
    }
}

/// A link: a pair of cities or a round-trip time, and its other effects on packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkName {
    /// `none`, a pair of cities, or the round-trip time.
    pub name: String,
    /// The round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// The share of packets that is lost.
    pub loss: f64,
    /// How many packets are lost in a row, in the mean; 1: independently.
    pub loss_burst: f64,
    /// The mean of the delay that congestion adds to a packet, as a share of the round-trip time.
    pub congestion: f64,
}

/// The measurements of a cell. `N` is what whole numbers are read as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell<N = u64> {
    /// Which cell it is.
    #[serde(flatten)]
    pub name: CellName,
    /// One for each reconnection.
    #[serde(with = "columns")]
    pub samples: Vec<Sample>,
    /// How many reconnections failed, or were not of this variant; they have no samples.
    pub failed: u32,
    /// How many failed for which reason.
    pub why_failed: BTreeMap<String, u32>,
    /// The number of round trips.
    pub round_trips: RoundTrips,
    /// The bytes that each side sent.
    pub bytes: Bytes<N>,
    /// The cryptographic operations of each side.
    pub operations: Sides<Vec<Operation>>,
    /// The cost of a ticket, which was made beforehand and is in none of the samples.
    pub issuing: Option<IssuingCost<N>>,
    /// A whole registration on each connection, if it was measured.
    pub registration: Option<Registration>,
    /// How many other runs measured at the same time, each with a share of the cells.
    pub beside: usize,
    /// How exact the link was; absent without emulation.
    pub lateness: Option<Lateness>,
}

/// How long after they were due packets left the link, both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// How many left it.
    pub packets: u64,
    /// The mean, in microseconds.
    pub mean_us: f64,
    /// The most, in microseconds.
    pub most_us: f64,
}

/// The number of round trips, including TCP's own: in memory flights are counted, half a round trip each; over a link
/// it is the median of the samples divided by the round-trip time, absent if that is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundTrips {
    /// Until the server's application holds the first byte of the request.
    pub first_byte: Option<f64>,
    /// Until the client's application holds the response.
    pub response: Option<f64>,
}

/// The bytes that each side sent over TCP in one connection, including request, response and close_notify, without new
/// tickets: the medians. Absent if not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bytes<N = u64> {
    /// The client's bytes.
    pub client: Option<N>,
    /// The server's bytes.
    pub server: Option<N>,
    /// The client's bytes before it received anything.
    pub first_flight: Option<N>,
}

/// A kind of cryptographic operation in one reconnection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// Its name.
    pub operation: String,
    /// How often, in one reconnection.
    pub count: f64,
    /// How long all of them took together, in microseconds: the median.
    pub us: f64,
}

/// The cost of one ticket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IssuingCost<N = u64> {
    /// In the server's calls of the engine, its store included, in microseconds.
    pub server_us: f64,
    /// In the client's calls of the engine, in microseconds.
    pub client_us: f64,
    /// On the wire.
    pub bytes: N,
}

/// A whole registration on each connection: the exchanges of a roaming subscriber.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    /// How long each took, from the first request to the last response, in microseconds.
    pub samples_us: Vec<f64>,
    /// How many exchanges it is.
    pub exchanges: u32,
    /// Processor time of both processes for a reconnection and its registration, in microseconds: the medians.
    pub cpu_us: Sides<f64>,
    /// Resident memory of both processes after the last, in bytes.
    pub resident: Sides<u64>,
}

impl CellName {
    /// Returns it as a key, for programs.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}/{}", self.through.name(), self.variant.key(), self.link)
    }
}

impl LinkName {
    /// Whether it takes a link that is emulated.
    #[must_use]
    pub fn needs_emulation(&self) -> bool {
        self.rtt_ms > 0.0 || self.loss > 0.0 || self.congestion > 0.0
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
    use serde_json::json;

    use super::*;
    use crate::keys::KeyExchange;
    use crate::letter::Letter;
    use crate::mode::Mode;
    use crate::variant::{Store, Suite};

    fn name() -> CellName {
        let link = LinkName {
            name: "seoul-tokyo".to_owned(),
            rtt_ms: 33.0,
            loss: 0.01,
            loss_burst: 3.0,
            congestion: 0.05,
        };
        let variant = Variant {
            option: Letter::A,
            mode: Mode::Full,
            kx: Some(KeyExchange::X25519),
            ticket_key: None,
            continuation: None,
            store: Store::Memory,
            suite: Suite::Aes256GcmSha384,
        };
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
    fn a_cell_has_a_key_of_its_own() {
        let key = "endpoints/a/full/x25519/none/none/memory/0x1302/seoul-tokyo,loss=0.01,burst=3,congestion=0.05";
        assert_eq!(name().key(), key);
    }
}
