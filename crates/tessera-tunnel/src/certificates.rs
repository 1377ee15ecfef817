//! The certificates named by a configuration, and their expiry.

use std::path::Path;

use tessera_kit::{SettingFile, trust};
use tessera_proxy::certificates::{CertificateEnd, CertificateKind, ExpiryWarnings, LOOK_EVERY};
use tokio::sync::watch;

use crate::config::{Anchors, End, Tunnels};
use crate::metrics::{Label, Role, labels};

/// Returns the certificates of all sections.
pub(crate) fn of(tunnels: &Tunnels) -> Vec<CertificateEnd> {
    let servers = tunnels.server.iter();
    let servers = servers.map(|(name, it)| of_end(Role::Server, name, &it.end(name)));
    let clients = tunnels.client.iter();
    let clients = clients.map(|(name, it)| of_end(Role::Client, name, &it.end(name)));
    servers.chain(clients).flatten().collect()
}

/// Returns the certificates of one section. An unreadable file is skipped: loading it reports the error.
pub(crate) fn of_end(role: Role, name: &str, end: &End<'_>) -> Vec<CertificateEnd> {
    let ca = match &end.peers.ca {
        Some(Anchors::File(path)) => Some(path.as_path()),
        Some(Anchors::System) | None => None,
    };
    let of_file = |kind: CertificateKind, key, path: &Path| {
        let setting = &end.setting(key);
        let expires_at = trust::first_end(SettingFile { setting, path }).ok()??;
        let a_root = if kind == CertificateKind::Root { "a root of " } else { "" };
        let whose = format!("{a_root}{setting} ({})", path.display());
        let mut series = labels(name, role);
        series.push((CertificateKind::KEY, kind.name().to_owned()));
        Some(CertificateEnd { whose, expires_at, series: vec![series] })
    };
    let own = end.certificate.and_then(|path| of_file(CertificateKind::Own, "certificate", path));
    let root = ca.and_then(|path| of_file(CertificateKind::Root, "peers.ca", path));
    own.into_iter().chain(root).collect()
}

/// Warns of certificates that end soon, until the sender is dropped.
pub(crate) async fn keep_looking(mut ends: watch::Receiver<Vec<CertificateEnd>>) {
    let mut warnings = ExpiryWarnings::default();
    loop {
        warnings.look(&ends.borrow_and_update());
        tokio::select! {
            changed = ends.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}
