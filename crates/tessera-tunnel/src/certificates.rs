//! The certificates that a configuration names, and when they end.

use std::path::Path;

use tessera_kit::{SettingFile, clock, trust};
use tessera_proxy::certificates::{ExpiryWarnings, LOOK_EVERY, warning};
use tokio::sync::watch;

use crate::config::{Anchors, Peers, Tunnels};
use crate::metrics::{CertificateKind, Label, Metrics, Role};

/// When a certificate of a section ends: of several in a file the first that does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CertificateEnd {
    pub(crate) role: Role,
    /// The name of the section.
    pub(crate) tunnel: String,
    pub(crate) kind: CertificateKind,
    /// In seconds since the Unix epoch.
    pub(crate) expires_at: u64,
    whose: String,
}

impl CertificateEnd {
    /// What there is to say of it, if it ends soon.
    pub(crate) fn warning(&self) -> Option<String> {
        warning(&self.whose, self.expires_at, clock::unix().as_secs())
    }

    fn key(&self) -> ((&str, Role), CertificateKind) {
        ((&self.tunnel, self.role), self.kind)
    }
}

/// Of all sections.
pub(crate) fn of(tunnels: &Tunnels) -> Vec<CertificateEnd> {
    let servers = tunnels.server.iter();
    let servers = servers.map(|(name, it)| (Role::Server, name, &it.certificate, &it.peers));
    let clients = tunnels.client.iter();
    let clients = clients.map(|(name, it)| (Role::Client, name, &it.certificate, &it.peers));
    let of = |(role, name, certificate, peers): (_, &String, &Option<_>, _)| {
        of_section(role, name, certificate.as_deref(), peers)
    };
    servers.chain(clients).flat_map(of).collect()
}

/// Of one. A file that can't be read is the error of whoever loads it.
pub(crate) fn of_section(
    role: Role,
    name: &str,
    certificate: Option<&Path>,
    peers: &Peers,
) -> Vec<CertificateEnd> {
    let ca = match &peers.ca {
        Some(Anchors::File(path)) => Some(path.as_path()),
        Some(Anchors::System) | None => None,
    };
    let of_file = |kind, key, path: &Path| {
        let setting = &format!("[{}.{name}] {key}", role.name());
        let expires_at = trust::first_end(SettingFile { setting, path }).ok()??;
        let a_root = if kind == CertificateKind::Root { "a root of " } else { "" };
        let whose = format!("{a_root}{setting} ({})", path.display());
        Some(CertificateEnd { role, tunnel: name.to_owned(), kind, expires_at, whose })
    };
    let own = certificate.and_then(|path| of_file(CertificateKind::Own, "certificate", path));
    let root = ca.and_then(|path| of_file(CertificateKind::Root, "peers.ca", path));
    own.into_iter().chain(root).collect()
}

/// Exposes when they end. Those of `before` that are not among them are not exposed any more.
pub(crate) fn expose(metrics: &Metrics, before: &[CertificateEnd], now: &[CertificateEnd]) {
    for (tunnel, kind) in before.iter().map(CertificateEnd::key) {
        if now.iter().all(|end| end.key() != (tunnel, kind)) {
            metrics.certificate(tunnel, kind, None);
        }
    }
    for end in now {
        let (tunnel, kind) = end.key();
        metrics.certificate(tunnel, kind, Some(end.expires_at));
    }
}

/// Warns of those that end soon, until there are none to look at any more.
pub(crate) async fn keep_looking(mut ends: watch::Receiver<Vec<CertificateEnd>>) {
    let mut warnings = ExpiryWarnings::default();
    loop {
        let now = clock::unix().as_secs();
        for end in ends.borrow_and_update().iter() {
            warnings.look(&end.whose, end.expires_at, now);
        }
        tokio::select! {
            changed = ends.changed() => if changed.is_err() { return },
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}
