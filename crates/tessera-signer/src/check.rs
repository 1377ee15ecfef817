//! `tessera signer check`: everything that `run` would find wrong, without listening.

use std::path::Path;

use tessera_kit::{ProgramError, SettingFile};
use tessera_proxy::check::{self, Table, joined};
use tessera_proxy::config::warnings;

use crate::config::{KeySection, LoadedSigner, Signer};
use crate::load;

/// Checks a file, and the files it names, as [`run`](crate::run()) does, and prints what `run` would do.
///
/// # Errors
/// If the configuration could not run.
pub fn check(path: &Path) -> Result<(), ProgramError> {
    check::print(summary(path)?)
}

/// Returns the text that [`check()`] prints.
///
/// # Errors
/// If the configuration could not run.
pub fn summary(path: &Path) -> Result<String, ProgramError> {
    let loaded = LoadedSigner::read(path)?;
    let tables = tables(&loaded.signer).map_err(|error| loaded.locate(error))?;
    Ok(check::text(path, &tables))
}

fn tables(signer: &Signer) -> Result<Vec<Table>, ProgramError> {
    load::tls(&signer.signer, &signer.limits)?;
    let mut tables = vec![of_process(signer), of_signer(signer)];
    for (name, section) in &signer.key {
        tables.push(of_key(name, section)?);
    }
    Ok(tables)
}

fn of_process(signer: &Signer) -> Table {
    let mut table = Table::new("[process]");
    let admin = signer.process.admin.as_ref();
    let off = "off: `admin` is not set".to_owned();
    table.row("metrics and health", admin.map_or(off, ToString::to_string));
    table.rows("warning", admin.and_then(|it| warnings::open_admin("[process] admin", it)));
    table
}

fn of_signer(signer: &Signer) -> Table {
    let section = &signer.signer;
    let mut table = Table::new("[signer]");
    table.row("listens on", section.listen);
    table.row("clients' authority", section.ca.display());
    let path = section.key.as_ref().unwrap_or(&section.certificate);
    let file = SettingFile { setting: "[signer] key", path };
    table.rows("warning", warnings::readable_secret(file));
    table
}

fn of_key(name: &str, section: &KeySection) -> Result<Table, ProgramError> {
    let key = load::key(name, section)?;
    let mut table = Table::new(format!("[key.{name}]"));
    let schemes = key.schemes().iter().map(|scheme| format!("{:#06x}", scheme.0));
    table.row("schemes", joined(schemes));
    table.row("allowed", joined(&section.allow));
    table.row(
        "each of them",
        format_args!("{} signatures a second, {} at once", section.rate, section.burst()),
    );
    let setting = format!("[key.{name}] key");
    if let Some(path) = section.key.as_ref().or(section.certificate.as_ref()) {
        table.rows("warning", warnings::readable_secret(SettingFile { setting: &setting, path }));
    }
    Ok(table)
}
