//! `tessera tunnel check`: everything that `run` would find wrong, without listening.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_kit::credential::fingerprint;
use tessera_proxy::certificates::CertificateEnd;
use tessera_proxy::check::{self, Table, in_words, joined};
use tessera_proxy::stores::Stores;

use crate::certificates;
use crate::config::{
    Anchors, ClientSection, Early, EarlyKeyExchange, FleetVault, KeySource, Peers, Process,
    ServerSection, Tunnels,
};
use crate::load::Source;
use crate::metrics::Role;
use crate::{client, tls, warnings};

/// Checks a file, and the files it names, as [`run`](crate::run) does, and prints what `run` would do.
///
/// It doesn't listen, connect or open any state, which a running process may hold.
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
    let loaded = Source::File(path.to_owned()).load()?;
    let tables = tables(&loaded.tunnels).map_err(|error| loaded.locate(error))?;
    Ok(check::text(path, &tables))
}

/// Describes what the tunnels would do; loads all their files.
fn tables(tunnels: &Tunnels) -> Result<Vec<Table>, ProgramError> {
    let mut tables = vec![of_process(&tunnels.process)];
    for (name, section) in &tunnels.server {
        tables.push(of_server(name, section)?);
    }
    for (name, section) in &tunnels.client {
        tables.push(of_client(name, section)?);
    }
    Ok(tables)
}

fn of_process(process: &Process) -> Table {
    let mut table = Table::new("[process]");
    let admin = process.admin.as_ref().map(ToString::to_string);
    table.row("metrics and health", admin.as_deref().unwrap_or("off: `admin` is not set"));
    table.row("drain", in_words(process.drain));
    table.rows("warning", warnings::of_process(process));
    table
}

fn of_server(name: &str, section: &ServerSection) -> Result<Table, ProgramError> {
    let stores = Stores::check(&section.stores(&format!("server.{name}")))?;
    let config = tls::server(name, section, &stores)?;
    let mut table = Table::new(format!("[server.{name}]"));
    table.row("listens on", &section.listen);
    if !section.accept_proxy_from.is_empty() {
        table.row(
            "",
            format_args!("with a PROXY header from {}", joined(&section.accept_proxy_from)),
        );
    }
    let certificate = config.credentials.first().and_then(|own| own.chain.first());
    table.row("certificate", shown(section.certificate.as_deref(), certificate));
    table.row("accepts", allowed(&section.peers, None));
    let early = match section.early {
        Early::Fs => "forward-secret, at most once; the backend is connected first",
        Early::Never => "never",
    };
    table.row("early data", early);
    table.row("ticket keys", where_stores_are(section));
    let proxy = match (section.send_proxy, section.send_proxy_identity) {
        (_, true) => ", with a PROXY header that has the client's identity and the flight's name",
        (true, false) => ", with a PROXY header",
        (false, false) => "",
    };
    let late = if section.wait_for_client { ", at the client's first byte" } else { "" };
    table.row("forwards to", format_args!("{}{proxy}{late}", section.forward));
    if section.tcp_fast_open {
        table.row("TCP Fast Open", "data in SYNs is accepted");
    }
    let limits = &section.limits;
    let mut places = places(limits.connections, limits.connections_per_address);
    if let Some(rate) = limits.new_per_second_per_address {
        let _ = write!(places, ", {rate} new ones per second and address");
    }
    table.row("limits", places);
    table.row("", times(limits.times()));
    table.rows("warning", warnings::of_server(name, section));
    let ends = certificates::of_end(Role::Server, name, &section.end(name));
    table.rows("warning", ends.iter().filter_map(CertificateEnd::warning));
    Ok(table)
}

