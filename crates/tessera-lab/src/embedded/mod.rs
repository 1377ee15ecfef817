//! The experiment `embedded`: what a client and a server take on a Cortex-M33: sizes by crate and section, stack and heap by
//! message, instructions by operation; and a client's handshakes by suite, with their time over a modelled link, next to
//! those of a thesis.
//!
//! `scripts/firmware` of a checkout builds the images of `firmware/`, runs them in an emulator and writes the report; this
//! shows it, fresh or recorded.

mod build;
mod claims;
mod compared;
mod energy;
mod goals;
mod groups;
mod kem_tables;
mod link;
mod names;
mod page;
mod pictures;
mod published;
mod report;
mod suite_tables;
mod suites;
mod sweep;
mod table;
mod targets;
mod thesis;

use std::path::{Path, PathBuf};

pub(crate) use self::page::summary;
use self::report::{NAME, Report};
pub(crate) use self::table::all as tables;
use crate::error::LabError;
use crate::experiment::{self, SAMPLES, Screen};
use crate::table::terminal;

/// The options of the experiment.
#[derive(Clone, Debug)]
pub struct Options {
    /// The checkout whose images are built; `None` for the one around the current directory.
    pub source: Option<PathBuf>,
    /// Shows this report, and measures nothing.
    pub from: Option<PathBuf>,
    /// The images; empty for all.
    pub images: Vec<String>,
    /// Does everything that makes images smaller.
    pub small: bool,
    /// Measures all suites, and KEMs, as well.
    pub suites: bool,
    /// Repetitions, which are connections of an image, and the output; the rest is ignored.
    pub common: experiment::Options,
}

/// Runs the experiment, or shows its report.
///
/// # Errors
///
/// - [`LabError::Options`] if there is no checkout, or no report where one is named.
/// - [`LabError::Connection`] if a program is missing, or an image fails.
pub fn run(options: &Options) -> Result<(), LabError> {
    let common = &options.common;
    experiment::check(common)?;
    let report = match &options.from {
        Some(path) => Report::read(path)?,
        None => build::measured(options)?,
    };
    let screen = Screen::new(common);
    screen.line(&table::method(&report))?;
    for table in tables(&report).into_iter().filter_map(|(_, table)| table) {
        screen.line(&terminal::table(&table))?;
    }
    screen.line(&terminal::legend(table::LEGEND))?;
    experiment::write(common, &report, SAMPLES, Some(page::render))
}

/// Reads the report of a directory.
pub(crate) fn read(directory: &Path) -> Result<Report, LabError> {
    Report::read(&directory.join(format!("{NAME}.json")))
}

/// Makes the page of a report.
pub(crate) fn page(report: &Report) -> Result<String, LabError> {
    page::render(report).map_err(|error| LabError::system("making the page")(error.into()))
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
