//! Writing a report.

use serde::Serialize;

use super::json::{ROWS, SAMPLES, json};
use super::options::Options;
use crate::error::LabError;

/// Writes a report to the destinations in the options.
pub(crate) fn write<R: Serialize>(
    options: &Options,
    report: &R,
    page: fn(&R) -> serde_json::Result<String>,
) -> Result<(), LabError> {
    write_json(options, report)?;
    write_page(options, report, page)
}

/// Writes a report whose rows are long lists of small numbers: one line per row.
pub(crate) fn write_rows<R: Serialize>(
    options: &Options,
    report: &R,
    page: fn(&R) -> serde_json::Result<String>,
) -> Result<(), LabError> {
    write_broken(options, report, ROWS)?;
    write_page(options, report, page)
}

fn write_page<R>(
    options: &Options,
    report: &R,
    page: fn(&R) -> serde_json::Result<String>,
) -> Result<(), LabError> {
    let write = || {
        if let Some(destination) = &options.page {
            destination.write(page(report)?.as_bytes())?;
        }
        Ok(())
    };
    write().map_err(LabError::system(WRITING))
}

/// Writes a report that has no page.
pub(crate) fn write_json(options: &Options, report: &impl Serialize) -> Result<(), LabError> {
    write_broken(options, report, SAMPLES)
}

fn write_broken(options: &Options, report: &impl Serialize, broken: usize) -> Result<(), LabError> {
    let Some(destination) = &options.json else { return Ok(()) };
    let written = json(report, broken).and_then(|json| destination.write(&json));
    written.map_err(LabError::system(WRITING))
}

const WRITING: &str = "writing the report";
