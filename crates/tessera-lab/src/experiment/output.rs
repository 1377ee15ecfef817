//! Writing a report.

use serde::Serialize;

use super::json::json;
use super::options::Options;
use crate::error::LabError;

/// Writes a report to where the options want it.
pub(crate) fn write<R: Serialize>(
    options: &Options,
    report: &R,
    page: fn(&R) -> serde_json::Result<String>,
) -> Result<(), LabError> {
    write_json(options, report)?;
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
    let Some(destination) = &options.json else { return Ok(()) };
    let written = json(report).and_then(|json| destination.write(&json));
    written.map_err(LabError::system(WRITING))
}

const WRITING: &str = "writing the report";
