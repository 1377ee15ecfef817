//! What a configuration may say, and probably doesn't mean: `check` shows it, and a start logs it.

use std::path::Path;

use tessera::Role;
use tessera_kit::SettingFile;
use tessera_proxy::config::warnings;

use crate::config::{Anchors, ClientSection, Peers, Process, ServerSection};
use crate::tls;

pub(crate) fn of_process(process: &Process) -> Option<String> {
    let admin = process.admin.as_ref()?;
    warnings::open_admin("[process] admin", admin)
}

pub(crate) fn of_server(name: &str, section: &ServerSection) -> Vec<String> {
    let ServerSection { certificate, key, peers, .. } = section;
    let own = Own { certificate: certificate.as_deref(), key: key.as_deref(), role: Role::Server };
    let label = format!("server.{name}");
    let mut warnings = of_section(&label, &own, peers);
    if let Some(fleet) = &section.fleet {
        let etcd = (&fleet.etcd.key, fleet.etcd.certificate.as_deref());
        let sites = fleet.sites.as_ref().map(|sites| (&sites.key, Some(&*sites.certificate)));
        let keys = [("fleet.etcd.key", Some(etcd)), ("fleet.sites.key", sites)];
        warnings.extend(keys.into_iter().filter_map(|(setting, files)| {
            let (key, certificate) = files?;
            readable_secret(&label, setting, key.as_deref().or(certificate)?)
        }));
    }
    warnings
}

pub(crate) fn of_client(name: &str, section: &ClientSection) -> Vec<String> {
    let ClientSection { certificate, key, peers, .. } = section;
    let own = Own { certificate: certificate.as_deref(), key: key.as_deref(), role: Role::Client };
    of_section(&format!("client.{name}"), &own, peers)
}

/// What an end shows of itself.
struct Own<'a> {
    certificate: Option<&'a Path>,
    key: Option<&'a Path>,
    role: Role,
}

fn of_section(label: &str, own: &Own<'_>, peers: &Peers) -> Vec<String> {
    let certificate = tls::warning(label, own.certificate, own.role);
    let key = own.key.or(own.certificate).and_then(|path| readable_secret(label, "key", path));
    let psks = peers.psk_file.as_deref();
    let psks = psks.and_then(|path| readable_secret(label, "peers.psk-file", path));
    certificate.into_iter().chain(key).chain(psks).chain(no_root(label, peers)).collect()
}

fn readable_secret(label: &str, key: &str, path: &Path) -> Option<String> {
    warnings::readable_secret(SettingFile { setting: &format!("[{label}] {key}"), path })
}

fn no_root(label: &str, peers: &Peers) -> Option<String> {
    let Some(Anchors::File(path)) = &peers.ca else { return None };
    let setting = &format!("[{label}] peers.ca");
    let otherwise = ", or, where it is intended, its SHA-256 in `fingerprints`";
    warnings::leaf_as_root(SettingFile { setting, path }, otherwise)
}
