//! Builds a client end from its section of the configuration.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tessera::ClientConfig;
use tessera::handshake::Checked;
use tessera::resume::ExternalPsk;
use tessera_kit::live::{Changes, LiveTarget};
use tessera_kit::{ProgramError, SettingFile, names};
use tessera_proxy::changes::PreparedReload;
use tessera_proxy::dial::{DialOptions, Dialler};
use tessera_proxy::gate::Gate;
use tessera_tokio::{Connector, FileSessionStore, MemorySessionStore, SessionStore};

use super::server::Server;
use super::{ClientEnd, Tunnel};
use crate::config::ClientSection;
use crate::metrics::{Metrics, ReloadResult, Role};
use crate::tls;

impl ClientEnd {
    /// Loads the files of the section `[client.NAME]`, and creates its directory of sessions.
    ///
    /// # Errors
    /// If a file can't be used or a setting is invalid: the error names the file or the key.
    pub fn load(
        name: &str,
        section: &ClientSection,
        metrics: &Metrics,
    ) -> Result<Self, ProgramError> {
        let (config, psks) = configuration(name, section)?;
        let sessions = sessions(name, section)?;
        let connector = Connector::new(config).with_sessions(sessions);
        let metrics = metrics.tunnel(name, Role::Client);
        let gate = Gate::new(section.limits.gate().into());
        metrics.watch(&gate);
        let mut options = DialOptions::default();
        (options.deadline, options.fast_open) = (section.limits.connect, section.tcp_fast_open);
        let server = Server {
            dialler: Dialler::new(section.connect.clone(), options),
            connector: connector.clone(),
            name: server_name(name, section)?,
            psks: Mutex::new(psks),
            gate: gate.clone(),
            metrics: metrics.clone(),
        };
        let tunnel = Tunnel {
            name: name.to_owned(),
            server: Arc::new(server),
            gate,
            metrics,
            spare: OnceLock::new(),
        };
        let live = LiveTarget::new(connector);
        Ok(Self { tunnel: Arc::new(tunnel), live, spare: section.spare })
    }

    /// Reloads the files, for a section that may have changed, without applying anything yet: so that several tunnels
    /// can be reloaded together or not at all. Blocks while it reads, and while another reload is prepared.
    ///
    /// Certificates, peers, early data, groups and suites are taken from the section; everything else is read only at
    /// the start. Exchanging keeps open connections and replaces spare ones.
    ///
    /// # Errors
    /// If a file can't be used.
    pub fn prepare(
        &self,
        section: ClientSection,
    ) -> Result<PreparedReload<'_, Changes>, ProgramError> {
        let tunnel = &*self.tunnel;
        let mut psks = Vec::new();
        let load = || {
            let (config, of_file) = configuration(&tunnel.name, &section)?;
            psks = of_file;
            Ok(config)
        };
        let failed = |_: &_| tunnel.metrics.reloads.count(ReloadResult::Failed);
        let prepared = self.live.prepare(load).inspect_err(failed)?;
        Ok(PreparedReload::new(move || {
            *tunnel.server.psks.lock().unwrap_or_else(PoisonError::into_inner) = psks;
            let changes = prepared.exchange();
            tunnel.metrics.reloads.count(ReloadResult::Reloaded);
            if let Some(pool) = tunnel.spare.get() {
                pool.renew();
            }
            changes
        }))
    }

    /// Reloads the files and applies them: see [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// If a file can't be used; nothing has changed then.
    pub fn reload(&self, section: ClientSection) -> Result<Changes, ProgramError> {
        self.prepare(section).map(PreparedReload::exchange)
    }
}

/// Checks a section and its files, without changing anything. Returns warnings about valid settings that are probably
/// not intended.
///
/// # Errors
/// The same as those of [`ClientEnd::load`].
pub fn check(name: &str, section: &ClientSection) -> Result<Vec<String>, ProgramError> {
    configuration(name, section)?;
    if let (Some(directory), Some(source)) = (&section.sessions, &section.sessions_key) {
        source.read(&key(name, "sessions-key"), "sessions", directory)?;
    }
    let mut warnings = Vec::new();
    if section.listen.is_open() {
        warnings.push(format!(
            "{}: {}: data sent to this address is not encrypted, and every program that reaches it connects as this \
             client; listen on 127.0.0.1, [::1] or unix:PATH",
            key(name, "listen"),
            section.listen
        ));
    }
    Ok(warnings)
}

