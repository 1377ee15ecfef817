//! Both ends of handshakes, and the time that one of them takes.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tessera::auth::PeerVerifier;
use tessera::handshake::{Checked, ClientAuthentication};
use tessera::wire::NamedGroup;
use tessera::{
    ClientConfig, ClientConnection, Destination, Output, ReadEvent, ServerConfig, ServerConnection,
};
use tessera_aws_lc::provider;
use tessera_harness::at;
use tessera_webpki::{ChainStore, KnownChains, StoreBounds, WebPkiVerifier};

use super::pki::Pki;

/// How an end verifies its peer's chain.
#[derive(Clone, Copy, PartialEq)]
pub enum Way {
    Judged,
    Known,
    Unknown,
}

/// The measured side, which verifies chains in the way under test; the other one verifies them in full.
#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    /// The server requests no certificate.
    Client,
    /// The client presents one too.
    Server,
}

/// Two clients and two servers, which meet in turn.
pub struct Ends {
    side: Side,
    clients: [Checked<ClientConfig>; 2],
    servers: [Checked<ServerConfig>; 2],
}

impl Ends {
    pub fn new(pki: &Pki, side: Side, way: Way, group: NamedGroup) -> Self {
        let plain = || WebPkiVerifier::new(&[&pki.root]).unwrap();
        let entries = if way == Way::Known { 4096 } else { 1 };
        let bounds = StoreBounds { entries, ..StoreBounds::default() };
        let store = ChainStore::new(&provider(), bounds).unwrap();
        let counts: Arc<dyn PeerVerifier> = match way {
            Way::Judged => Arc::new(plain()),
            Way::Known | Way::Unknown => Arc::new(KnownChains::new(plain(), &store)),
        };
        let judges: Arc<dyn PeerVerifier> = Arc::new(plain());
        let is_mutual = side == Side::Server;
        let [of_client, of_server] = if is_mutual { [judges, counts] } else { [counts, judges] };
        let clients = pki.clients.each_ref().map(|client| {
            let mut config = ClientConfig::new(provider(), of_client.clone());
            config.groups = vec![group];
            if is_mutual {
                config.credentials = vec![client.clone()];
            }
            config.checked().unwrap()
        });
        let servers = pki.servers.each_ref().map(|server| {
            let mut config = ServerConfig::new(provider(), vec![server.clone()]);
            if is_mutual {
                config.client_authentication = ClientAuthentication::Required(of_server.clone());
            }
            config.checked().unwrap()
        });
        let ends = Self { side, clients, servers };
        ends.round(4);
        let before = store.counts();
        ends.round(4);
        let hits = store.counts().hits - before.hits;
        assert_eq!(hits, if way == Way::Known { 4 } else { 0 }, "the way is what it is called");
        ends
    }

    /// Runs this many handshakes, alternating between the peers; returns the measured side's time.
    pub fn round(&self, handshakes: usize) -> Duration {
        (0..handshakes).map(|number| self.handshake(number % 2)).sum()
    }

    fn handshake(&self, number: usize) -> Duration {
        let (mut to_server, mut to_client) = (Output::new(), Output::new());
        let mut of_client = Duration::ZERO;
        let mut of_server = Duration::ZERO;
        let mut client = client_side(&mut of_client, || {
            let destination =
                Destination { server_name: "server.example".into(), ..Destination::default() };
            ClientConnection::start(
                self.clients[number].clone(),
                destination,
                at(0),
                &mut to_server,
            )
            .unwrap()
        });
        let mut server = ServerConnection::start(self.servers[number].clone(), at(0));
        while !to_server.is_empty() || !to_client.is_empty() {
            let mut input = to_server.as_slice().to_vec();
            to_server.consume(input.len());
            server_side(&mut of_server, || {
                let mut consumed = 0;
                loop {
                    let input = &mut input[consumed..];
                    let progress = server.read(at(0), input, &mut to_client).unwrap();
                    consumed += progress.consumed;
                    if let ReadEvent::NeedInput = progress.event {
                        break;
                    }
                }
            });
            let mut input = to_client.as_slice().to_vec();
            to_client.consume(input.len());
            client_side(&mut of_client, || {
                let mut consumed = 0;
                loop {
                    let input = &mut input[consumed..];
                    let progress = client.read(at(0), input, &mut to_server).unwrap();
                    consumed += progress.consumed;
                    if let ReadEvent::NeedInput = progress.event {
                        break;
                    }
                }
            });
        }
        assert!(client.facts().handshake_complete && server.facts().handshake_complete);
        if self.side == Side::Server { of_server } else { of_client }
    }
}

/// Runs the client's work; callgrind counts it by this name.
#[inline(never)]
fn client_side<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    timed(spent, work)
}

/// Runs the server's work, likewise.
#[inline(never)]
fn server_side<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    timed(spent, work)
}

fn timed<T>(spent: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = now();
    let made = work();
    *spent += now() - start;
    made
}

fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Self::Client { "client" } else { "server" })
    }
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "client" => Ok(Self::Client),
            "server" => Ok(Self::Server),
            _ => Err("SIDE: client or server".to_owned()),
        }
    }
}

impl FromStr for Way {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "judged" => Ok(Self::Judged),
            "known" => Ok(Self::Known),
            "unknown" => Ok(Self::Unknown),
            _ => Err("WAY: judged, known or unknown".to_owned()),
        }
    }
}
