//! TLS configurations, from the files of a configuration: at the start, and again at each reload.

use std::path::Path;
use std::sync::Arc;

use tessera::auth::Credential;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::resume::{Continuation, OneTimeKeyGuard};
use tessera::wire::TicketRequest;
use tessera::{ClientConfig, Role, ServerConfig};
use tessera_kit::clock::unix;
use tessera_kit::{ProgramError, SettingFile, credential, hex, trust};
use tessera_proxy::address::DialAddress;
use tessera_proxy::keys_ahead;
use tessera_proxy::stores::{EnvoyPool, SidecarRing, Stores};
use tessera_webpki::{WebPkiVerifier, dns_names, issuers};

use crate::config::{EdgeConfig, NamedBy, PeersSection, ProxySection};
use crate::signer;

/// Each connection uses one ticket and brings another; a client may have several connections at a time.
const TICKETS: TicketRequest = TicketRequest { new_session_count: 4, resumption_count: 1 };

/// Returns the configuration for clients.
pub(crate) fn for_clients(
    edge: &EdgeConfig,
    stores: &Stores,
) -> Result<Checked<ServerConfig>, ProgramError> {
    let own = own_credential(&edge.proxy)?;
    let mut config = ServerConfig::new(keys_ahead::provider(&[]), vec![own]);
    config.certificate_codecs = tessera_compression::codecs();
    config.handshake_timeout = edge.limits.handshake;
    config.protocols = http();
    if let (NamedBy::Certificate, Some(ca)) = (edge.clients.named_by, &edge.clients.ca) {
        let verifier = trust::roots(SettingFile { setting: "[clients] ca", path: ca })?;
        let verifier = Arc::new(trust::remembering(verifier)?);
        config.client_authentication = ClientAuthentication::Optional(verifier);
    }
    config.tickets = Some(stores.tickets.clone());
    config.policy.tickets = TICKETS;
    if let Some(envoys) = &edge.envoys {
        config.suites_by_the_clients_preference = true;
        config.ticket_lifetime = envoys.ticket_lifetime;
    }
    if edge.proxy.one_time_keys.is_some() {
        let mut guard = OneTimeKeyGuard::new(stores.vault.clone());
        guard.continuation = Continuation::PskDheKe;
        guard.receipts = Some(stores.receipts.clone());
        config.policy.early_data.forward_secret = Some(guard);
    }
    Ok(config.checked()?)
}

/// Returns the two configurations of the channel between proxies.
pub(crate) fn for_peers(
    section: &PeersSection,
) -> Result<(Checked<ServerConfig>, Checked<ClientConfig>), ProgramError> {
    let verifier = trust::roots(SettingFile { setting: "[peers] ca", path: &section.ca })?;
    let own = credential::load(
        SettingFile { setting: "[peers] certificate", path: &section.certificate },
        SettingFile {
            setting: "[peers] key",
            path: section.key.as_ref().unwrap_or(&section.certificate),
        },
    )?;
    check_peers_certificate(section, &verifier, &own.chain)?;
    let verifier = Arc::new(trust::remembering(verifier)?);
    let mut server = ServerConfig::new(keys_ahead::provider(&[]), vec![own.clone()]);
    server.client_authentication = ClientAuthentication::Required(verifier.clone());
    server.protocols = vec![b"h2".to_vec()];
    let mut client = ClientConfig::new(keys_ahead::provider(&[]), verifier);
    client.credentials = vec![own];
    client.protocols = vec![b"h2".to_vec()];
    Ok((server.checked()?, client.checked()?))
}

/// Checks that the other proxies, which have the same authority, accept this proxy: as the server at its address, and as a client.
fn check_peers_certificate(
    section: &PeersSection,
    verifier: &WebPkiVerifier,
    chain: &[Vec<u8>],
) -> Result<(), ProgramError> {
    let wrong = |why: &str| {
        let what =
            format!("the other proxies refuse this certificate ([peers] certificate): {why}");
        ProgramError::in_file(&section.certificate, what)
    };
    let leaf = chain.first().map(Vec::as_slice).unwrap_or_default();
    let host = section.address.parse::<DialAddress>().ok().and_then(|address| address.host());
    for (role, name) in [(Role::Server, host.as_deref()), (Role::Client, None)] {
        if let Some(why) = credential::why_authorities_do_not_help(leaf, role) {
            return Err(wrong(why));
        }
        let accepted = verifier.would_accept(role, chain, name, unix().as_secs());
        accepted.map_err(|rejected| {
            wrong(&format!("{}; see [peers] ca and address", rejected.reason))
        })?;
    }
    Ok(())
}

