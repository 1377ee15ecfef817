//! HAProxy and nginx with ticket keys in files.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tessera_pki::Authority;
use tessera_stek::keys::ServerKeys;
use tessera_stek::servers::haproxy::HaProxy;
use tessera_stek::servers::nginx::Nginx;
use tessera_test_peers::{Directory, Process, free_port, haproxy, nginx};

/// The name of all servers.
pub const SERVER_NAME: &str = "pool.example";

/// An authority, and the certificate that all servers share.
pub struct Pki {
    /// The authority.
    pub authority: Authority,
    certificate: String,
    key: String,
}

impl Pki {
    pub(crate) fn new() -> Self {
        let authority = Authority::new("Ring test CA");
        let leaf = authority.issue(SERVER_NAME);
        Self { certificate: leaf.chain_pem(), key: leaf.key_pem(), authority }
    }
}

/// A server, or what is needed to start it.
pub struct RunningServer {
    /// Where it listens.
    pub address: SocketAddr,
    directory: Directory,
    settings: String,
    is_nginx: bool,
    process: Option<Process>,
}

impl RunningServer {
    /// Prepares an HAProxy, which [`start`](Self::start) starts.
    #[must_use]
    pub fn haproxy(pki: &Pki) -> Self {
        let (directory, address) = place();
        let certificate = directory.write_private("server.pem", pki.certificate.clone() + &pki.key);
        let keys = directory.write_private("keys", "");
        let socket = directory.path("admin.sock");
        let port = address.port();
        let settings = format!(
            "global\n stats socket {socket} level admin mode 600\n\
             defaults\n mode http\n timeout client 30s\n timeout connect 5s\n timeout server 30s\n\
             frontend f\n bind 127.0.0.1:{port} ssl crt {certificate} tls-ticket-keys {keys} ssl-min-ver TLSv1.3\n \
             http-request return status 200\n"
        );
        Self { address, directory, settings, is_nginx: false, process: None }
    }

    /// Prepares an nginx with three key files.
    #[must_use]
    pub fn nginx(pki: &Pki) -> Self {
        let (directory, address) = place();
        let certificate = directory.write_private("server.pem", &pki.certificate);
        let key = directory.write_private("server.key", &pki.key);
        let files: String = (0..3)
            .map(|number| {
                let path = directory.write_private(&format!("key{number}"), [number; 80]);
                format!("ssl_session_ticket_key {path};\n")
            })
            .collect();
        let [pid, temporary] = ["nginx.pid", "tmp"].map(|name| directory.path(name));
        let port = address.port();
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let paths: String =
            paths.iter().map(|of| format!("{of}_temp_path {temporary};\n")).collect();
        let settings = format!(
            "pid {pid};\nworker_processes 2;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{paths}\
             server {{\nlisten 127.0.0.1:{port} ssl;\nssl_protocols TLSv1.3;\nssl_certificate {certificate};\n\
             ssl_certificate_key {key};\nssl_session_cache off;\n{files}return 200;\n}}\n}}\n"
        );
        Self { address, directory, settings, is_nginx: true, process: None }
    }

    /// Returns the installer for it.
    #[must_use]
    pub fn haproxy_installer(&self, keys: ServerKeys) -> HaProxy {
        HaProxy::new(self.path("admin.sock"), self.path("keys"), keys)
    }

    /// Returns the installer for it.
    #[must_use]
    pub fn nginx_installer(&self, keys: ServerKeys) -> Nginx {
        let files = (0..3).map(|number| self.path(&format!("key{number}"))).collect();
        Nginx::new(self.path("nginx.pid"), files, keys)
    }

    /// Returns the keys that HAProxy holds: the earlier one, the one that seals, the next one.
    #[must_use]
    pub fn haproxy_keys(&self) -> Vec<Vec<u8>> {
        let mut socket = UnixStream::connect(self.path("admin.sock")).unwrap();
        writeln!(socket, "show tls-keys {}", self.path("keys").display()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let keys = answer.lines().filter_map(|line| line.split_once(' '));
        keys.filter_map(|(_, key)| STANDARD.decode(key.trim()).ok()).collect()
    }

    /// Returns the path of one of its files.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.as_path().join(name)
    }

    /// Starts it; kills it first, if it runs.
    pub fn start(&mut self) {
        self.process = None;
        let ports = [self.address.port()];
        self.process = Some(match self.is_nginx {
            true => nginx::start(&self.directory, &self.settings, &ports),
            false => haproxy::start(&self.settings, &ports),
        });
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process = None;
    }
}

fn place() -> (Directory, SocketAddr) {
    (Directory::new(), SocketAddr::from(([127, 0, 0, 1], free_port().unwrap())))
}
