//! `tessera edge check`: everything that `run` would find wrong, without listening.

use std::path::Path;

use tessera_kit::{ProgramError, hex};
use tessera_proxy::check::{self, Table, in_words, joined};
use tessera_proxy::stores::Stores;
use tessera_vault::WrappingPurpose;

use crate::config::{EdgeConfig, LoadedEdge, NamedBy, ServiceSection};
use crate::{load, signer, tls, warnings};

/// Checks a file, and the files it names, as [`run`](crate::run()) does, and prints what `run` would do.
///
/// It opens no store, and reaches neither other proxies nor services.
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
    let loaded = LoadedEdge::read(path)?;
    let tables = tables(&loaded.edge).map_err(|error| loaded.locate(error))?;
    Ok(check::text(path, &tables))
}

fn tables(edge: &EdgeConfig) -> Result<Vec<Table>, ProgramError> {
    load::check_store(&edge.pool)?;
    load::pool_keys(&edge.pool.key, WrappingPurpose::ClientState)?;
    let stores = Stores::in_memory();
    tls::for_clients(edge, &stores)?;
    tls::for_peers(&edge.peers)?;
    edge.proxy.signer.as_ref().map(signer::tls).transpose()?;
    let mut tables = vec![of_pool(edge), of_proxy(edge)?];
    for (name, section) in &edge.service {
        section.ca.as_ref().map(|ca| tls::for_instances(name, ca)).transpose()?;
        tables.push(of_service(name, section));
    }
    let warnings = warnings::of(edge)?;
    if !warnings.is_empty() {
        let mut table = Table::new("warnings");
        table.rows("warning", warnings);
        tables.push(table);
    }
    Ok(tables)
}

fn of_pool(edge: &EdgeConfig) -> Table {
    let pool = &edge.pool;
    let mut table = Table::new("[pool]");
    match (&pool.etcd, &pool.file) {
        (Some(etcd), _) => table.row("store", format_args!("etcd at {}", joined(&etcd.endpoints))),
        (None, Some(path)) => table.row("store", path.display()),
        (None, None) => (),
    }
    table.row("announcements", format_args!("ma={}", pool.ma.as_secs()));
    table.row("a client stays", format_args!("at least {}", in_words(pool.dwell)));
    table
}

fn of_proxy(edge: &EdgeConfig) -> Result<Table, ProgramError> {
    let proxy = &edge.proxy;
    let mut table = Table::new("[proxy]");
    table.row("name", &proxy.name);
    match (&proxy.listen, &edge.ext_authz) {
        (_, Some(envoy)) => {
            table.row("clients connect to", "an Envoy of this host");
            table.row("answers it at", envoy.socket.display());
        }
        (Some(listen), None) => table.row("listens on", listen),
        (None, None) => (),
    }
    table.row("announced as", &proxy.announce);
    if let Some(signer) = &proxy.signer {
        let servers = joined(&signer.servers);
        table.row("private key", format_args!("`{}` of the signers at {servers}", signer.name));
    }
    table.row("resumes with proxies of", &tls::resumption(edge)?[..16]);
    let leaf = tls::leaf(proxy)?;
    if let Some(envoys) = tls::envoys(edge, &leaf) {
        let context = hex::encode(&envoys.context()?.0);
        table.row(
            "shares tickets with",
            format_args!("Envoys of {}, context {}", envoys.pool, &context[..16]),
        );
    }
    let early = match &proxy.one_time_keys {
        Some(_) if edge.clients.named_by == NamedBy::Certificate => {
            "forward-secret, at most once; one-time keys move with their client"
        }
        Some(_) => "forward-secret, at most once; one-time keys stay here",
        None => "never: `one-time-keys` is not set",
    };
    table.row("early data", early);
    let clients = match edge.clients.named_by {
        NamedBy::Nothing => "have no names, and don't move",
        NamedBy::Certificate => {
            "are named by their certificates; others have no name, and don't move"
        }
        NamedBy::Cookie => "are named by a cookie",
    };
    table.row("clients", clients);
    let peers = &edge.peers;
    table.row("other proxies", format_args!("{}, reached at {}", peers.listen, peers.address));
    Ok(table)
}

fn of_service(name: &str, section: &ServiceSection) -> Table {
    let mut table = Table::new(format!("[service.{name}]"));
    let hosts =
        if section.hosts.is_empty() { "every host".to_owned() } else { joined(&section.hosts) };
    table.row("serves", format_args!("{hosts}, {}", section.path));
    table.row("instances", joined(section.instances.iter().map(|it| &it.address)));
    if !section.methods.is_empty() {
        table.row("methods", joined(&section.methods));
    }
    if !section.admit.is_empty() {
        table.row("admits", joined(&section.admit));
    }
    let state = section.state.as_ref();
    table.row("clients' state", state.map_or("none", |path| path.as_str()));
    table
}
