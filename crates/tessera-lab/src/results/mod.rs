//! The tables and figures of papers' evaluations, made from the reports of the experiments: a paper's numbers next to
//! ours, and what it left open. This module has those of the paper on roaming; `bithac` has those of the one on caching
//! handshakes, `edge` those of the one on service continuity, `mobile` those of the one on mobile clients. Those of clients
//! on devices are the experiment's own (`crate::embedded`).
//!
//! Everything here is a pure function of the reports, so that any reader can recompute it, and a test does: every
//! printed number has its samples.

mod bithac;
mod check;
mod edge;
mod input;
mod markdown;
mod mobile;
mod numbers;
mod page;
mod paper;
mod tables;

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use self::input::Inputs;
use crate::embedded;
use crate::error::{LabError, words};
use crate::experiment::Destination;
use crate::table::Table;

/// A paper whose evaluation is repeated, or an experiment of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paper {
    /// On roaming (Lastre et al., Sensors 2025), of `roaming.json`, `load.json` and `traffic.json`.
    #[default]
    Roaming,
    /// On caching handshakes (Bodenhausen et al.), of `bithac.json` and `tls12.json`.
    Bithac,
    /// On service continuity at the edge (Catoni et al.), of `edge.json`, `edge-boring.json`, `edge-envoy.json`
    /// and `edge-gap.json`.
    Edge,
    /// On mobile clients (Caminati et al.), of `dtls.json`.
    Mobile,
    /// None: clients on devices, of `embedded.json`.
    Embedded,
}

/// The input and the output.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of which paper.
    pub of: Paper,
    /// Where its reports are; each may be missing.
    pub directory: PathBuf,
    /// Where a page with figures goes.
    pub page: Option<Destination>,
    /// Markdown texts whose tables, each between its marks, are replaced. The rest stays. Each table has its marks in one
    /// of them.
    pub markdown: Vec<PathBuf>,
}

/// Reads the reports and writes the requested output; by default, prints all tables.
///
/// # Errors
///
/// - [`LabError::Options`] if the directory has no report at all, a file can't be read or is no report of its
///   experiment, or a text lacks the marks of a table.
/// - [`LabError::System`] if a file can't be written.
pub fn run(options: &Options) -> Result<(), LabError> {
    let (mut tables, page, [sentence, rest]) = match options.of {
        Paper::Bithac => {
            let inputs = bithac::Inputs::read(&options.directory)?;
            report_missing(inputs.missing());
            let page = options.page.is_some().then(|| bithac::page(&inputs)).transpose()?;
            (bithac::all(&inputs), page, bithac::answer(&inputs))
        }
        Paper::Edge => {
            let inputs = edge::Inputs::read(&options.directory)?;
            report_missing(inputs.missing());
            let page = options.page.is_some().then(|| edge::page(&inputs)).transpose()?;
            (edge::all(&inputs), page, edge::answer(&inputs))
        }
        Paper::Mobile => {
            let inputs = mobile::Inputs::read(&options.directory)?;
            let page = options.page.is_some().then(|| mobile::page(&inputs)).transpose()?;
            (mobile::all(&inputs), page, mobile::answer(&inputs))
        }
        Paper::Embedded => {
            let report = embedded::read(&options.directory)?;
            let page = options.page.is_some().then(|| embedded::page(&report)).transpose()?;
            (embedded::tables(&report), page, embedded::summary(&report))
        }
        Paper::Roaming => {
            let inputs = Inputs::read(&options.directory)?;
            report_missing(inputs.missing());
            let tables = tables::all(&inputs);
            let has_text = options.directory.join("roaming.md").exists();
            let page = options.page.is_some().then(|| page::render(&inputs, &tables, has_text));
            let answer = page::answer::of(&inputs, &tables);
            (tables, page, answer)
        }
    };
    tables.push(("answer", Some(Table::with_note(format!("**{sentence}** {rest}"), ""))));
    fill(&options.markdown, &tables)?;
    if let (Some(destination), Some(page)) = (&options.page, page) {
        destination.write(page.as_bytes()).map_err(LabError::system("writing the page"))?;
    }
    if options.markdown.is_empty() && options.page.is_none() {
        for (name, table) in &tables {
            let made = markdown::of(table.as_ref());
            Destination::StandardOutput
                .write(format!("## {name}\n\n{made}\n").as_bytes())
                .map_err(LabError::system("writing the tables"))?;
        }
    }
    Ok(())
}

/// Replaces the tables of texts; writes none if one of them is wrong, or if none has a place for a table.
fn fill(paths: &[PathBuf], tables: &[(&str, Option<Table>)]) -> Result<(), LabError> {
    let mut filled = HashSet::new();
    let mut texts = Vec::new();
    for path in paths {
        let wrong =
            |what: &str| LabError::Options(format!("--markdown: {}: {what}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| wrong(&words(&error)))?;
        let made = markdown::fill(&text, tables, &mut filled).map_err(|what| wrong(&what))?;
        texts.push((path, made));
    }
    if let Some((name, _)) = tables.iter().find(|(name, _)| !filled.contains(name))
        && !paths.is_empty()
    {
        let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(LabError::Options(format!(
            "--markdown: no `<!-- table {name} -->` in {}: add the mark, with `{}` below it, or name the text that \
             has it, too",
            paths.join(" or "),
            markdown::END
        )));
    }
    for (path, made) in texts {
        let what = format!("writing {}", path.display());
        Destination::File(path.clone()).write(made.as_bytes()).map_err(LabError::system(what))?;
    }
    Ok(())
}

fn report_missing(names: impl Iterator<Item = &'static str>) {
    for name in names {
        eprintln!("{name} is missing: its tables read `not recorded yet`.");
    }
}

#[cfg(test)]
mod tests;
