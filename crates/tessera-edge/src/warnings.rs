//! Configurations that are valid but probably not intended: `check` prints these warnings, and a start logs them.

use std::net::IpAddr;
use std::path::Path;

use tessera_kit::{ProgramError, SettingFile};
use tessera_proxy::address::ListenAddress;
use tessera_proxy::config::warnings::{open_admin, readable_secret};
use tessera_webpki::dns_names;

use crate::config::EdgeConfig;
use crate::tls;

/// Returns the warnings about a configuration whose files can be read.
///
/// # Errors
/// If the names of the certificate can't be read.
pub(crate) fn of(edge: &EdgeConfig) -> Result<Vec<String>, ProgramError> {
    let proxy = &edge.proxy;
    let names = dns_names(&tls::leaf(proxy)?).map_err(|error| {
        ProgramError::in_file(&proxy.certificate, format!("its names can't be read: {error}"))
    })?;
    let admin = edge.process.admin.as_ref();
    let mut warnings: Vec<_> =
        admin.and_then(|it| open_admin("[process] admin", it)).into_iter().collect();
    warnings.extend(readable_keys(edge));
    warnings.extend(missing_directories(edge));
    warnings.extend(hosts_without_certificate(edge, &names));
    warnings.extend(envoys_of_other_names(edge, &names));
    Ok(warnings)
}

fn readable_keys(edge: &EdgeConfig) -> impl Iterator<Item = String> {
    let (proxy, peers) = (&edge.proxy, &edge.peers);
    let own = proxy.signer.is_none().then(|| proxy.key.as_ref().unwrap_or(&proxy.certificate));
    let of_peers = Some(peers.key.as_ref().unwrap_or(&peers.certificate));
    [("[proxy] key", own), ("[peers] key", of_peers)]
        .into_iter()
        .filter_map(|(setting, path)| readable_secret(SettingFile { setting, path: path? }))
}

/// A socket is created when the proxy starts, and its directory may be, too: by systemd, or by Envoy's unit.
fn missing_directories(edge: &EdgeConfig) -> impl Iterator<Item = String> {
    let listeners = [
        ("[process] admin", edge.process.admin.as_ref()),
        ("[proxy] listen", edge.proxy.listen.as_ref()),
        ("[peers] listen", Some(&edge.peers.listen)),
    ];
    let sockets = listeners.into_iter().filter_map(|(setting, address)| match address? {
        ListenAddress::Unix(path) => Some((setting, path.as_path())),
        _ => None,
    });
    let envoy = edge.ext_authz.iter().map(|it| ("[ext-authz] socket", it.socket.as_path()));
    sockets.chain(envoy).filter_map(|(setting, path)| {
        let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        (!directory.is_dir()).then(|| {
            format!(
                "{setting}: there is no directory {}: it must exist when the proxy starts",
                directory.display()
            )
        })
    })
}

fn hosts_without_certificate(edge: &EdgeConfig, names: &[String]) -> impl Iterator<Item = String> {
    edge.service.iter().flat_map(move |(service, section)| {
        let is_named = |host: &&String| {
            // Addresses are no DNS names.
            host.parse::<IpAddr>().is_ok() || names.iter().any(|name| covers(name, host))
        };
        section.hosts.iter().filter(move |host| !is_named(host)).map(move |host| {
            format!(
                "[service.{service}] hosts: [proxy] certificate is not for {host}, so its clients refuse this proxy"
            )
        })
    })
}

fn envoys_of_other_names(edge: &EdgeConfig, names: &[String]) -> Option<String> {
    let chain = &edge.envoys.as_ref()?.server_names;
    // Envoy's `*.example` covers any number of labels.
    let is_reached = |name: &String| {
        chain.iter().any(|it| {
            let suffix = it.strip_prefix('*');
            it == name || covers(name, it) || suffix.is_some_and(|suffix| name.ends_with(suffix))
        })
    };
    (!chain.is_empty() && !names.iter().any(is_reached)).then(|| {
        format!(
            "[envoys] server-names: none of them is a name of [proxy] certificate ({}), so no client has a session with \
             both: compare `server_names` of the Envoys' filter chain",
            names.join(", ")
        )
    })
}

/// Whether a certificate with this name is for a host (RFC 6125 §6.4.3).
fn covers(name: &str, host: &str) -> bool {
    let rest = || host.split_once('.').map(|(_, rest)| rest);
    name == host || name.strip_prefix("*.").is_some_and(|domain| rest() == Some(domain))
}
