//! `tessera stek check`: everything that `run` would find wrong, without joining the ring.

use std::path::Path;

use tessera_kit::{ProgramError, volatile};
use tessera_proxy::check::{self, Table, in_words, joined};
use tessera_proxy::config::warnings;

use crate::config::{LoadedStek, Server, Stek};
use crate::load;
use crate::serve;
use crate::state::rough;

/// Checks a file, and the files it names, as [`run`](crate::run()) does, and prints what `run` would do.
///
/// It opens no store, and reaches no server.
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
    let loaded = LoadedStek::read(path)?;
    let tables = tables(&loaded.stek).map_err(|error| loaded.locate(error))?;
    Ok(check::text(path, &tables))
}

fn tables(stek: &Stek) -> Result<Vec<Table>, ProgramError> {
    load::wrapping(&stek.ring)?;
    let member = load::member(&stek.ring)?;
    let mut tables = vec![of_process(stek), of_ring(stek, &member)?];
    let servers = load::servers(stek)?;
    for (section, server) in stek.servers().zip(&servers) {
        let mut table = Table::new(format!("[{}]", server.name));
        table.row("member of the ring", format_args!("{member}/{}", server.name));
        table.row("pool", section.pool());
        match section.server {
            Server::HaProxy(haproxy) => {
                table.row("runtime socket", haproxy.socket.display());
                table.row("key file", haproxy.keys.display());
            }
            Server::Nginx(nginx) => {
                table.row("reloads", format_args!("the master of {}", nginx.pid.display()));
                table.row("key files", joined(nginx.keys.iter().map(|path| path.display())));
            }
            Server::Envoy(envoy) => {
                table.row("serves", format_args!("the secret `{}`", envoy.secret));
                table.row("", format_args!("at {}", envoy.socket.display()));
            }
            Server::Files(files) => {
                table.row("key files", joined(files.keys.iter().map(|path| path.display())));
                table.row("format", &files.format);
                let command = joined(&files.command);
                table.row(
                    "command",
                    if command.is_empty() {
                        "none: the server watches its files"
                    } else {
                        &command
                    },
                );
            }
        }
        table.rows("warning", section.server.key_files().iter().find_map(|path| on_a_disk(path)));
        match section.certificate {
            Some(path) => {
                table.row("compares", format_args!("names and issuer of {}", path.display()))
            }
            None => table.row("compares", "nothing with the others: `certificate` is not set"),
        }
        match section.canary {
            Some(canary) => {
                table.row("canary", format_args!("{} as {}", canary.address, canary.server_name))
            }
            None => table.row("canary", "none: `canary` is not set"),
        }
        tables.push(table);
    }
    Ok(tables)
}

fn of_process(stek: &Stek) -> Table {
    let mut table = Table::new("[process]");
    let admin = stek.process.admin.as_ref();
    let off =
        "off: `admin` is not set, so `status`, `rotate` and `revoke` can't reach this sidecar";
    table.row("metrics and health", admin.map_or(off.to_owned(), ToString::to_string));
    let open = admin.and_then(|admin| warnings::open_admin("[process] admin", admin));
    table.rows("warning", open);
    table
}

fn of_ring(stek: &Stek, member: &str) -> Result<Table, ProgramError> {
    let ring = &stek.ring;
    let mut table = Table::new("[ring]");
    if let Some(etcd) = &ring.etcd {
        tessera_proxy::stores::etcd_client("ring", etcd, load::DEADLINE)?;
        table.row(
            "store",
            format_args!(
                "etcd at {}, below {}",
                joined(&etcd.endpoints),
                load::ring(ring).options().prefix
            ),
        );
    }
    if let Some(path) = &ring.file {
        table.row("store", format_args!("the file {}", path.display()));
        match &ring.serve {
            Some(serve) => {
                serve::acceptor(serve)?;
                table.row("", format_args!("served to other sidecars at {}", serve.listen));
            }
            None => table.row("", "for this sidecar alone"),
        }
    }
    table.row("this sidecar", member);
    table.row("a key seals for", in_words(ring.rotate_every));
    let failures = in_words(ring.rotate_every.saturating_mul(2));
    table.row("", format_args!("at most {failures}, if the ring can't rotate"));
    table.row("tickets live for", in_words(ring.ticket_lifetime));
    // The next key begins to seal up to a rotation later, and seals for two at most.
    let exposed = ring.rotate_every.saturating_mul(3).saturating_add(ring.ticket_lifetime);
    let exposed = rough(exposed.saturating_add(ring.clock_skew));
    table.row("a stolen ring opens", format_args!("tickets until {exposed} after the theft"));
    let cache = ring.cache.as_ref().map(|path| path.display().to_string());
    table.row("cache", cache.as_deref().unwrap_or("none: a start without the store has no keys"));
    Ok(table)
}

/// Returns a warning about a key file that isn't in memory.
fn on_a_disk(path: &Path) -> Option<String> {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let is_memory = volatile::is_memory(directory).ok()?;
    (!is_memory).then(|| {
        format!(
            "{} is not on a tmpfs: a disk keeps old keys, which open recorded tickets; use a directory below /run",
            path.display()
        )
    })
}
