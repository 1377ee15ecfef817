//! Writing a report.

use serde::Serialize;

use super::json::json;
pub(crate) use super::json::{ROWS, SAMPLES};
use super::options::Options;
use crate::error::LabError;

/// Writes a report to the destinations in the options: as JSON with lines down to this depth, and its page, if it has
/// one.
pub(crate) fn write<R: Serialize>(
    options: &Options,
    report: &R,
    lines: usize,
    page: Option<fn(&R) -> serde_json::Result<String>>,
) -> Result<(), LabError> {
    let write = || {
        if let Some(destination) = &options.json {
            destination.write(&json(report, lines)?)?;
        }
        if let (Some(destination), Some(page)) = (&options.page, page) {
            destination.write(page(report)?.as_bytes())?;
        }
        Ok(())
    };
    write().map_err(LabError::system("writing the report"))
}
