//! Three operators with a SEPP each, and connections between them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use tessera::handshake::{Checked, ChooseConfig, ConfigChooser, NoConfig, Reply};
use tessera::wire::AlertDescription;
use tessera::{ClientConfig, Destination, Error, Facts, ServerConfig};
use tessera_proxy::config::Document;
use tessera_proxy::demo::{self, OperatorIdentity};
use tessera_proxy::stores::Stores;
use tessera_sepp::config::Configuration;
use tessera_sepp::identity::{AssociationId, AssociationLookup, CertificateIdentity, Listener};
use tessera_sepp::names::Fqdn;
use tessera_sepp::reconnection::Mode;
use tessera_sepp::tls::N32Tls;
use tessera_tokio::{Acceptor, Connector, EarlyData, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use tessera_pki::{Authority, Leaf};

pub const HOME: &str = demo::HOME.fqdn;
pub const VISITED: &str = demo::VISITED.fqdn;
pub const THIRD: &str = demo::THIRD.fqdn;

/// A name of the visited network's SEPP that contains no network.
pub const NAMED: &str = "sepp.visited.org";

pub fn fqdn(name: &str) -> Fqdn {
    name.parse().unwrap()
}

/// A directory with the files of one SEPP, and what it loaded from them.
pub struct Sepp {
    files: PathBuf,
    own: &'static str,
    live: Arc<RwLock<Arc<N32Tls>>>,
    n32c: Acceptor,
    n32f: Acceptor,
    pub associations: Arc<Associations>,
}

/// The parts of a configuration that tests change.
#[derive(Clone)]
pub struct Words {
    pub own: &'static str,
    pub n32f: &'static str,
    /// Networks of each peer, and its other settings.
    pub peers: Vec<(&'static str, &'static str, String)>,
    pub revoking: bool,
    /// In `[local]`.
    pub local: &'static str,
    /// After everything else.
    pub more: &'static str,
}

impl Words {
    fn text(&self) -> String {
        let operator = |name, fqdn| OperatorIdentity {
            name,
            fqdn,
            plmn: match fqdn {
                HOME => demo::HOME.plmn,
                VISITED | NAMED => demo::VISITED.plmn,
                _ => demo::THIRD.plmn,
            },
        };
        let places = ["127.0.0.1:1", "127.0.0.1:2", self.n32f];
        let mut text = operator("own", self.own).own("own.pem", places) + self.local;
        for (name, peer, more) in &self.peers {
            let crl =
                if self.revoking { format!("crl = [\"{name}.crl\"]\n") } else { String::new() };
            let also = if [VISITED, NAMED].contains(peer) { ", \"001-03\"" } else { "" };
            let peer = operator(name, peer);
            text += &format!(
                "[trust.{name}]\nplmns = [\"{}\"{also}]\nroots = \"{name}.pem\"\n{crl}\
                 {}address = [\"127.0.0.1:2\"]\n{more}\n",
                peer.plmn,
                peer.peer()
            );
        }
        text + self.more
    }

    fn parse(&self, files: &Path) -> Configuration {
        let document = Document::from_text(&files.join("sepp.toml"), self.text());
        let configuration: Configuration = document.parse().unwrap();
        configuration.check().unwrap();
        configuration
    }
}

impl Sepp {
    /// Creates a SEPP with this certificate, which knows the others' roots.
    pub fn new(words: &Words, own: &Leaf, roots: &[(&str, &Authority)]) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tessera-sepp-identity-{}-{number}", std::process::id());
        let files = std::env::temp_dir().join(name);
        fs::create_dir(&files).unwrap();
        let write = |name: &str, text: String| fs::write(files.join(name), text).unwrap();
        write("own.pem", own.both_pem());
        for (name, authority) in roots {
            write(&format!("{name}.pem"), authority.pem());
            write(&format!("{name}.crl"), authority.revoking(&[]));
        }
        let configuration = words.parse(&files);
        let (stores, _) = Stores::open(&configuration.tickets.stores()).unwrap();
        let associations = Arc::new(Associations::default());
        let tls = N32Tls::open(&configuration, &stores, associations.clone()).unwrap();
        let listeners: Vec<_> = tls.listeners().collect();
        let live = Arc::new(RwLock::new(Arc::new(tls)));
        let accept = |listener: &Listener| {
            let mut config = ServerConfig::new(tessera_aws_lc::provider(), Vec::new());
            config.chooser = Some(Arc::new(LiveChooser(live.clone(), *listener)));
            Acceptor::new(config.checked().unwrap())
        };
        let (n32c, n32f) = (accept(&listeners[0]), accept(listeners.last().unwrap()));
        Self { files, own: words.own, live, n32c, n32f, associations }
    }

    /// Returns what it loaded last.
    pub fn tls(&self) -> Arc<N32Tls> {
        self.live.read().unwrap().clone()
    }

    /// Replaces a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.files.join(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.files.join(name)).unwrap()
    }

    /// Reloads everything, and returns the changed peers.
    pub fn reload(&self, words: &Words) -> Vec<Fqdn> {
        let earlier = self.tls();
        let tls = Arc::new(earlier.reloaded(&words.parse(&self.files)).unwrap());
        *self.live.write().unwrap() = tls.clone();
        let changed = tls.changed_since(&earlier);
        tls.supersede(&earlier, &changed);
        changed
    }

    /// Returns the error of a reload that must fail.
    pub fn fail_to_reload(&self, words: &Words) -> String {
        match self.tls().reloaded(&words.parse(&self.files)) {
            Ok(_) => panic!("it was loaded"),
            Err(error) => error.to_string(),
        }
    }

    pub fn n32c(&self) -> &Acceptor {
        &self.n32c
    }

    pub fn n32f(&self) -> &Acceptor {
        &self.n32f
    }

    pub fn to(&self, peer: &str) -> Connector {
        self.tls().to(&fqdn(peer)).unwrap().n32f
    }

    /// Creates a client of this SEPP that checks nothing on resumption, and misbehaves.
    pub fn careless(&self, peer: &str, change: impl FnOnce(&mut ClientConfig)) -> Connector {
        let mut config = ClientConfig::clone(&self.to(peer).config());
        change(&mut config);
        let sessions = Arc::new(MemorySessionStore::default());
        Connector::new(config.checked().unwrap()).with_sessions(sessions)
    }

    /// Returns a peer's identity, as this SEPP's handlers see it.
    pub fn identify(&self, facts: &Facts) -> tessera_sepp::reconnection::PeerConnection {
        self.tls().standing().identify(facts).unwrap()
    }

    /// Returns its own name.
    pub fn name(&self) -> &'static str {
        self.own
    }

    /// Returns the peer that tests look at.
    pub fn peer(&self) -> &'static str {
        if self.own == HOME { VISITED } else { HOME }
    }

    pub fn anchor(&self) -> &'static str {
        if self.own == HOME { "visited" } else { "home" }
    }

    pub fn words<'w>(&self, world: &'w World) -> &'w Words {
        if self.own == HOME { &world.home_words } else { &world.visited_words }
    }

    /// Returns the authority of that peer's anchor.
    pub fn authority<'w>(&self, world: &'w World) -> &'w Authority {
        if self.own == HOME { &world.visited_ca } else { &world.home_ca }
    }

    /// Returns this SEPP's authority.
    pub fn own_authority<'w>(&self, world: &'w World) -> &'w Authority {
        if self.own == HOME { &world.home_ca } else { &world.visited_ca }
    }

    /// Returns the certificate by which N32-c knows that peer.
    pub fn n32c_certificate(&self) -> CertificateIdentity {
        self.associations.established(&fqdn(self.peer())).unwrap().1
    }
}

