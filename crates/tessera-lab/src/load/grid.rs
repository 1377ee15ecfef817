//! What is measured: rows and loads.

use serde::{Deserialize, Serialize};

use super::options::Options;
use crate::ways::{Agreement, Continuation, Mode, OneTimeKind, Way};

/// The suite of all rows: the paper's, TLS_AES_256_GCM_SHA384.
pub(super) const SUITE: u16 = 0x1302;

/// How users come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Each comes back again and again, and registers each time.
    Users,
    /// All had a connection, and come back at once.
    Storm,
}

impl Kind {
    /// Its name in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Users => "users",
            Self::Storm => "storm",
        }
    }
}

/// A way of connecting, as reports name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The paper's letter.
    pub(crate) option: String,
    pub(crate) mode: Mode,
    pub(crate) kx: Option<Agreement>,
    pub(crate) ticket_key: Option<OneTimeKind>,
    pub(crate) continuation: Option<Continuation>,
    /// Where one-time keys and used tickets are remembered.
    pub(crate) store: String,
    pub(crate) suite: String,
}

impl Row {
    pub(super) fn of(way: Way) -> Self {
        let Way { mode, kx, ticket_key, continuation, fast_open: _ } = way;
        let (option, store) = (letter(mode).to_owned(), "memory".to_owned());
        let suite = format!("{SUITE:#06x}");
        Self { option, mode, kx, ticket_key, continuation, store, suite }
    }

    /// Its words, in order.
    pub(super) fn name(&self) -> String {
        let kx = self.kx.map_or("none", Agreement::name);
        let key = self.ticket_key.map(OneTimeKind::name);
        let continuation = self.continuation.map(Continuation::name);
        let words = [Some(self.option.as_str()), Some(kx), key, continuation];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// The paper's letter for a mode; d' are single-use tickets, which it doesn't have.
pub(super) fn letter(mode: Mode) -> &'static str {
    match mode {
        Mode::Full => "a",
        Mode::PskOnly => "b",
        Mode::PskDhe => "c",
        Mode::ZeroRttUnguarded => "d",
        Mode::ZeroRtt => "d'",
        Mode::ZeroRttFs | Mode::ZeroRttFsPsk => "e",
    }
}

/// A cell before it is measured.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) way: Way,
    pub(super) kind: Kind,
    pub(super) users: usize,
    pub(super) reconnections: usize,
}

impl Plan {
    /// All that the options ask for: each way under each load, before the next way.
    pub(super) fn all(options: &Options) -> Vec<Self> {
        let loads = options.users.iter().map(|users| (Kind::Users, *users, options.reconnections));
        let storms = options.storms.iter().map(|users| (Kind::Storm, *users, 1));
        let loads: Vec<_> = loads.chain(storms).collect();
        let plan = |way| {
            let of = move |&(kind, users, reconnections)| Self { way, kind, users, reconnections };
            loads.iter().map(of).collect::<Vec<_>>()
        };
        let all = Way::all(&options.modes).into_iter().flat_map(plan);
        all.filter(|plan| options.rows.is_empty() || plan.is_among(&options.rows)).collect()
    }

    /// Whether its row is one of those that are named by all of their words.
    fn is_among(&self, rows: &[String]) -> bool {
        let name = Row::of(self.way).name();
        rows.iter().any(|row| *row == name)
    }

    /// How many connections all of them make.
    pub(super) fn connections(&self) -> usize {
        self.users * self.reconnections
    }

    pub(super) fn name(&self) -> String {
        format!("{} {} {}", Row::of(self.way).name(), self.kind.name(), self.users)
    }
}
