//! What a state's directory contained.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use tessera_vault::PreviousLife;

use crate::report::Fact;

/// What the directory contained.
#[derive(Debug, Clone, Serialize)]
pub struct StateFound {
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

impl Fact for StateFound {
    const EVENT: &'static str = "state";
}

impl StateFound {
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

    /// Returns warnings for the owner of the directory.
    pub(super) fn warnings(&self) -> Vec<String> {
        let directory = &self.directory;
        let mut warnings = Vec::new();
        if self.old_copies == OldCopies::Unnoticed {
            warnings.push(format!(
                "{directory}: with `state-key`, an old copy of this directory that is put back (from a backup, or with \
                 the whole machine) is not noticed: one-time keys that were taken since come back with it, and early \
                 data may be executed twice; name a directory on another file system as `state-witness`, or leave \
                 `state-key` out"
            ));
        }
        if self.found == "rolled-back" {
            warnings.push(format!(
                "{directory}: its witness knows it otherwise: an old copy was put back, it is a copy, or a server used \
                 it without the witness; its one-time keys are destroyed: clients resume, and early data of before is \
                 refused as `unknown`"
            ));
        }
        warnings
    }
}

/// Formats one line for people.
impl fmt::Display for StateFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state in {}: ", self.directory)?;
        match self.found {
            "closed" => write!(f, "ticket keys and {} one-time keys are there again", self.one_time_keys),
            "crashed" => f.write_str(
                "ticket keys are there again; the server before did not end properly, and its one-time \
                 keys are lost",
            ),
            "rolled-back" => f.write_str(
                "ticket keys are there again; the directory is not as its witness knows it, and its one-time keys \
                 are destroyed",
            ),
            "key-gone" => f.write_str(
                "begun afresh, since its key has ended with the power or is another machine's: clients \
                 make full handshakes",
            ),
            _ => f.write_str("new"),
        }
    }
}