fn configuration(
    name: &str,
    section: &ClientSection,
) -> Result<(Checked<ClientConfig>, Vec<ExternalPsk>), ProgramError> {
    let host = server_name(name, section)?;
    let (config, destination) = tls::client(name, section, &host)?;
    Ok((config, destination.external_psks))
}

fn server_name(name: &str, section: &ClientSection) -> Result<String, ProgramError> {
    let given = section.server_name.clone();
    given.or_else(|| section.connect.host()).ok_or_else(|| {
        ProgramError::settings(format!(
            "{}: a Unix socket has no host name to verify; set this key to the name in the server's certificate",
            key(name, "server-name")
        ))
    })
}

/// Each tunnel has its own subdirectory: tickets of one server are useless at another, and early data sent with them is
/// lost.
fn sessions(name: &str, section: &ClientSection) -> Result<Arc<dyn SessionStore>, ProgramError> {
    let Some(directory) = &section.sessions else {
        return Ok(Arc::new(MemorySessionStore::new(SESSIONS_IN_MEMORY, 1)));
    };
    let below = directory.join(name);
    let store = match &section.sessions_key {
        None => FileSessionStore::open(&below),
        Some(source) => {
            let key = source.read(&key(name, "sessions-key"), "sessions", directory)?;
            FileSessionStore::open_wrapped(&below, &names::provider(&section.groups), &key)
        }
    };
    let setting = key(name, "sessions");
    let file = SettingFile { setting: &setting, path: Path::new(&below) };
    let store = store.map_err(|error| ProgramError::output(file, &error))?;
    Ok(Arc::new(store.with_limit(SESSIONS_IN_FILES)))
}

/// Formats a key of the section for error messages.
fn key(name: &str, key: &str) -> String {
    format!("[client.{name}] {key}")
}

/// This many programs can return at once without a full handshake, at about a kilobyte each.
const SESSIONS_IN_MEMORY: usize = 512;

/// Each connection scans the names of these files.
const SESSIONS_IN_FILES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DialAddress;

    /// With a fingerprint, which needs no file.
    fn section(listen: &str, connect: &str) -> ClientSection {
        let connect: DialAddress = connect.parse().unwrap();
        let mut section = ClientSection::new(listen.parse().unwrap(), connect);
        section.peers.fingerprints = vec!["a5".repeat(32)];
        section
    }

    #[test]
    fn a_plain_text_listener_open_to_others_gets_a_warning() {
        for (listen, warnings) in [
            ("127.0.0.1:5432", 0),
            ("[::1]:5432", 0),
            ("[::ffff:127.0.0.1]:5432", 0),
            ("localhost:5432", 0),
            ("unix:/run/x.sock", 0),
            ("systemd:pg", 0),
            (":5432", 1),
            ("0.0.0.0:5432", 1),
            ("192.0.2.1:5432", 1),
            ("db.example:5432", 1),
        ] {
            let found = check("pg", &section(listen, "db.example:8443")).unwrap();
            assert_eq!(found.len(), warnings, "{listen}: {found:?}");
            assert!(found.iter().all(|warning| warning.starts_with("[client.pg] listen: ")));
        }
    }

    #[test]
    fn an_impossible_section_is_reported_by_its_key() {
        let (listen, connect) = ("127.0.0.1:5432", "db.example:8443");
        let mut unnamed = section(listen, "unix:/run/tls.sock");
        assert!(
            check("pg", &unnamed).unwrap_err().to_string().starts_with("[client.pg] server-name: ")
        );
        unnamed.server_name = Some("db.example".into());
        check("pg", &unnamed).unwrap();

        let mut keyed = section(listen, connect);
        keyed.sessions_key = Some(crate::config::KeySource::File("/nowhere".into()));
        keyed.sessions = Some("/nowhere/sessions".into());
        let error = check("pg", &keyed).unwrap_err();
        assert_eq!(error.file(), Some(Path::new("/nowhere")), "{error}");
    }
}
