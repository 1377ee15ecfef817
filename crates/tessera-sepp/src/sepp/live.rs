//! The state that handles a request from beginning to end.

use std::sync::Arc;

use tessera::ServerConfig;
use tessera::handshake::Checked;
use tessera_kit::ProgramError;
use tessera_proxy::http::body::BodyLimits;
use tessera_proxy::http::client::PoolOptions;
use tessera_tokio::Connector;
use tokio::sync::watch;

use super::functions::Functions;
use super::link::Slot;
use super::policy::{PeerIndex, Policy};
use crate::config::{Configuration, Limits, Peer};
use crate::guard::Guard;
use crate::n32c::Associations;
use crate::names::Fqdn;
use crate::sbi;
use crate::tls::N32Tls;

/// The configuration in use; a reload replaces it at once.
pub(crate) type Live = watch::Sender<Arc<ActiveConfig>>;

/// Everything that a reload replaces, as one value: a request sees the whole of one configuration, with which it also
/// finishes.
///
/// Outside, because they outlive configurations: sockets of listeners; associations, which change by steps
/// ([`Associations::set`]); connections and handshakes in progress, which end where a change concerns their peer; and
/// the stores of tickets, whose keys take effect at times of their own.
pub(crate) struct ActiveConfig {
    /// As it is in effect: with the ports that listeners have, and settings that wait for a restart as they were.
    pub(crate) configuration: Arc<Configuration>,
    /// TLS with peers.
    pub(crate) tls: N32Tls,
    /// TLS with local network functions that connect, and to those that are dialled.
    pub(super) of_functions: Option<Checked<ServerConfig>>,
    pub(super) to_functions: Option<Connector>,
    /// When the certificate for local network functions expires, in seconds since the Unix epoch.
    pub(crate) functions_end: Option<u64>,
    pub(super) policy: Policy,
    pub(crate) guard: Arc<Guard>,
    pub(super) functions: Arc<Functions>,
    /// Each with the epoch of its peer's settings.
    slots: Vec<(Arc<Slot>, Option<u64>)>,
}

impl ActiveConfig {
    /// Prepares a checked configuration. Keeps connections of an earlier one whose destinations are unchanged.
    pub(super) fn new(
        config: &Configuration,
        guard: Arc<Guard>,
        tls: N32Tls,
        earlier: Option<&Self>,
    ) -> Result<Self, ProgramError> {
        let policy = Policy::new(config, earlier.map(|earlier| &earlier.policy))?;
        let options = options(&config.limits);
        let known = |peer: &Peer| {
            let mut slots = earlier.into_iter().flat_map(Self::slots);
            slots.find(|slot| slot.is_for(peer)).cloned()
        };
        let slot = |peer: &Peer| {
            let slot = known(peer).unwrap_or_else(|| Arc::new(Slot::new(peer, options.clone())));
            (slot, tls.epoch_of(&peer.fqdn))
        };
        let slots = config.peer.values().map(slot).collect();
        let to_functions = sbi::tls::connector(&config.sbi)?;
        let functions = earlier.filter(|earlier| {
            let earlier =
                (&earlier.functions, earlier.to_functions.as_ref().map(Connector::config));
            earlier.0.are_at(&config.sbi.hosts) && sbi::tls::is_same(&earlier.1, &to_functions)
        });
        let functions = functions.map(|earlier| earlier.functions.clone());
        let functions = functions
            .unwrap_or_else(|| Arc::new(Functions::new(config.sbi.hosts.clone(), options.clone())));
        Ok(Self {
            configuration: Arc::new(config.clone()),
            tls,
            of_functions: sbi::tls::listener(&config.sbi)?,
            to_functions: to_functions.map(Connector::new),
            functions_end: sbi::tls::expires_at(&config.sbi)?,
            policy,
            guard,
            functions,
            slots,
        })
    }

    /// Returns the section of a peer.
    pub(crate) fn configured(&self, peer: &Fqdn) -> Option<&Peer> {
        self.configuration.peer.values().find(|section| section.fqdn == *peer)
    }

    /// Returns the slot of a peer, and the epoch of the peer's settings.
    pub(super) fn slot_under(&self, peer: PeerIndex) -> Option<(&Arc<Slot>, Option<u64>)> {
        self.slots.get(peer.get()).map(|(slot, epoch)| (slot, *epoch))
    }

    /// Returns the slot of a peer.
    pub(super) fn slot(&self, peer: PeerIndex) -> Option<&Arc<Slot>> {
        self.slot_under(peer).map(|(slot, _)| slot)
    }

