//! The options of the experiment.

use std::path::PathBuf;
use std::time::Duration;

use tessera_link::LinkKind;
use tessera_reports::Mode;
use tessera_reports::load::Kind;

use crate::experiment::{self, Destination};

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many users reconnect repeatedly: one cell for each number.
    pub users: Vec<usize>,
    /// How many reconnections each user makes.
    pub reconnections: usize,
    /// How many connections come back at once: one cell for each number.
    pub storms: Vec<usize>,
    /// How often each storm runs. All options have run once before any runs again.
    pub rounds: usize,
    /// The round-trip times; `None` for [`Options::USERS_RTT`] and [`Options::STORM_RTT`].
    pub rtts: Option<Vec<Duration>>,
    /// The modes to measure.
    pub modes: Vec<Mode>,
    /// The rows of these modes to measure, by the names of the table; all if it is empty.
    pub rows: Vec<String>,
    /// How the link is made.
    pub link: LinkKind,
    /// Where random numbers of the link start.
    pub seed: u64,
    /// The journal of finished cells, if any: a repeated run continues from it.
    pub resume: Option<PathBuf>,
    /// The destination of the report as JSON, if any.
    pub json: Option<Destination>,
}

impl Options {
    /// The paper's numbers of users, and ten times as many.
    pub const DEFAULT_USERS: [usize; 7] = [1, 5, 10, 20, 50, 100, 1_000];
    /// Connections of a storm: 135 storms of 5,000 take half an hour.
    pub const DEFAULT_STORMS: [usize; 2] = [1_000, 5_000];
    /// Rounds of storms: of nine, the second and the eighth enclose the median with 96 % confidence.
    pub const DEFAULT_ROUNDS: usize = 9;
    /// For users: from Seoul to Tokyo and back. They mostly wait.
    pub const USERS_RTT: Duration = Duration::from_millis(33);
    /// For storms: from Seoul to Los Angeles and back.
    pub const STORM_RTT: Duration = Duration::from_millis(134);

    /// Returns the round-trip times of one kind of load.
    pub(super) fn rtts(&self, kind: Kind) -> Vec<Duration> {
        let default = match kind {
            Kind::Users => Self::USERS_RTT,
            Kind::Storm => Self::STORM_RTT,
        };
        self.rtts.clone().unwrap_or_else(|| vec![default])
    }

    /// Returns all round-trip times to measure, each once.
    pub(super) fn all_rtts(&self) -> Vec<Duration> {
        let users = if self.users.is_empty() { Vec::new() } else { self.rtts(Kind::Users) };
        let storms = if self.storms.is_empty() { Vec::new() } else { self.rtts(Kind::Storm) };
        let mut all = Vec::new();
        for rtt in [users, storms].concat() {
            if !all.contains(&rtt) {
                all.push(rtt);
            }
        }
        all
    }

    /// Converts to the options that all experiments share.
    pub(super) fn common(&self) -> experiment::Options {
        experiment::Options {
            repetitions: self.reconnections,
            rtts: Some(self.all_rtts()),
            link: self.link,
            parameters: tessera_link::LinkParameters {
                seed: self.seed,
                ..tessera_link::LinkParameters::default()
            },
            modes: self.modes.clone(),
            fast_open: false,
            json: self.json.clone(),
            page: None,
        }
    }
}
