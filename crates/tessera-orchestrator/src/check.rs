//! `tessera orchestrator check`: everything that `run` would find wrong, without listening.

use std::path::Path;

use tessera_kit::{ProgramError, SettingFile};
use tessera_proxy::check::{self, Table, in_words, joined};
use tessera_proxy::config::warnings;

use crate::config::{Configuration, LoadedConfiguration};
use crate::load;

/// Checks a file, and the files it names, as [`run`](crate::run()) does, and prints what `run` would do.
///
/// It opens no store, and listens nowhere.
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
    let loaded = LoadedConfiguration::read(path)?;
    let tables = tables(&loaded.configuration).map_err(|error| loaded.locate(error))?;
    Ok(check::text(path, &tables))
}

fn tables(configuration: &Configuration) -> Result<Vec<Table>, ProgramError> {
    let Configuration { process, pool, api, moves } = configuration;
    load::check_store(pool)?;
    load::api(api)?;

    let mut of_process = Table::new("[process]");
    let admin = process.admin.as_ref();
    of_process.row(
        "metrics and health",
        admin.map_or("off: set `admin`".to_owned(), ToString::to_string),
    );
    let open = admin.and_then(|admin| warnings::open_admin("[process] admin", admin));
    of_process.rows("warning", open);

    let mut of_pool = Table::new("[pool]");
    match (&pool.etcd, &pool.file) {
        (Some(etcd), _) => {
            let members = joined(&etcd.endpoints);
            of_pool.row("store", format_args!("etcd at {members}, below {}", pool.prefix()));
        }
        (None, file) => {
            let path = file.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            of_pool.row("store", format_args!("the file {path}, of this process alone"));
            of_pool.row("warning", "no proxy can reach this store: use etcd for a pool");
        }
    }
    of_pool.row("a client stays for", in_words(pool.dwell));
    of_pool.row("a proxy prepares for", format_args!("at most {}", in_words(pool.prepare)));
    of_pool.row("an announcement lasts", format_args!("at most {}", in_words(pool.follow)));
    of_pool.row("the earlier proxy", format_args!("forwards for {}", in_words(pool.times().drain)));

    let mut of_api = Table::new("[api]");
    of_api.row("listens at", &api.listen);
    let operators = api.operators.as_ref().map(joined);
    let operators = operators.as_deref().unwrap_or("all holders of a certificate of `ca`");
    of_api.row("changes by", operators);
    let key = api.key.as_ref().unwrap_or(&api.certificate);
    let key = SettingFile { setting: "[api] key", path: key };
    of_api.rows("warning", warnings::readable_secret(key));
    let ca = SettingFile { setting: "[api] ca", path: &api.ca };
    of_api.rows("warning", warnings::leaf_as_root(ca, ""));

    let mut of_moves = Table::new("[moves]");
    of_moves.row("waiting requests", format_args!("at most {}", moves.waiting));
    let fewer = moves.hysteresis;
    of_moves.row("`auto` moves", format_args!("to a proxy with {fewer} % fewer clients"));
    let (at_once, rate) = (moves.drain_at_once, moves.drain_per_second);
    of_moves.row("drains move", format_args!("{rate} clients a second, {at_once} at once"));
    Ok(vec![of_process, of_pool, of_api, of_moves])
}
