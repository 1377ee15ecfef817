//! HAProxy, nginx, nghttpx and Envoy, with ticket keys from elsewhere.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tessera::auth::Credential;
use tessera_pki::{Authority, Leaf};
use tessera_stek::canary::Canary;
use tessera_stek::keys::ServerKeys;
use tessera_stek::servers::envoy::{Envoy, EnvoyParts};
use tessera_stek::servers::files::{FileFormat, KeyFileParts, Probe, ReloadCommand};
use tessera_stek::servers::haproxy::HaProxy;
use tessera_stek::servers::nginx::Nginx;
use tessera_test_peers::{
    Directory, Network, Process, free_port, haproxy, nghttpx, nginx, wait_until,
};

use crate::wait::until;

/// The name of all servers.
pub const SERVER_NAME: &str = "pool.example";

/// An authority, and the certificate that all servers share.
pub struct Pki {
    /// The authority.
    pub authority: Authority,
    certificate: String,
    key: String,
    leaf: Leaf,
}

impl Pki {
    /// Makes an authority of this name, and a certificate.
    #[must_use]
    pub fn of(authority: &str) -> Self {
        let authority = Authority::new(authority);
        let leaf = authority.issue(SERVER_NAME);
        Self { certificate: leaf.chain_pem(), key: leaf.key_pem(), leaf, authority }
    }

    /// Returns the certificate with its key, for one of Tessera's servers.
    #[must_use]
    pub fn credential(&self) -> Credential {
        self.leaf.credential()
    }

    /// Returns the certificate, in DER.
    #[must_use]
    pub fn der(&self) -> Vec<u8> {
        self.leaf.der()
    }

    /// Returns the certificate, in PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns its private key, in PEM.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// A server, or what is needed to start it.
pub struct RunningServer {
    /// Where it listens.
    pub address: SocketAddr,
    directory: Directory,
    settings: String,
    program: Program,
    process: Option<Process>,
}

impl RunningServer {
    /// Prepares an HAProxy, which [`start`](Self::start) starts.
    #[must_use]
    pub fn haproxy(pki: &Pki) -> Self {
        let (directory, address) = place();
        let certificate = directory.write_private("server.pem", pki.certificate.clone() + &pki.key);
        let keys = directory.write_private("keys", "");
        let settings = include_str!("../../../crates/tessera-stek/src/demo/haproxy.cfg")
            .replace("SOCKET", &directory.path("admin.sock"))
            .replace("PORT", &address.port().to_string())
            .replace("CERTIFICATE", &certificate)
            .replace("KEYS", &keys);
        Self { address, directory, settings, program: Program::HaProxy, process: None }
    }

    /// Gives an HAProxy other groups, by OpenSSL's names.
    #[must_use]
    pub fn with_groups(mut self, groups: &str) -> Self {
        self.settings = self.settings.replace(" ssl crt ", &format!(" ssl curves {groups} crt "));
        self
    }

    /// Prepares an nginx with three key files.
    #[must_use]
    pub fn nginx(pki: &Pki) -> Self {
        let (directory, address) = place();
        let certificate = directory.write_private("server.pem", &pki.certificate);
        let key = directory.write_private("server.key", &pki.key);
        key_files(&directory);
        let settings = include_str!("../../../crates/tessera-stek/src/demo/nginx.conf")
            .replace("PORT", &address.port().to_string())
            .replace("CERTIFICATE", &certificate)
            .replace("PRIVATE", &key)
            .replace("KEYS", &directory.path("key"))
            .replace("PID", &directory.path("nginx.pid"))
            .replace("TEMPORARY", &directory.path("tmp"));
        Self { address, directory, settings, program: Program::Nginx, process: None }
    }

    /// Prepares an Envoy that asks for its keys at the socket `sds` of its directory. It listens once it has them.
    #[must_use]
    pub fn envoy(pki: &Pki, node: &str) -> Self {
        let service = "{ api_type: GRPC, transport_api_version: V3, grpc_services: [{ envoy_grpc: { cluster_name: \
                       sidecar } }] }";
        let source = format!("{{ resource_api_version: V3, api_config_source: {service} }}");
        Self::envoy_with(pki, node, |_| source)
    }

    /// Prepares an Envoy that watches the file `secret.yaml` of its directory.
    #[must_use]
    pub fn envoy_with_file(pki: &Pki, node: &str) -> Self {
        Self::envoy_with(pki, node, |directory| {
            let path = directory.path("secret.yaml");
            format!("{{ resource_api_version: V3, path_config_source: {{ path: \"{path}\" }} }}")
        })
    }

    fn envoy_with(pki: &Pki, node: &str, source: impl FnOnce(&Directory) -> String) -> Self {
        let (directory, address) = place();
        let certificate = directory.write_private("server.pem", &pki.certificate);
        let key = directory.write_private("server.key", &pki.key);
        let settings = include_str!("../../../crates/tessera-stek/src/demo/envoy.yaml")
            .replace("NODE", node)
            .replace("PORT", &address.port().to_string())
            .replace("CERTIFICATE", &certificate)
            .replace("PRIVATE", &key)
            .replace("SOURCE", &source(&directory))
            .replace("SOCKET", &directory.path("sds"));
        Self { address, directory, settings, program: Program::Envoy, process: None }
    }

    /// Returns the installer for it, which listens.
    #[must_use]
    pub fn envoy_installer(&self, keys: ServerKeys) -> Envoy {
        Envoy::listen(EnvoyParts { socket: self.path("sds"), secret: "stek".into(), keys }).unwrap()
    }