    /// Returns the slots of all peers.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Arc<Slot>> {
        self.slots.iter().map(|(slot, _)| slot)
    }

    /// Closes N32-f connections whose association is no longer valid.
    pub(super) fn close_ended(&self, associations: &Associations) {
        self.slots().for_each(|slot| slot.close_unless(associations));
    }

    /// Closes the N32-f connections to a peer.
    pub(super) fn close(&self, peer: PeerIndex) {
        if let Some(slot) = self.slot(peer) {
            slot.close();
        }
    }
}

fn options(limits: &Limits) -> PoolOptions {
    PoolOptions {
        connect: limits.connect,
        idle: limits.idle,
        max_header_len: u32::try_from(limits.header_bytes).unwrap_or(u32::MAX),
        max_headers: limits.headers,
        body: BodyLimits { max_len: limits.body, idle: limits.body_idle },
        ..PoolOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::{fs, thread};

    use tessera_pki::Authority;
    use tessera_proxy::config::Document;
    use tessera_proxy::stores::Stores;

    use super::*;
    use crate::sepp::Sepp;

    const OWN: &str = "sepp1.5gc.mnc070.mcc999.3gppnetwork.org";
    const PEERS: [&str; 2] =
        ["sepp2.5gc.mnc001.mcc001.3gppnetwork.org", "sepp3.5gc.mnc001.mcc001.3gppnetwork.org"];

    struct NoObserver;

    impl crate::sepp::observer::Observer for NoObserver {}

    /// Two configurations, each with another peer, other functions and other rules.
    #[tokio::test]
    async fn a_reader_sees_no_part_of_another_configuration() {
        let files = std::env::temp_dir().join(format!("tessera-sepp-live-{}", std::process::id()));
        fs::create_dir(&files).unwrap();
        let authority = Authority::new("visited");
        fs::write(files.join("own.pem"), Authority::new("home").issue(OWN).both_pem()).unwrap();
        fs::write(files.join("visited.pem"), authority.pem()).unwrap();
        let configurations = PEERS.map(|peer| {
            let text = format!(
                "[local]\nfqdn = \"{OWN}\"\nplmns = [\"999-70\"]\ncertificate = \"own.pem\"\n\
                 [listen]\nsbi = \"127.0.0.1:1\"\nn32c = \"127.0.0.1:2\"\nn32f = \"127.0.0.1:3\"\n\
                 [sbi]\nhosts = {{ \"{peer}\" = \"127.0.0.1:4\" }}\n\
                 [trust.visited]\nplmns = [\"001-01\"]\nroots = \"visited.pem\"\n\
                 [peer.visited]\nfqdn = \"{peer}\"\nplmns = [\"001-01\"]\nanchor = \"visited\"\ninitiate = false\n\
                 guard.rate.new-connections = 9\n"
            );
            let document = Document::from_text(&files.join("sepp.toml"), text);
            let configuration: Configuration = document.parse().unwrap();
            let guard = Arc::new(Guard::new(&configuration, &[7; 32]).unwrap());
            (configuration, guard)
        });
        let (first, guard) = &configurations[0];
        let (stores, _) = Stores::open(&first.tickets.stores()).unwrap();
        let (told, of_n32c) = (Arc::new(NoObserver), Arc::new(()));
        let sepp = Sepp::open(first, &stores, guard.clone(), told, of_n32c).unwrap();
        let reloads = sepp.watch();
        let mut broken = first.clone();
        broken.sbi.ca = Some(files.join("nothing.pem"));
        assert!(sepp.reload(&broken, guard.clone()).is_err());
        assert!(!reloads.has_changed().unwrap(), "a failed reload notifies no watcher");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let read = scope.spawn(|| {
                let mut seen = [0_u32; 2];
                while !done.load(Ordering::Relaxed) {
                    let live = sepp.live();
                    let parts = PEERS.map(|name| {
                        let peer = name.parse().unwrap();
                        [
                            live.configured(&peer).is_some(),
                            live.policy.named(&peer).is_some(),
                            live.tls.to(&peer).is_some(),
                            live.tls.standing().known().get(&peer).is_some(),
                            live.guard.rates(&peer).is_some(),
                            live.slots().any(|slot| *slot.fqdn() == peer),
                            live.functions.are_at(&[(peer, "127.0.0.1:4".parse().unwrap())].into()),
                        ]
                    });
                    let one = usize::from(parts[1][0]);
                    assert_eq!((parts[one], parts[1 - one]), ([true; 7], [false; 7]));
                    seen[one] += 1;
                }
                seen
            });
            for (configuration, guard) in configurations.iter().cycle().take(400) {
                sepp.reload(configuration, guard.clone()).unwrap();
            }
            done.store(true, Ordering::Relaxed);
            let seen = read.join().unwrap();
            assert!(seen.iter().all(|times| *times > 0), "{seen:?}");
        });
        assert!(reloads.has_changed().unwrap());
        fs::remove_dir_all(&files).unwrap();
    }
}
