//! Writing a report.

use serde::Serialize;

use super::options::Options;
use super::report::json;
use crate::error::LabError;

/// Writes a report to where the options want it.
pub(crate) fn write<R: Serialize>(
    options: &Options,
    report: &R,
    page: fn(&R) -> serde_json::Result<String>,
) -> Result<(), LabError> {
    let write = || {
        if let Some(destination) = &options.json {
            destination.write(&json(report)?)?;
        }
        if let Some(destination) = &options.page {
            destination.write(page(report)?.as_bytes())?;
        }
        Ok(())
    };
    write().map_err(LabError::system("writing the report"))
}
