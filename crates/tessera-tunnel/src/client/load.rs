//! A client end from its section of the configuration.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tessera::ClientConfig;
use tessera::handshake::Checked;
use tessera::resume::ExternalPsk;
use tessera_kit::live::{Changes, Live};
use tessera_kit::{ProgramError, SettingFile, names};
use tessera_proxy::changes::Prepared;
use tessera_proxy::dial::{DialOptions, Dialler};
use tessera_proxy::gate::{Gate, GateLimits};
use tessera_tokio::{Connector, FileSessionStore, Limits, MemorySessionStore, SessionStore};

use super::server::Server;
use super::{ClientEnd, Tunnel};
use crate::config::{ClientLimits, ClientSection, ListenAddress};
use crate::metrics::{Metrics, ReloadResult, Role};
use crate::tls;

impl ClientEnd {
    /// Loads the files of the section `[client.NAME]`, and makes its directory of sessions.
    ///
    /// # Errors
    /// If a file can't be used, or the section says what can't be: the error names the file, or the key.
    pub fn load(
        name: &str,
        section: &ClientSection,
        metrics: &Metrics,
    ) -> Result<Self, ProgramError> {
        let (config, psks) = configuration(name, section)?;
        let sessions = sessions(name, section)?;
        let connector = Connector::new(config).with_sessions(sessions);
        let metrics = metrics.tunnel(name, Role::Client);
        let gate = Gate::new(limits(&section.limits));
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
        let live = Live::new(connector);
        Ok(Self { tunnel: Arc::new(tunnel), live, spare: section.spare })
    }

    /// Loads the files again, by a section that may have changed, and changes nothing yet: for several tunnels that are
    /// reloaded together or not at all. It blocks while it reads, and while another one is prepared.
    ///
    /// What the section says of certificates, peers, early data, groups and suites is taken. All the rest is looked at
    /// once, at the start. Exchanged, it lets connections that are there go on, and replaces spare ones.
    ///
    /// # Errors
    /// If a file can't be used.
    pub fn prepare(&self, section: ClientSection) -> Result<Prepared<'_, Changes>, ProgramError> {
        let tunnel = &*self.tunnel;
        let mut psks = Vec::new();
        let load = || {
            let (config, of_file) = configuration(&tunnel.name, &section)?;
            psks = of_file;
            Ok(config)
        };
        let failed = |_: &_| tunnel.metrics.reloads.count(ReloadResult::Failed);
        let prepared = self.live.prepare(load).inspect_err(failed)?;
        Ok(Prepared::new(move || {
            *tunnel.server.psks.lock().unwrap_or_else(PoisonError::into_inner) = psks;
            let changes = prepared.exchange();
            tunnel.metrics.reloads.count(ReloadResult::Reloaded);
            if let Some(pool) = tunnel.spare.get() {
                pool.renew();
            }
            changes
        }))
    }

    /// Loads the files again, and exchanges what they say: see [`prepare`](Self::prepare).
    ///
    /// # Errors
    /// If a file can't be used. Nothing has changed then.
    pub fn reload(&self, section: ClientSection) -> Result<Changes, ProgramError> {
        self.prepare(section).map(Prepared::exchange)
    }
}

/// Checks a section and its files, and changes nothing. Gives what is allowed, and probably not meant.
///
/// # Errors
/// As [`ClientEnd::load`] has.
pub fn check(name: &str, section: &ClientSection) -> Result<Vec<String>, ProgramError> {
    configuration(name, section)?;
    if let (Some(directory), Some(source)) = (&section.sessions, &section.sessions_key) {
        source.read(&key(name, "sessions-key"), "sessions", directory)?;
    }
    let mut warnings = Vec::new();
    if is_open(&section.listen) {
        warnings.push(format!(
            "{}: {}: what programs send there is not encrypted, and whoever reaches that address speaks \
             as this client; listen on 127.0.0.1, [::1] or unix:PATH",
            key(name, "listen"),
            section.listen
        ));
    }
    Ok(warnings)
}

