//! What a configuration names: the store, the wrapping key, the servers.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tessera::ClientConfig;
use tessera_envoy_tickets::member_traits;
use tessera_kit::{ProgramError, SettingFile, credential, pem, trust};
use tessera_proxy::stores::{SidecarRing, open_store};
use tessera_ring::{Installer, MemberTraits};
use tessera_store::Store;
use tessera_vault::{TicketKeyForm, WrappingKeys};

use crate::canary::Canary;
use crate::certificate::names_and_issuer;
use crate::config::{CanarySection, FilesSection, RingSection, Server, ServerSection, Stek};
use crate::keys::{ServerKeys, TicketKeyDomain};
use crate::servers::envoy::{Envoy, EnvoyParts};
use crate::servers::files::{KeyFileParts, KeyFiles, Probe, ReloadCommand};
use crate::servers::haproxy::HaProxy;
use crate::servers::nginx::Nginx;

/// Begins to install keys at a server.
pub(crate) type OpenServer = Box<dyn FnOnce() -> Result<Arc<dyn Installer>, ProgramError>>;

/// A server, ready to be a member.
pub(crate) struct LoadedServer {
    /// Its section: `haproxy.www`.
    pub(crate) name: String,
    pub(crate) traits: MemberTraits,
    pub(crate) open: OpenServer,
    /// The files that it reads when it starts.
    pub(crate) key_files: Vec<PathBuf>,
    /// The pool, as canaries know it: `haproxy.www`.
    pub(crate) pool: String,
    pub(crate) canary: Option<(Canary, SocketAddr)>,
}

/// How long a request to etcd may take: no client waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(2);

/// Opens the store. In etcd it need not be reached now. Blocks for a moment with a file.
pub(crate) fn store(ring: &RingSection) -> Result<Arc<dyn Store>, ProgramError> {
    open_store("ring", ring.etcd.as_ref(), ring.file.as_deref(), DEADLINE)
}

/// Returns where the ring is, and how its keys rotate.
pub(crate) fn ring(ring: &RingSection) -> SidecarRing<'_> {
    SidecarRing {
        prefix: prefix(ring),
        rotate_every: ring.rotate_every,
        ticket_lifetime: ring.ticket_lifetime,
        clock_skew: ring.clock_skew,
    }
}

/// Returns the prefix of the canaries' tickets in the store.
pub(crate) fn canary_prefix(ring: &RingSection) -> String {
    format!("{}stek-canaries/", prefix(ring))
}

fn prefix(ring: &RingSection) -> &str {
    ring.etcd.as_ref().map_or("/tessera/", |etcd| &etcd.prefix)
}

/// Reads the key that wraps ticket keys.
pub(crate) fn wrapping(ring: &RingSection) -> Result<WrappingKeys, ProgramError> {
    // It protects keys in the store and the cache: neither may be in its directory.
    let read = |beside: &Path| ring.key.read("[ring] key", "ring", beside);
    let directory_of = |path: &Option<PathBuf>| path.as_deref().and_then(Path::parent).map(read);
    directory_of(&ring.cache).transpose()?;
    let key = directory_of(&ring.file).unwrap_or_else(|| read(Path::new("")))?;
    SidecarRing::wrapping("[ring] key", &key)
}

/// Returns the name of this sidecar.
pub(crate) fn member(ring: &RingSection) -> Result<String, ProgramError> {
    let name = match &ring.member {
        Some(name) => Some(name.clone()),
        None => nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok()),
    };
    let is_name = |name: &String| {
        !name.is_empty()
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_graphic() && c != '/')
    };
    name.filter(is_name).ok_or_else(|| {
        ProgramError::settings(
            "[ring] member: must be 1 to 64 ASCII letters, digits or signs other than `/`",
        )
    })
}

/// Prepares all servers, and reads their certificates. It opens nothing.
pub(crate) fn servers(stek: &Stek) -> Result<Vec<LoadedServer>, ProgramError> {
    stek.servers().map(|section| server(&section)).collect()
}