    /// Returns the section of a sidecar's configuration for this Envoy.
    #[must_use]
    pub fn envoy_section(&self) -> String {
        format!("[envoy.www]\nsocket = \"{}\"\nsecret = \"stek\"\n", self.path("sds").display())
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

    /// Returns the section of a sidecar's configuration for this HAProxy, with a canary that trusts the authority in
    /// `ca`.
    #[must_use]
    pub fn haproxy_section(&self, ca: &str) -> String {
        format!(
            "[haproxy.www]\nsocket = \"{}\"\nkeys = \"{}\"\ncanary = {}\n",
            self.path("admin.sock").display(),
            self.path("keys").display(),
            self.canary_setting(ca),
        )
    }

    /// The same for this nghttpx.
    #[must_use]
    pub fn nghttpx_section(&self, ca: &str) -> String {
        let files = (0..3).map(|number| self.path(&format!("key{number}")).display().to_string());
        let files: Vec<_> = files.collect();
        let signal = format!("kill -HUP $(cat {})", self.path("nghttpx.pid").display());
        format!(
            "[files.www]\nformat = \"binary\"\nkeys = {files:?}\ncommand = [\"sh\", \"-c\", \"{signal}\"]\n\
             canary = {}\n",
            self.canary_setting(ca),
        )
    }

    fn canary_setting(&self, ca: &str) -> String {
        let address = self.address;
        format!("{{ address = \"{address}\", server-name = \"{SERVER_NAME}\", ca = \"{ca}\" }}")
    }

    /// Returns the keys that HAProxy holds: the earlier one, the one that seals, the next one.
    #[must_use]
    pub fn haproxy_keys(&self) -> Vec<Vec<u8>> {
        let mut socket = UnixStream::connect(self.path("admin.sock")).unwrap();
        let command = format!("show tls-keys {}\n", self.path("keys").display());
        socket.write_all(command.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let keys = answer.lines().filter_map(|line| line.split_once(' '));
        keys.filter_map(|(_, key)| STANDARD.decode(key.trim()).ok()).collect()
    }

    /// Prepares an nghttpx with three key files. Its requests go to a closed port.
    #[must_use]
    pub fn nghttpx(pki: &Pki) -> Self {
        let (directory, address) = place();
        let certificate = directory.write_private("server.pem", &pki.certificate);
        let key = directory.write_private("server.key", &pki.key);
        let files: String = key_files(&directory)
            .iter()
            .map(|path| format!("tls-ticket-key-file={path}\n"))
            .collect();
        let pid = directory.path("nghttpx.pid");
        let (ip, port) = (address.ip(), address.port());
        let settings = format!(
            "frontend={ip},{port}\nbackend=127.0.0.1,9\nworkers=1\nno-ocsp=yes\npid-file={pid}\n\
             private-key-file={key}\ncertificate-file={certificate}\n\
             tls-ticket-key-cipher=aes-256-cbc\n{files}"
        );
        Self { address, directory, settings, program: Program::Nghttpx, process: None }
    }

    /// Returns the parts of the installer for an nghttpx, with SIGHUP as its command.
    #[must_use]
    pub fn nghttpx_installer(&self, keys: ServerKeys, canary: Canary) -> KeyFileParts {
        let files = (0..3).map(|number| self.path(&format!("key{number}"))).collect();
        let signal = format!("kill -HUP $(cat {})", self.path("nghttpx.pid").display());
        let reads_within = Probe::READS_WITHIN;
        KeyFileParts {
            files,
            format: FileFormat::Binary,
            keys,
            command: ReloadCommand::new(["sh", "-c", &signal]),
            probe: Some(Probe { canary, address: self.address, reads_within }),
        }
    }

    /// Adds a line to the settings, for the next start.
    pub fn set(&mut self, line: &str) {
        self.settings.push_str(line);
        self.settings.push('\n');
    }

    /// Returns the path of one of its files.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.as_path().join(name)
    }

    /// Starts it; kills it first, if it runs.
    pub fn start(&mut self) {
        self.kill();
        let ports = [self.address.port()];
        self.process = Some(match self.program {
            Program::HaProxy => haproxy::start(&self.settings, &ports),
            Program::Nginx => nginx::start(&self.directory, &self.settings, &ports),
            Program::Nghttpx => nghttpx::start(&self.directory, &self.settings, &ports),
            Program::Envoy => {
                let program = std::env::var("ENVOY").expect("ENVOY names the program");
                let file = self.directory.write("envoy.yaml", &self.settings);
                // Without --disable-hot-restart two Envoys would share memory.
                let options =
                    ["-c", &file, "--disable-hot-restart", "--concurrency", "1", "-l", "warning"];
                Process::start_compiled("envoy", &program, Network::Loopback, options)
            }
        });
    }

    /// Starts an HAProxy once its sidecar has written the file of keys, which it reads.
    pub async fn start_with_keys(&mut self) {
        let keys = self.path("keys");
        // Three keys of 80 bytes, in base64.
        until("the keys are written", || fs::metadata(&keys).unwrap().len() > 300).await;
        self.start();
    }

    /// Waits until it listens.
    pub fn listens(&self) {
        self.process.as_ref().unwrap().listens_on(self.address.port());
    }

    /// Kills it, and waits until its workers have left its port.
    pub fn kill(&mut self) {
        self.process = None;
        wait_until("the port is free", || TcpListener::bind(self.address).ok());
    }
}

enum Program {
    HaProxy,
    Nginx,
    Nghttpx,
    Envoy,
}

/// Writes three files of keys, which the sidecar replaces, and returns their paths.
fn key_files(directory: &Directory) -> [String; 3] {
    [0, 1, 2].map(|number| directory.write_private(&format!("key{number}"), [number; 80]))
}

fn place() -> (Directory, SocketAddr) {
    (Directory::new(), SocketAddr::from(([127, 0, 0, 1], free_port().unwrap())))
}