fn of_client(name: &str, section: &ClientSection) -> Result<Table, ProgramError> {
    let mut warnings = client::check(name, section)?;
    warnings.extend(warnings::of_client(name, section));
    let ends = certificates::of_end(Role::Client, name, &section.end(name));
    warnings.extend(ends.iter().filter_map(CertificateEnd::warning));
    let host = section.connect.host().unwrap_or_default();
    let (config, destination) = tls::client(name, section, &host)?;
    let mut table = Table::new(format!("[client.{name}]"));
    table.row("listens on", &section.listen);
    table.row("connects to", &section.connect);
    table.row("accepts", allowed(&section.peers, Some(&destination.server_name)));
    let certificate = config.credentials.first().and_then(|own| own.chain.first());
    table.row("certificate", shown(section.certificate.as_deref(), certificate));
    let early = match (section.early, section.early_key_exchange) {
        (Early::Never, _) => "never",
        (Early::Fs, EarlyKeyExchange::PskDheKe) => "forward-secret, at most once",
        (Early::Fs, EarlyKeyExchange::PskKe) => {
            "forward-secret, at most once; psk_ke for the rest of the connection"
        }
    };
    table.row("early data", early);
    let sessions = section.sessions.as_deref().map(Path::display);
    let sessions = sessions.map_or("in memory".to_owned(), |it| format!("in {it}"));
    table.row("sessions", sessions);
    table.rows("spare", (section.spare > 0).then(|| format!("{} connections", section.spare)));
    if section.tcp_fast_open {
        table.row("TCP Fast Open", "first flights go in the SYN, with a cookie that links them");
    }
    let limits = &section.limits;
    table.row("limits", places(limits.connections, limits.connections_per_address));
    table.row("", times(limits.times()));
    table.rows("warning", warnings);
    Ok(table)
}

fn shown(path: Option<&Path>, certificate: Option<&Vec<u8>>) -> String {
    match (path, certificate) {
        (Some(path), Some(der)) => format!("{}, SHA-256 {}", path.display(), fingerprint(der)),
        (_, Some(der)) => format!("a raw public key, SHA-256 {}", fingerprint(der)),
        (_, None) => "no certificate".to_owned(),
    }
}

/// Describes which peers are allowed.
fn allowed(peers: &Peers, server_name: Option<&str>) -> String {
    let mut ways = Vec::new();
    if let Some(ca) = &peers.ca {
        let ca = match ca {
            Anchors::System => "the system's authorities".to_owned(),
            Anchors::File(path) => path.display().to_string(),
        };
        let names: Vec<_> = peers.names.iter().chain(&peers.uris).map(String::as_str).collect();
        let whom = match (names.as_slice(), server_name) {
            ([], Some(name)) => format!("for {name}"),
            ([], None) => "for any name".to_owned(),
            (names, _) => format!("for {}", names.join(" or ")),
        };
        let lists = if peers.crl.is_empty() { "" } else { ", not revoked" };
        ways.push(format!("certificates of {ca} {whom}{lists}"));
    }
    let count = |count: usize, what: &str| (count > 0).then(|| format!("{count} {what}"));
    ways.extend(count(peers.fingerprints.len(), "certificates by fingerprint"));
    ways.extend(count(peers.public_keys.len(), "files of public keys"));
    ways.extend(peers.psk_file.as_ref().map(|path| format!("the PSKs of {}", path.display())));
    ways.join("; ")
}

fn where_stores_are(section: &ServerSection) -> String {
    let state = section.state.as_ref().map(|directory| {
        let key = match &section.state_key {
            None => "sealed under a key in the runtime directory".to_owned(),
            Some(KeySource::File(path)) => format!("sealed under {}", path.display()),
            Some(KeySource::Credential(name)) => format!("sealed under the credential {name}"),
        };
        format!("in {}, {key}", directory.display())
    });
    match (&section.fleet, state) {
        (None, None) => "in memory: a restart costs each client a full handshake".to_owned(),
        (None, Some(state)) => state,
        (Some(fleet), state) => {
            let vault = match fleet.vault {
                FleetVault::Etcd => "one-time keys there too".to_owned(),
                FleetVault::Sites => {
                    let own = state.map_or("in memory".to_owned(), |state| state);
                    format!("one-time keys {own}, and burned by site channel")
                }
            };
            format!("in etcd at {}; {vault}", joined(&fleet.etcd.endpoints))
        }
    }
}

fn places(connections: usize, per_address: Option<usize>) -> String {
    let of_one = per_address.map_or(String::new(), |count| format!(", {count} per address"));
    format!("{connections} connections{of_one}")
}

fn times(limits: [(&str, Duration); 4]) -> String {
    joined(limits.map(|(key, time)| format!("{key} {}", in_words(time))))
}
