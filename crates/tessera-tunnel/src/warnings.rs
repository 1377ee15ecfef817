//! Configurations that are valid but probably not intended: `check` prints these warnings, and a start logs them.

use std::path::Path;

use tessera::Role;
use tessera_kit::SettingFile;
use tessera_proxy::config::warnings;

use crate::config::{Anchors, ClientSection, End, Process, ServerSection};
use crate::tls;

pub(crate) fn of_process(process: &Process) -> Option<String> {
    let admin = process.admin.as_ref()?;
    warnings::open_admin("[process] admin", admin)
}

pub(crate) fn of_server(name: &str, section: &ServerSection) -> Vec<String> {
    let end = section.end(name);
    let mut warnings = of_end(&end, Role::Server);
    warnings.extend(section.fleet.iter().flat_map(|fleet| fleet.readable_keys(&end.label)));
    warnings
}

pub(crate) fn of_client(name: &str, section: &ClientSection) -> Vec<String> {
    let end = section.end(name);
    let mut warnings = of_end(&end, Role::Client);
    warnings.extend(no_identity(&end));
    warnings
}

fn no_identity(end: &End<'_>) -> Option<String> {
    let has_none = end.certificate.is_none() && end.key.is_none() && end.peers.psk_file.is_none();
    has_none.then(|| {
        let setting = end.setting("certificate");
        format!(
            "{setting}: without certificate, key or PSK every server end refuses this client; set `certificate` and \
             `key`, or `peers.psk-file`"
        )
    })
}

fn of_end(end: &End<'_>, role: Role) -> Vec<String> {
    let certificate = tls::warning(&end.label, end.certificate, role);
    let key = end.key.or(end.certificate).and_then(|path| readable_secret(end, "key", path));
    let psks = end.peers.psk_file.as_deref();
    let psks = psks.and_then(|path| readable_secret(end, "peers.psk-file", path));
    certificate.into_iter().chain(key).chain(psks).chain(no_root(end)).collect()
}

fn readable_secret(end: &End<'_>, key: &str, path: &Path) -> Option<String> {
    warnings::readable_secret(SettingFile { setting: &end.setting(key), path })
}

fn no_root(end: &End<'_>) -> Option<String> {
    let Some(Anchors::File(path)) = &end.peers.ca else { return None };
    let setting = &end.setting("peers.ca");
    let otherwise = ", or, if this is intended, its SHA-256 in `fingerprints`";
    warnings::leaf_as_root(SettingFile { setting, path }, otherwise)
}
