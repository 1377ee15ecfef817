//! The destination of a report, and the link in it.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tessera_link::{Congestion, LinkKind, LinkParameters};
use tessera_reports::LinkReport;

use super::files::write_whole;

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output; the table then goes to standard error.
    StandardOutput,
    /// A file.
    File(PathBuf),
}

impl Destination {
    /// Checks that a report can be written here, without leaving anything behind: a long experiment should not fail at
    /// its end.
    pub(crate) fn check(&self) -> io::Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => fs::remove_file(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                OpenOptions::new().append(true).open(path).map(drop)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes the report; a file is written atomically.
    pub(crate) fn write(&self, report: &[u8]) -> io::Result<()> {
        match self {
            Self::StandardOutput => io::stdout().lock().write_all(report),
            Self::File(path) => write_whole(path, report),
        }
    }

    /// Returns the destination that an option names.
    #[must_use]
    pub fn named(name: &Path) -> Self {
        if name == Path::new("-") { Self::StandardOutput } else { Self::File(name.to_owned()) }
    }
}

/// Returns the link's parameters, except for the round-trip time, as reports have them.
pub(crate) fn link_report(kind: LinkKind, parameters: &LinkParameters) -> LinkReport {
    let (congestion, congestion_ms) = match parameters.congestion {
        Congestion::None => (None, None),
        Congestion::Share(share) => (Some(share), None),
        Congestion::Mean(mean) => (None, Some(mean.as_secs_f64() * 1e3)),
    };
    LinkReport {
        kind: kind.to_string(),
        loss: parameters.loss,
        loss_burst: parameters.loss_burst,
        congestion,
        congestion_ms,
        jitter_ms: parameters.jitter.as_secs_f64() * 1e3,
        rate_bps: parameters.rate,
        mtu: parameters.mtu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checking_a_reports_destination_leaves_no_file_behind() {
        let directory = std::env::temp_dir();
        let path = directory.join(format!("tessera-report-{}.json", std::process::id()));
        Destination::named(&path).check().unwrap();
        assert!(!path.exists());
        fs::write(&path, "kept").unwrap();
        Destination::named(&path).check().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"kept");
        fs::remove_file(&path).unwrap();
        assert!(Destination::named(&path.join("deeper")).check().is_err());
        Destination::named(Path::new("-")).check().unwrap();
    }
}