fn server(section: &ServerSection<'_>) -> Result<LoadedServer, ProgramError> {
    let name = section.key();
    let canary = || section.canary.map(|canary| canary_of(canary, section)).transpose();
    let (form, pool) = match section.server {
        // Servers of two formats have different orders of the same key.
        Server::Files(files) => {
            (form(files, &name)?, format!("{} {}", files.format, section.pool()))
        }
        _ => (TicketKeyForm::Aes256, section.pool().to_owned()),
    };
    let domain = TicketKeyDomain { kind: section.server.kind(), name: pool };
    let pool = format!("{}.{}", domain.kind, domain.name);
    let keys = ServerKeys::new(&tessera_aws_lc::provider(), form, &domain);
    let open: OpenServer = match section.server {
        Server::HaProxy(haproxy) => {
            let haproxy = HaProxy::new(haproxy.socket.clone(), haproxy.keys.clone(), keys);
            Box::new(|| Ok(Arc::new(haproxy)))
        }
        Server::Nginx(nginx) => {
            let nginx = Nginx::new(nginx.pid.clone(), nginx.keys.clone(), keys);
            Box::new(|| Ok(Arc::new(nginx)))
        }
        Server::Envoy(envoy) => {
            let (socket, secret) = (envoy.socket.clone(), envoy.secret.clone());
            let name = name.clone();
            Box::new(move || {
                let listened = Envoy::listen(EnvoyParts { socket, secret, keys });
                let failed = |error| ProgramError::settings(format!("[{name}] socket: {error}"));
                Ok(Arc::new(listened.map_err(failed)?))
            })
        }
        Server::Files(files) => {
            let wrong =
                |key, what: &dyn Display| ProgramError::settings(format!("[{name}] {key}: {what}"));
            let probe = canary()?.map(|(canary, address)| Probe {
                canary,
                address,
                reads_within: files.reads_within,
            });
            let parts = KeyFileParts {
                files: files.keys.clone(),
                format: files.format.parse().map_err(|error| wrong("format", &error))?,
                keys,
                command: ReloadCommand::new(&files.command),
                probe,
            };
            let files = KeyFiles::new(parts).map_err(|error| wrong(error.setting, &error))?;
            Box::new(|| Ok(Arc::new(files)))
        }
    };
    Ok(LoadedServer {
        traits: traits(section, &name)?,
        key_files: section.server.key_files().to_vec(),
        canary: canary()?,
        name,
        open,
        pool,
    })
}

fn form(files: &FilesSection, name: &str) -> Result<TicketKeyForm, ProgramError> {
    match files.key_length {
        80 => Ok(TicketKeyForm::Aes256),
        48 => Ok(TicketKeyForm::Aes128),
        _ => Err(ProgramError::settings(format!(
            "[{name}] key-length: must be 80 (AES-256) or 48 (AES-128)"
        ))),
    }
}

fn canary_of(
    section: &CanarySection,
    server: &ServerSection<'_>,
) -> Result<(Canary, SocketAddr), ProgramError> {
    let setting = format!("[{}] canary.ca", server.key());
    let canary =
        canary(&section.server_name, SettingFile { setting: &setting, path: &section.ca })?;
    let canary = match server.server {
        Server::Envoy(_) => canary.with_http_request(),
        _ => canary,
    };
    Ok((canary, section.address))
}

/// Returns a canary that trusts these roots.
pub(crate) fn canary(server_name: &str, ca: SettingFile<'_>) -> Result<Canary, ProgramError> {
    let verifier = trust::roots(ca)?;
    let config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
    Ok(Canary::new(config.checked()?, server_name))
}

/// Returns what the server must have in common with the others of its pool.
fn traits(section: &ServerSection<'_>, name: &str) -> Result<MemberTraits, ProgramError> {
    let Some(path) = section.certificate else {
        // Nothing to compare.
        return Ok(MemberTraits { kind: String::new(), values: BTreeMap::new() });
    };
    let setting = format!("[{name}] certificate");
    let chain = pem::certificates(SettingFile { setting: &setting, path })?;
    let leaf = chain.first().map_or(&[][..], |leaf| leaf);
    let domain = TicketKeyDomain { kind: section.server.kind(), name: section.pool().to_owned() };
    if let Server::Envoy(_) = section.server {
        let traits = member_traits(&domain, leaf);
        return traits.map_err(|error| ProgramError::in_file(path, error));
    }
    let (names, issuer) = names_and_issuer(leaf).ok_or_else(|| {
        ProgramError::in_file(path, "the first certificate can't be read, or has no DNS names")
    })?;
    let mut values = BTreeMap::from([
        ("names of the certificate".to_owned(), names),
        ("issuer of the certificate".to_owned(), issuer),
    ]);
    if let Server::Nginx(_) = section.server {
        // nginx binds tickets to it (`ngx_ssl_session_id_context` in its src/event/ngx_event_openssl.c).
        values.insert("fingerprint of the certificate".to_owned(), credential::fingerprint(leaf));
    }
    Ok(MemberTraits { kind: format!("{} {}", domain.kind, domain.name), values })
}
