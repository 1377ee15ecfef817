//! Listeners, local network functions, and limits.

use tessera_kit::ProgramError;
use tessera_proxy::config::{
    Contradiction, check_listeners, find_zero_count, find_zero_time, wrong,
};

use super::peers;
use crate::config::{Configuration, Limits, Nrf, Sbi};

pub(super) fn check(configuration: &Configuration) -> Result<(), ProgramError> {
    listeners(configuration)?;
    let found = of_sbi(&configuration.sbi).map(|(key, what)| ("sbi", key, what));
    let nrf = || {
        let nrf = configuration.nrf.as_ref()?;
        of_nrf(nrf, &configuration.sbi).map(|(key, what)| ("nrf", key, what))
    };
    let limits = || of_limits(&configuration.limits).map(|(key, what)| ("limits", key, what));
    let rest = || of_tickets_and_guard(configuration);
    match found.or_else(nrf).or_else(limits).or_else(rest) {
        Some((table, key, what)) => wrong(table, key, what),
        None => Ok(()),
    }
}

fn listeners(configuration: &Configuration) -> Result<(), ProgramError> {
    let listen = &configuration.listen;
    let listeners = [
        ("process", "admin", configuration.process.admin.as_ref()),
        ("listen", "sbi", Some(&listen.sbi)),
        ("listen", "n32c", Some(&listen.n32c)),
        // Sharing one listener is allowed.
        ("listen", "n32f", Some(&listen.n32f).filter(|_| !listen.is_shared())),
    ];
    let listeners = listeners.into_iter();
    check_listeners(listeners.filter_map(|(table, key, address)| Some((table, key, address?))))
}

fn of_sbi(sbi: &Sbi) -> Contradiction {
    if sbi.key.is_some() && sbi.certificate.is_none() {
        return Some(("key", "needs the `certificate` that it belongs to"));
    }
    if sbi.client_certificates == Some(true) && (sbi.ca.is_none() || sbi.certificate.is_none()) {
        return Some(("client-certificates", "needs TLS and roots: set `certificate` and `ca`"));
    }
    if sbi.client_certificates == Some(false) && (sbi.ca.is_none() || sbi.certificate.is_none()) {
        return Some((
            "client-certificates",
            "without `certificate` and `ca` no client is asked for one: remove the key",
        ));
    }
    if sbi.allowed_targets.as_ref().is_some_and(Vec::is_empty) {
        return Some((
            "allowed-targets",
            "must not be empty: remove the key for the default, the own networks' domains",
        ));
    }
    let is_prefix =
        |prefix: &String| prefix.len() > 1 && prefix.starts_with('/') && !prefix.ends_with('/');
    if !sbi.target_prefixes.iter().all(is_prefix) {
        return Some((
            "target-prefixes",
            "a prefix must begin with a slash and end without one: \"/core1\"",
        ));
    }
    None
}

fn of_nrf(nrf: &Nrf, sbi: &Sbi) -> Contradiction {
    if nrf.uri.scheme_str() == Some("https") && sbi.ca.is_none() {
        return Some((
            "uri",
            "`https` needs roots to verify the NRF's certificate: set `[sbi] ca`",
        ));
    }
    if nrf.heartbeat.is_zero() {
        return Some(("heartbeat", "must not be zero: remove the key for the default, 10 seconds"));
    }
    let is_uuid = |text: &str| {
        let lengths: Vec<_> = text.split('-').map(str::len).collect();
        let is_letter = |c: char| c.is_ascii_hexdigit() || c == '-';
        lengths == [8, 4, 4, 4, 12] && text.chars().all(is_letter)
    };
    if nrf.instance_id.as_deref().is_some_and(|id| !is_uuid(id)) {
        return Some((
            "instance-id",
            "must be a UUID (TS 29.571 §5.3.2): generate one with uuidgen, or remove the key",
        ));
    }
    None
}

fn of_limits(limits: &Limits) -> Contradiction {
    let counts = [
        ("requests", limits.requests as usize),
        ("streams", limits.streams as usize),
        ("headers", limits.headers),
    ];
    let found = limits.gate().find_contradiction().or_else(|| find_zero_count(&counts));
    if found.is_some() {
        return found;
    }
    if limits.header_bytes < 4_096 {
        return Some(("header-bytes", "must be at least 4 KiB: requests of a core need that much"));
    }
    if limits.body == 0 {
        return Some(("body", "must not be zero: remove the key for the default, 16 MiB"));
    }
    find_zero_time(&[
        ("handshake", limits.handshake),
        ("connect", limits.connect),
        ("head", limits.head),
        ("body-idle", limits.body_idle),
        ("response", limits.response),
        ("idle", limits.idle),
        ("write", limits.write),
    ])
}

fn of_tickets_and_guard(
    configuration: &Configuration,
) -> Option<(&'static str, &'static str, &'static str)> {
    let tickets = &configuration.tickets;
    if !peers::is_lifetime(tickets.lifetime) {
        return Some(("tickets", "lifetime", peers::LIFETIME));
    }
    if let Some((key, what)) = tickets.stores().find_contradiction() {
        return Some(("tickets", key, what));
    }
    if configuration.guard.inspected_body > configuration.limits.body {
        let what = "must not exceed `[limits] body`";
        return Some(("guard", "inspected-body", what));
    }
    if configuration.guard.json_depth == 0 {
        return Some((
            "guard",
            "json-depth",
            "must be at least 1: remove the key for the default, 64",
        ));
    }
    None
}