impl Drop for Sepp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.files);
    }
}

/// Chooses by what was loaded last, as a SEPP does.
struct LiveChooser(Arc<RwLock<Arc<N32Tls>>>, Listener);

impl ConfigChooser for LiveChooser {
    fn choose(&self, question: &ChooseConfig) -> Reply<Result<Checked<ServerConfig>, NoConfig>> {
        let tls = self.0.read().unwrap();
        Reply::Now(tls.choose(self.1, question).cloned().ok_or(NoConfig))
    }
}

/// A table that replaces N32-c.
#[derive(Default)]
pub struct Associations(Mutex<HashMap<Fqdn, (AssociationId, CertificateIdentity)>>);

impl Associations {
    pub fn establish(&self, peer: &str, id: u8, certificate: CertificateIdentity) {
        let association = (AssociationId([id; 16]), certificate);
        self.0.lock().unwrap().insert(fqdn(peer), association);
    }

    pub fn terminate(&self, peer: &str) {
        self.0.lock().unwrap().remove(&fqdn(peer));
    }
}

impl AssociationLookup for Associations {
    fn established(&self, peer: &Fqdn) -> Option<(AssociationId, CertificateIdentity)> {
        self.0.lock().unwrap().get(peer).cloned()
    }
}

/// The operators and their SEPPs.
pub struct World {
    pub home_ca: Authority,
    pub visited_ca: Authority,
    pub third_ca: Authority,
    pub home: Sepp,
    pub visited: Sepp,
    pub third: Sepp,
    pub home_words: Words,
    pub visited_words: Words,
}

