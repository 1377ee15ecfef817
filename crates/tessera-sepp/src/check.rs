//! `tessera sepp check`: finds every error that `run` would find, without listening.

use std::fmt::{self, Display};
use std::path::Path;
use std::sync::Arc;

use tessera_kit::{ProgramError, clock};
use tessera_proxy::certificates::{CertificateEnd, days_left};
use tessera_proxy::check::{self, Table, joined};
use tessera_proxy::stores::Stores;

use crate::config::{ApiRule, Configuration, EarlyData, Peer, PeerGuard};
use crate::identity::{AssociationId, AssociationLookup, CertificateIdentity};
use crate::load::LoadedConfiguration;
use crate::names::Fqdn;
use crate::running::{certificates, guard, random_key};
use crate::sbi;
use crate::tls::N32Tls;

/// Checks a file, and the files that it names, as [`run`](crate::run) does, and writes to standard output what it would
/// do.
///
/// It doesn't listen, connect or open the state, which a running process may be using.
///
/// # Errors
/// If `run` would fail.
pub fn check(file: &Path) -> Result<(), ProgramError> {
    let loaded = LoadedConfiguration::read(file)?;
    let tables = tables(&loaded.configuration).map_err(|error| loaded.locate(error))?;
    check::print(check::text(file, &tables))
}

/// Returns what the SEPP would do, from all its files.
fn tables(configuration: &Configuration) -> Result<Vec<Table>, ProgramError> {
    let stores = Stores::check(&configuration.tickets.stores())?;
    let tls = N32Tls::open(configuration, &stores, Arc::new(NoAssociations))?;
    sbi::tls::listener(&configuration.sbi)?;
    sbi::tls::connector(&configuration.sbi)?;
    guard(configuration, &random_key()?)?;
    let mut tables = vec![of_this(configuration, &tls)];
    tables.extend(configuration.peer.iter().map(|(name, peer)| of_peer(name, peer)));
    let mut warnings = configuration.warnings();
    let functions = sbi::tls::expires_at(&configuration.sbi)?;
    let ends = certificates::of_files(configuration, tls.ages(), functions);
    warnings.extend(ends.iter().filter_map(CertificateEnd::warning));
    if !warnings.is_empty() {
        let mut table = Table::new("warnings");
        table.rows("warning", warnings);
        tables.push(table);
    }
    Ok(tables)
}

struct NoAssociations;

impl AssociationLookup for NoAssociations {
    fn established(&self, _: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        None
    }
}

fn of_this(configuration: &Configuration, tls: &N32Tls) -> Table {
    let (local, listen, sbi) = (&configuration.local, &configuration.listen, &configuration.sbi);
    let mut table = Table::new(format!("{} for {}", local.fqdn, local.plmns));
    let own = tls.ages().iter().find(|age| age.anchor.is_none());
    let days = own.map_or(0, |own| days_left(own.expires_at, clock::unix().as_secs()));
    table.row("certificate", format_args!("{}, {days} days left", local.certificate.display()));
    match listen.is_shared() {
        true => table.row("N32-c and N32-f", &listen.n32c),
        false => {
            table.row("N32-c", &listen.n32c);
            table.row("N32-f", &listen.n32f);
        }
    }
    let sbi_way = match (&sbi.certificate, &sbi.ca) {
        (None, _) => "plaintext HTTP/2 and HTTP/1.1",
        (Some(_), Some(_)) if sbi.client_certificates != Some(false) => "mutual TLS",
        (Some(_), _) => "TLS",
    };
    table.row("SBI", format_args!("{}, {sbi_way}", listen.sbi));
    let targets = match &sbi.allowed_targets {
        None => format!("the domains of {}", local.plmns),
        Some(targets) => joined(targets.iter()),
    };
    table.row("peers may reach", targets);
    if !sbi.target_prefixes.is_empty() {
        table.row("target prefixes", joined(sbi.target_prefixes.iter()));
    }
    if let Some(domain) = &sbi.telescopic_domain {
        table.row("telescopic names", format_args!("*.{domain}"));
    }
    let tickets = &configuration.tickets;
    let place = match (&tickets.state, &tickets.fleet) {
        (_, Some(fleet)) => format!("etcd at {}", fleet.etcd.endpoints.join(", ")),
        (Some(state), None) => format!("in {}", state.display()),
        (None, None) => "in memory: a restart costs each peer a full handshake".to_owned(),
    };
    table.row("ticket keys", place);
    let admin = configuration.process.admin.as_ref().map(ToString::to_string);
    table.row("metrics, health, peers", admin.as_deref().unwrap_or("off: `admin` is not set"));
    table
}

fn of_peer(name: &str, peer: &Peer) -> Table {
    let mut table = Table::new(format!("[peer.{name}] {}", peer.fqdn));
    table.row("networks", format_args!("{}, verified by [trust.{}]", peer.plmns, peer.anchor));
    let place = match &peer.srv {
        Some(srv) => format!("SRV {srv}"),
        None => joined(peer.address.iter()),
    };
    let begins = match (peer.initiate, place.is_empty()) {
        (true, _) => format!("this SEPP, to {place}"),
        (false, true) => "the peer".to_owned(),
        (false, false) => format!("the peer, or this SEPP on request, to {place}"),
    };
    table.row("connects", begins);
    if !peer.pins.is_empty() {
        table.row("certificate", format_args!("one of {} pinned certificates", peer.pins.len()));
    }
    table.row("reconnection", reconnection(peer));
    let apis = &peer.guard.apis;
    let apis = match *apis == PeerGuard::default().apis {
        true => "the roaming services".to_owned(),
        false => joined(apis.iter()),
    };
    table.row("allowed APIs", apis);
    let rate = &peer.guard.rate;
    let rates = [
        (rate.requests, "requests"),
        (rate.requests_per_service, "requests of one service"),
        (rate.new_connections, "new connections"),
    ];
    let rates: Vec<_> = rates
        .into_iter()
        .filter_map(|(count, what)| count.map(|count| format!("{count} {what}")))
        .collect();
    if !rates.is_empty() {
        table.row("limits per second", rates.join(", "));
    }
    table
}

fn reconnection(peer: &Peer) -> String {
    let it = &peer.reconnection;
    if !it.resume {
        return "(a) with a full handshake each time".to_owned();
    }
    let mut ways = vec!["(a) first, then (c) psk_dhe_ke".to_owned()];
    if it.early_data == EarlyData::Fs {
        let methods = joined(it.early_methods.iter());
        ways.push(format!("(e) forward-secret early data for {methods}"));
    }
    if it.risky_psk_ke {
        ways.push("(b) psk_ke: a risk".to_owned());
    }
    if it.risky_replayable_early_data {
        ways.push("(d) replayable early data is accepted, never sent: a risk".to_owned());
    }
    if !it.repeatable.is_empty() {
        ways.push(format!("sent again: {}", joined(it.repeatable.iter())));
    }
    ways.join("; ")
}

impl Display for ApiRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.service)?;
        if !self.methods.is_empty() || self.path.is_some() {
            write!(f, ": {}", joined(self.methods.iter()))?;
        }
        match &self.path {
            Some(path) => write!(f, " {path}"),
            None => Ok(()),
        }
    }
}
