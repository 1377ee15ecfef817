//! `tessera advise`: advice from facts and measurements.

use std::fs;
use std::io::Write;

use serde::Serialize;
use tessera_advise::advise;
use tessera_advise::evidence::Evidence;
use tessera_advise::facts::{Facts, SourcedFacts};
use tessera_advise::table_6::table_6;
use tessera_kit::{ProgramError, SettingFile};

use crate::arguments::AdviseArguments;

/// Seoul to Los Angeles, the longer of the paper's links, in milliseconds.
const PAPERS_LINK: f64 = 134.0;

/// Writes advice, the table or the evidence to standard output.
pub(crate) fn run(arguments: AdviseArguments) -> Result<(), ProgramError> {
    let AdviseArguments { facts, results, json, table_6: table, evidence: itself, given } =
        arguments;
    let of_file = match &facts {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| {
                ProgramError::input(SettingFile { setting: "advise", path }, &error)
            })?;
            SourcedFacts::in_file(path, &text).map_err(|error| wrong(&error))?
        }
        None => SourcedFacts::default(),
    };
    let given = of_file.with_options(given.given());
    let evidence = Evidence::embedded().map_err(|error| wrong(&error))?;
    let evidence = match &results {
        Some(directory) => Evidence::in_directory(directory)
            .map_err(|error| wrong(&error))?
            .with_protections_of(evidence),
        None => evidence,
    };
    if itself {
        // Reject options that would be ignored.
        given.only(&[], "--evidence").map_err(|error| wrong(&error))?;
        return write(&evidence.for_advice().to_json().map_err(|error| wrong(&error))?);
    }
    if table {
        given.only(&["round-trip"], "--table-6").map_err(|error| wrong(&error))?;
        let rtt_ms = given.round_trip_ms().map_err(|error| wrong(&error))?.unwrap_or(PAPERS_LINK);
        let table = table_6(&evidence, rtt_ms);
        return write(&if json { as_json(&table)? } else { table.to_string() });
    }
    let facts: Facts = given.facts().map_err(|error| wrong(&error))?;
    let advice = advise(&evidence, &facts).map_err(|error| wrong(&error))?;
    write(&if json { as_json(&advice)? } else { advice.to_string() })
}

fn wrong(error: &dyn std::error::Error) -> ProgramError {
    ProgramError::settings(error.to_string())
}

fn as_json(value: &impl Serialize) -> Result<String, ProgramError> {
    let json = serde_json::to_string_pretty(value);
    json.map(|json| json + "\n").map_err(|error| ProgramError::failed("writing JSON", error))
}

fn write(text: &str) -> Result<(), ProgramError> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| ProgramError::failed("writing to standard output", error))
}