impl World {
    /// Creates operators that all know each other. `home` and `visited` have these reconnection settings for each
    /// other.
    pub fn new(reconnection: &str) -> Self {
        let table = |name| match reconnection {
            "" => String::new(),
            words => format!("[peer.{name}.reconnection]\n{words}\n"),
        };
        let [home_ca, visited_ca, third_ca] = ["home", "visited", "third"].map(Authority::new);
        let roots = [("home", &home_ca), ("visited", &visited_ca), ("third", &third_ca)];
        let words = |own, peers| Words {
            own,
            n32f: "127.0.0.1:3",
            peers,
            revoking: true,
            local: "",
            more: "",
        };
        let home_words = words(
            HOME,
            vec![("visited", VISITED, table("visited")), ("third", THIRD, String::new())],
        );
        let visited_words = words(VISITED, vec![("home", HOME, table("home"))]);
        let third_words = words(THIRD, vec![("home", HOME, String::new())]);
        let home = Sepp::new(&home_words, &home_ca.issue_numbered(HOME, 7), &roots);
        let visited = Sepp::new(&visited_words, &visited_ca.issue_numbered(VISITED, 7), &roots);
        let third = Sepp::new(&third_words, &third_ca.issue_numbered(THIRD, 7), &roots);
        Self { home_ca, visited_ca, third_ca, home, visited, third, home_words, visited_words }
    }

    /// The same, with associations between `home` and both others, as N32-c would establish.
    pub async fn associated(reconnection: &str) -> Self {
        let world = Self::new(reconnection);
        for (other, name) in [(&world.visited, VISITED), (&world.third, THIRD)] {
            let n32c = other.tls().to(&fqdn(HOME)).unwrap().n32c;
            let met = meet(&n32c, HOME, world.home.n32c(), b"").await;
            let peer = other.identify(&met.client.unwrap()).identity.certificate.clone();
            other.associations.establish(HOME, 1, peer);
            let peer = world.home.identify(&met.server.unwrap()).identity.certificate.clone();
            world.home.associations.establish(name, 1, peer);
        }
        world
    }
}

/// The result of a connection.
pub struct ConnectionResult {
    pub client: io::Result<Facts>,
    pub server: io::Result<Facts>,
    /// What the server read.
    pub read: Vec<u8>,
}

impl ConnectionResult {
    pub fn mode(&self) -> Mode {
        let [client, server] =
            [&self.client, &self.server].map(|end| Mode::of(end.as_ref().unwrap()));
        assert_eq!(client, server);
        client
    }

    /// Returns the alert with which the server ended the handshake.
    pub fn server_alert(&self) -> Option<AlertDescription> {
        alert(&self.server)
    }

    /// Returns the alert with which the client ended the handshake.
    pub fn client_alert(&self) -> Option<AlertDescription> {
        alert(&self.client)
    }
}

fn alert(end: &io::Result<Facts>) -> Option<AlertDescription> {
    let error = end.as_ref().err()?;
    error.get_ref()?.downcast_ref::<Error>()?.alert()
}

/// Connects, tries to send these bytes early, and hands tickets over.
pub async fn meet(
    client: &Connector,
    name: &str,
    server: &Acceptor,
    early: &[u8],
) -> ConnectionResult {
    let (one, other) = duplex(1 << 16);
    let destination = Destination { server_name: name.to_owned(), ..Destination::default() };
    let client = async {
        let mut stream = match client.connect_with_early_data(destination, one, early).await {
            EarlyData::NotSent(stream) => stream?,
            EarlyData::Accepted { stream, .. } | EarlyData::Rejected { stream, .. } => stream,
            EarlyData::Failed { error, .. } => return Err(error),
            other => panic!("{other:?}"),
        };
        stream.shutdown().await?;
        stream.read_to_end(&mut Vec::new()).await?;
        Ok(stream.facts().clone())
    };
    let mut read = Vec::new();
    let server = async {
        let mut stream = server.accept(other).await?;
        stream.read_to_end(&mut read).await?;
        stream.shutdown().await?;
        Ok(stream.facts().clone())
    };
    let (client, server) = tokio::join!(client, server);
    ConnectionResult { client, server, read }
}
