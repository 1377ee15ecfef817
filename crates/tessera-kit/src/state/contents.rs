//! What a state's directory contained.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use tessera_vault::PreviousLife;

use crate::report::Fact;

/// What the directory contained.
#[derive(Debug, Clone, Serialize)]
pub struct StateContents {
    directory: String,
    found: &'static str,
    one_time_keys: usize,
    old_copies: OldCopies,
}

/// What happens if the directory is restored to an earlier state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OldCopies {
    /// Earlier copies don't open, because each start uses another key.
    Refused,
    /// A witness detects earlier copies.
    Noticed,
    /// Earlier copies open, because the key stays the same.
    Unnoticed,
}

impl Fact for StateContents {
    const EVENT: &'static str = "state";
}

impl StateContents {
    /// `before` is `None` if there was a life whose key is gone.
    pub(super) fn new(
        directory: &Path,
        before: Option<PreviousLife>,
        old_copies: OldCopies,
    ) -> Self {
        let (found, one_time_keys) = match before {
            None => ("key-gone", 0),
            Some(PreviousLife::Closed { secrets }) => ("closed", secrets),
            Some(PreviousLife::Crashed) => ("crashed", 0),
            Some(PreviousLife::RolledBack) => ("rolled-back", 0),
            Some(_) => ("nothing", 0),
        };
        let directory = directory.display().to_string();
        Self { directory, found, one_time_keys, old_copies }
    }

    /// Returns whether an earlier copy of the directory would be refused, or noticed: what must not come back belongs in no
    /// other.
    pub fn refuses_old_copies(&self) -> bool {
        self.old_copies != OldCopies::Unnoticed
    }

    /// Returns warnings for the owner of the directory.
    pub(super) fn warnings(&self) -> Vec<String> {
        let directory = &self.directory;
        let mut warnings = Vec::new();
        if self.old_copies == OldCopies::Unnoticed {
            warnings.push(format!(
                "{directory}: with `state-key`, nothing detects an old copy of this directory that is restored (from \
                 a backup, or with the whole machine): one-time keys that were used since come back with it, and \
                 early data may be executed twice; set `state-witness` to a directory on another file system, or \
                 remove `state-key`"
            ));
        }
        if self.found == "rolled-back" {
            warnings.push(format!(
                "{directory}: it doesn't match its witness: an old copy was restored, it is a copy, or a server used \
                 it without the witness; its one-time keys are destroyed: clients resume, and early data from before \
                 is refused as `unknown`"
            ));
        }
        warnings
    }
}

/// Formats one line for people.
impl fmt::Display for StateContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state in {}: ", self.directory)?;
        match self.found {
            "closed" => write!(f, "ticket keys and {} one-time keys restored", self.one_time_keys),
            "crashed" => f.write_str(
                "ticket keys restored; the previous server did not end properly, and its one-time keys are lost",
            ),
            "rolled-back" => f.write_str(
                "ticket keys restored; the directory doesn't match its witness, and its one-time keys are destroyed",
            ),
            "key-gone" => f.write_str(
                "started afresh, since its key was lost with the power or belongs to another machine: clients make \
                 full handshakes",
            ),
            _ => f.write_str("new"),
        }
    }
}