/// Whether others than the programs of this machine can come there, as far as the address tells.
fn is_open(address: &ListenAddress) -> bool {
    match address {
        ListenAddress::Everywhere(_) => true,
        ListenAddress::Tcp(address) => !is_loopback(address.ip()),
        ListenAddress::Name(name) => name.host != "localhost",
        ListenAddress::Unix(_) | ListenAddress::Inherited(_) => false,
    }
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

fn configuration(
    name: &str,
    section: &ClientSection,
) -> Result<(Checked<ClientConfig>, Vec<ExternalPsk>), ProgramError> {
    if section.sessions_key.is_some() && section.sessions.is_none() {
        return Err(ProgramError::settings(format!(
            "{}: there is no `sessions` directory whose files it could wrap; name one, or leave the key out",
            key(name, "sessions-key")
        )));
    }
    if section.spare > MOST_SPARE {
        return Err(ProgramError::settings(format!(
            "{}: {} connections would wait at the server all the time; at most {MOST_SPARE} are kept",
            key(name, "spare"),
            section.spare
        )));
    }
    let host = server_name(name, section)?;
    let (config, destination) = tls::client(name, section, &host)?;
    Ok((config, destination.external_psks))
}

fn server_name(name: &str, section: &ClientSection) -> Result<String, ProgramError> {
    let given = section.server_name.clone();
    given.or_else(|| section.connect.host()).ok_or_else(|| {
        ProgramError::settings(format!(
            "{}: a Unix socket has no host to judge the server by; say which name its certificate has",
            key(name, "server-name")
        ))
    })
}

/// Below the directory each tunnel has its own: the tickets of one server are worth nothing at another, and what is
/// sent early with them is lost.
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

fn limits(section: &ClientLimits) -> GateLimits {
    let mut places = Limits::for_connections(section.connections);
    // Programs of one machine have one address; and each connection has its handshake with the server.
    places.connections_per_address = section.connections_per_address.unwrap_or(places.connections);
    places.handshakes = places.connections;
    places.handshakes_per_address = places.connections;
    (places.idle, places.write) = (section.idle, section.write);
    GateLimits { places, new_per_second_per_address: None }
}

/// A key of the section, as errors name it.
fn key(name: &str, key: &str) -> String {
    format!("[client.{name}] {key}")
}

/// As many programs may come back at a time without a full handshake, about a kilobyte each.
const SESSIONS_IN_MEMORY: usize = 512;

/// Each connection looks through the names of these files.
const SESSIONS_IN_FILES: usize = 128;

/// Each holds a place at the server.
const MOST_SPARE: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DialAddress;

    /// By a fingerprint, which needs no file.
    fn section(listen: &str, connect: &str) -> ClientSection {
        let connect: DialAddress = connect.parse().unwrap();
        let mut section = ClientSection::new(listen.parse().unwrap(), connect);
        section.peers.fingerprints = vec!["a5".repeat(32)];
        section
    }

    #[test]
    fn whoever_listens_to_others_in_plain_text_is_warned() {
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
    fn what_a_section_can_not_say_is_told_by_its_key() {
        let (listen, connect) = ("127.0.0.1:5432", "db.example:8443");
        let mut unnamed = section(listen, "unix:/run/tls.sock");
        assert!(
            check("pg", &unnamed).unwrap_err().to_string().starts_with("[client.pg] server-name: ")
        );
        unnamed.server_name = Some("db.example".into());
        check("pg", &unnamed).unwrap();

        let mut keyed = section(listen, connect);
        keyed.sessions_key = Some(crate::config::KeySource::File("/nowhere".into()));
        assert!(
            check("pg", &keyed).unwrap_err().to_string().starts_with("[client.pg] sessions-key: ")
        );
        keyed.sessions = Some("/nowhere/sessions".into());
        let error = check("pg", &keyed).unwrap_err();
        assert_eq!(error.file(), Some(Path::new("/nowhere")), "{error}");

        let mut many = section(listen, connect);
        many.spare = MOST_SPARE;
        check("pg", &many).unwrap();
        many.spare += 1;
        assert!(check("pg", &many).unwrap_err().to_string().starts_with("[client.pg] spare: "));
    }
}
