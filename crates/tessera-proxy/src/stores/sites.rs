//! One-time keys in a vault of each server, and the channel between them.

use std::sync::Arc;
use std::time::Duration;

use tessera::auth::{Credential, PeerVerifier};
use tessera::{ClientConfig, ServerConfig};
use tessera_kit::clock::unix;
use tessera_kit::{ProgramError, SettingFile, credential, hex, trust};
use tessera_sites::{
    ChannelLimits, KnownSites, OtherSite, ServerLimits, SiteAnswers, SiteProof, SiteServer,
    TlsSiteChannel, client_config, server_config,
};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore};
use tessera_vault::{MemoryVault, MovingVault, ServerState, SiteVault};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::capacity::{CAPACITY, LIFETIME};
use super::config::SitesSection;
use crate::address::ListenAddress;

/// This server's own vault, and the channel to those of the others.
pub(super) struct Sites {
    pub(super) site: Arc<SiteVault>,
    home: Home,
    /// Dropped with the stores, which ends the server for other sites.
    _end: watch::Sender<()>,
}

enum Home {
    Memory(Arc<MemoryVault>),
    /// Its secrets move with their clients.
    Moving(Arc<MovingVault>),
    State(Arc<ServerState>),
}

/// What a site's own vault is.
pub(super) enum SiteHome {
    /// Its secrets stay: in a state directory, or in memory.
    Stays(Option<Arc<ServerState>>),
    /// Its secrets move with their clients.
    Moves,
}

impl Sites {
    /// Loads the verifier and the credential from the files of the section `[label]`.
    pub(super) fn files(
        label: &str,
        sites: &SitesSection,
    ) -> Result<(Arc<dyn PeerVerifier>, Credential), ProgramError> {
        let settings = ["ca", "certificate", "key"].map(|key| format!("[{label}] {key}"));
        let [ca, certificate, key] = settings.each_ref().map(String::as_str);
        let verifier = trust::roots(SettingFile { setting: ca, path: &sites.ca })?;
        let verifier = Arc::new(trust::remembering(verifier)?);
        let key_path = sites.key.as_ref().unwrap_or(&sites.certificate);
        let credential = credential::load(
            SettingFile { setting: certificate, path: &sites.certificate },
            SettingFile { setting: key, path: key_path },
        )?;
        for other in &sites.others {
            vault_name(label, &other.vault_name)?;
        }
        Ok((verifier, credential))
    }

    pub(super) fn open(
        label: &str,
        sites: &SitesSection,
        home: SiteHome,
    ) -> Result<Self, ProgramError> {
        let (verifier, credential) = Self::files(label, sites)?;
        let provider = tessera_aws_lc::provider();
        let mut client = ClientConfig::new(provider, verifier.clone());
        client.credentials = vec![credential.clone()];
        let connector = Connector::new(client_config(client)?)
            .with_sessions(Arc::new(MemorySessionStore::default()));
        let mut others = Vec::new();
        let mut known = KnownSites::new(verifier);
        for other in &sites.others {
            others.push(OtherSite {
                vault: vault_name(label, &other.vault_name)?,
                address: other.address.to_string(),
                server_name: other.server_name.clone(),
            });
            let proof = SiteProof::DnsName(other.server_name.clone());
            known = known.with(other.server_name.clone(), proof);
        }
        let channel = TlsSiteChannel::open(&connector, others, ChannelLimits::default());
        let channel = Arc::new(channel);

        let name = sites.vault_name.as_deref().map(|name| vault_name(label, name)).transpose()?;
        let (home, site) = match (home, name) {
            (SiteHome::Stays(Some(state)), _) => {
                let site = SiteVault::new(state.vault(), channel)
                    .map_err(|error| ProgramError::failed("the state's vault", error))?;
                (Home::State(state), site)
            }
            (SiteHome::Stays(None), Some(name)) => {
                let vault = Arc::new(MemoryVault::new(CAPACITY));
                let site = SiteVault::named(vault.clone(), name, channel);
                (Home::Memory(vault), site)
            }
            (SiteHome::Moves, Some(name)) => {
                let vault = MemoryVault::new(CAPACITY);
                let vault = MovingVault::new(vault, name, CAPACITY, LIFETIME, provider.random)
                    .map_err(|_| ProgramError::Failed("the system has no random bytes".into()))?;
                let vault = Arc::new(vault);
                (Home::Moving(vault.clone()), SiteVault::moving(vault, channel))
            }
            (_, None) => {
                return Err(ProgramError::settings(format!(
                    "[{label}] vault-name is missing: 32 hexadecimal digits, by which others know this vault; openssl \
                     rand -hex 16 prints them"
                )));
            }
        };
        let site = Arc::new(site);
        let acceptor =
            Acceptor::new(server_config(ServerConfig::new(provider, vec![credential]), known)?);
        let listener = listen(label, &sites.listen)?;
        let (end, mut ended) = watch::channel(());
        let burns = SiteServer::new(site.clone(), ServerLimits::default());
        tokio::spawn(async move {
            // Ends when the sender is dropped.
            let end = async move { while ended.changed().await.is_ok() {} };
            burns.run(listener, acceptor, end).await;
        });
        Ok(Self { site, home, _end: end })
    }

    /// Returns the vault, if its secrets move with their clients.
    pub(super) fn moving(&self) -> Option<Arc<SiteVault>> {
        match &self.home {
            Home::Moving(_) => Some(self.site.clone()),
            Home::Memory(_) | Home::State(_) => None,
        }
    }

    /// Answers questions that wait for other sites.
    pub(super) fn answers(&self) -> SiteAnswers {
        SiteAnswers::new(self.site.clone(), PATIENCE)
    }

    /// Destroys what has expired. A state directory does so itself.
    pub(super) fn purge(&self) {
        match &self.home {
            Home::Memory(vault) => {
                vault.purge(unix());
            }
            Home::Moving(vault) => vault.purge(unix()),
            Home::State(_) => (),
        }
    }

    pub(super) fn state(&self) -> Option<Arc<ServerState>> {
        match &self.home {
            Home::State(state) => Some(state.clone()),
            Home::Memory(_) | Home::Moving(_) => None,
        }
    }
}

fn listen(label: &str, address: &ListenAddress) -> Result<TcpListener, ProgramError> {
    let bound = match address {
        ListenAddress::Everywhere(port) => {
            std::net::TcpListener::bind((std::net::Ipv6Addr::UNSPECIFIED, *port))
        }
        ListenAddress::Tcp(address) => std::net::TcpListener::bind(address),
        other => {
            return Err(ProgramError::settings(format!(
                "[{label}] listen: {other}: sites reach each other by TCP: set an address and a port"
            )));
        }
    };
    let listener = bound.and_then(|listener| {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    });
    listener
        .map_err(|error| ProgramError::failed(format_args!("[{label}] listen: {address}"), error))
}

fn vault_name(label: &str, text: &str) -> Result<[u8; 16], ProgramError> {
    let name = hex::decode(text).and_then(|bytes| <[u8; 16]>::try_from(&bytes[..]).ok());
    name.ok_or_else(|| {
        ProgramError::settings(format!(
            "[{label}] vault-name: {text:?} is not the name of a vault: write 32 hexadecimal digits, as openssl rand \
             -hex 16 prints them"
        ))
    })
}

/// How long a client waits for another site to burn its key; then it receives `unknown`.
const PATIENCE: Duration = Duration::from_secs(2);