/// Returns the configuration for a service's instances that use TLS.
pub(crate) fn for_instances(name: &str, ca: &Path) -> Result<Checked<ClientConfig>, ProgramError> {
    to_instances(name, ca, http())
}

/// Returns the configuration for upgrades at instances that use TLS: HTTP/1.1.
pub(crate) fn for_upgrades(name: &str, ca: &Path) -> Result<Checked<ClientConfig>, ProgramError> {
    to_instances(name, ca, vec![b"http/1.1".to_vec()])
}

fn to_instances(
    name: &str,
    ca: &Path,
    protocols: Vec<Vec<u8>>,
) -> Result<Checked<ClientConfig>, ProgramError> {
    let setting = format!("[service.{name}] ca");
    let verifier = trust::roots(SettingFile { setting: &setting, path: ca })?;
    let verifier = Arc::new(trust::remembering(verifier)?);
    let mut config = ClientConfig::new(keys_ahead::provider(&[]), verifier);
    config.protocols = protocols;
    Ok(config.checked()?)
}

/// Returns a digest of what must be equal at two proxies, or neither resumes the other's sessions: the form of
/// the tickets, the names and the issuer of the certificate, and who clients must be.
pub(crate) fn resumption(edge: &EdgeConfig) -> Result<String, ProgramError> {
    let leaf = &leaf(&edge.proxy)?;
    let unreadable = |error: &dyn std::fmt::Display| {
        ProgramError::in_file(&edge.proxy.certificate, format!("its names can't be read: {error}"))
    };
    let names = dns_names(leaf).map_err(|error| unreadable(&error))?;
    let issuer = issuers(&[leaf]).map_err(|error| unreadable(&error))?;
    let clients = match &edge.clients.ca {
        Some(path) => {
            let setting = SettingFile { setting: "[clients] ca", path };
            let roots = tessera_kit::pem::certificates(setting)?;
            let mut roots: Vec<_> = roots.iter().map(|der| credential::fingerprint(der)).collect();
            roots.sort_unstable();
            roots.join(" ")
        }
        None => String::new(),
    };
    let issuer = issuer.iter().map(|name| hex::encode(name)).collect::<String>();
    // Tickets in Envoy's form, or in our own.
    let form = if edge.ext_authz.is_some() || edge.envoys.is_some() { "envoy" } else { "tessera" };
    let text = format!("{form}\n{}\n{issuer}\n{clients}", names.join(" "));
    Ok(credential::fingerprint(text.as_bytes()))
}

/// Returns the Envoys with which this proxy shares its tickets, given its certificate.
pub(crate) fn envoys<'c>(edge: &'c EdgeConfig, certificate: &'c [u8]) -> Option<EnvoyPool<'c>> {
    let envoys = edge.envoys.as_ref()?;
    Some(EnvoyPool {
        section: "envoys",
        ring: SidecarRing {
            prefix: edge.pool.prefix(),
            rotate_every: envoys.rotate_every,
            ticket_lifetime: envoys.ticket_lifetime,
            clock_skew: envoys.clock_skew,
        },
        key: &envoys.key,
        pool: &envoys.pool,
        member: &edge.proxy.name,
        certificate,
        server_names: &envoys.server_names,
    })
}

/// Returns the certificate of this proxy, DER.
pub(crate) fn leaf(section: &ProxySection) -> Result<Vec<u8>, ProgramError> {
    own_credential(section)?
        .chain
        .into_iter()
        .next()
        .ok_or_else(|| ProgramError::settings("[proxy] certificate: the file has no certificate"))
}

fn own_credential(section: &ProxySection) -> Result<Credential, ProgramError> {
    if let Some(key) = signer::key(section)? {
        return Ok(key.credential());
    }
    let path = section.key.as_ref().unwrap_or(&section.certificate);
    credential::load(
        SettingFile { setting: "[proxy] certificate", path: &section.certificate },
        SettingFile { setting: "[proxy] key", path },
    )
}

fn http() -> Vec<Vec<u8>> {
    vec![b"h2".to_vec(), b"http/1.1".to_vec()]
}
