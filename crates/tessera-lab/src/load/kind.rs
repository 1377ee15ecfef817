//! The kinds of load.

use serde::{Deserialize, Serialize};

/// How users come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Each user reconnects repeatedly, and registers each time.
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
