//! purecrypto.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dtls_peer::{Facts, MOMENT, Options, PATIENCE, Peer, Result, bound, hex, shown};
use purecrypto::der::pem_decode;
use purecrypto::ec::BoxedEcdsaPrivateKey;
use purecrypto::rng::OsRng;
use purecrypto::tls::{
    ClientAuth, Config, ConfigBuilder, Connection, NamedGroup, ProtocolVersion, ResumptionSession,
    RootCertStore, SigningKey,
};

struct PureCrypto {
    config: Config,
    socket: UdpSocket,
    /// Its association, and when it began.
    live: Option<(Connection, Instant)>,
    remote: Option<SocketAddr>,
    session: Option<ResumptionSession>,
    early: String,
}

impl PureCrypto {
    fn connection(&mut self) -> Result<&mut Connection> {
        self.live.as_mut().map(|(connection, _)| connection).ok_or_else(|| "no connection".into())
    }

    /// Sends what there is to send, takes what arrives until the next timer, and lets it expire.
    fn step(&mut self, patience: Duration) -> Result<()> {
        let (connection, began) = self.live.as_mut().ok_or("no connection")?;
        expire(connection, *began);
        flush(connection, &self.socket, self.remote);
        let now = began.elapsed();
        let until =
            connection.next_timeout().map_or(patience, |at| at.saturating_sub(now).min(patience));
        let wait = until.max(Duration::from_millis(1));
        self.socket.set_read_timeout(Some(wait)).map_err(shown)?;
        let mut datagram = vec![0; 4096];
        match self.socket.recv_from(&mut datagram) {
            Ok((len, from)) => {
                connection.set_now(began.elapsed());
                let fed = connection.feed(&datagram[..len]);
                if self.remote != Some(from) && connection.datagram_allows_peer_address_update() {
                    self.remote = Some(from);
                }
                flush(connection, &self.socket, self.remote);
                fed.map_err(shown)?;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => (),
            Err(error) => return Err(shown(error)),
        }
        expire(connection, *began);
        flush(connection, &self.socket, self.remote);
        if let Some(session) = connection.take_session() {
            self.session = Some(session);
        }
        Ok(())
    }

    /// Steps until a look at the connection has a result.
    fn until<T>(&mut self, mut look: impl FnMut(&mut Connection) -> Option<T>) -> Result<T> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if let Some(result) = look(self.connection()?) {
                return Ok(result);
            }
            self.step(POLL)?;
        }
        Err("nothing came".into())
    }

    fn shake_hands(&mut self) -> Result<Facts> {
        let mut early = Vec::new();
        self.until(|connection| {
            early.extend(connection.take_early_data().unwrap_or_default());
            connection.is_handshake_complete().then_some(())
        })?;
        let (connection, _) = self.live.as_mut().ok_or("no connection")?;
        early.extend(connection.take_early_data().unwrap_or_default());
        let facts = Facts {
            version: format!("{:?}", connection.negotiated_version()),
            resumed: connection.resumed(),
            early_data: match (connection.early_data_offered(), connection.early_data_accepted()) {
                (_, true) => "accepted",
                (true, _) => "rejected",
                _ => "not-offered",
            },
            early: String::from_utf8_lossy(&early).into(),
            group: format!("{:?}", connection.negotiated_group()),
            to_peer: connection.peer_connection_id().map(hex),
        };
        flush(connection, &self.socket, self.remote);
        Ok(facts)
    }
}

/// How long to wait for a datagram at most.
const POLL: Duration = Duration::from_millis(100);

fn expire(connection: &mut Connection, began: Instant) {
    let now = began.elapsed();
    connection.set_now(now);
    if connection.next_timeout().is_some_and(|at| at <= now) {
        connection.on_timeout(now);
    }
}

fn flush(connection: &mut Connection, socket: &UdpSocket, remote: Option<SocketAddr>) {
    while let Some(datagram) = connection.pop().ok().filter(|datagram| !datagram.is_empty()) {
        if let Some(remote) = remote {
            let _ = socket.send_to(&datagram, remote);
        }
    }
}

impl Peer for PureCrypto {
    const NAME: &str = "purecrypto 0.10.4";

    fn new(options: Options, socket: UdpSocket) -> Result<Self> {
        let roots = || -> Result<RootCertStore> {
            let mut roots = RootCertStore::new();
            roots.add_pem(&read(&options.ca)?).map_err(shown)?;
            Ok(roots)
        };
        let version = ProtocolVersion::DTLSv1_3;
        let mut config: ConfigBuilder = Config::builder()
            .rng(Arc::new(OsRng))
            .versions(version, version)
            .server_name(&*options.name);
        if let Some(chain) = &options.chain {
            let chain = pem_decode(&read(chain)?, "CERTIFICATE").map_err(shown)?;
            let key = BoxedEcdsaPrivateKey::from_pkcs8_pem(&read(&options.key)?).map_err(shown)?;
            config = config.try_identity(vec![chain], SigningKey::Ecdsa(key)).map_err(shown)?;
        }
        if let Some(mtu) = options.mtu {
            config = config.max_record_size(mtu);
        }
        if let Some(cid) = &options.cid {
            config = config.connection_id(cid.clone());
        }
        if let Some(group) = &options.group {
            let groups = match &**group {
                "P-384" => [NamedGroup::Secp384r1],
                _ => [NamedGroup::X25519MlKem768],
            };
            config = config.key_exchange_groups(&groups).key_shares(&groups);
        }
        if options.is_server {
            config = config
                .client_auth(ClientAuth::new(roots()?, true))
                .ticket_key([7; 32])
                .max_early_data(4096)
                .replay_window(Default::default());
            config = match options.cookie {
                true => config.cookie_secret([9; 32]),
                false => config.no_cookie(),
            };
        } else {
            config = config.roots(roots()?);
        }
        let config = config.build();
        let (live, remote, session, early) = (None, None, None, String::new());
        Ok(Self { config, socket, live, remote, session, early })
    }

    fn connect(&mut self, port: u16, resumes: bool, early: &str) -> Result<Facts> {
        let mut config = self.config.clone();
        if resumes {
            config.resumption = Some(self.session.take().ok_or("no session")?);
        }
        let mut connection = Connection::client(&config).map_err(shown)?;
        if !early.is_empty() {
            connection.write_early_data(early.as_bytes()).map_err(shown)?;
        }
        self.socket = bound()?;
        self.remote = Some(SocketAddr::from(([127, 0, 0, 1], port)));
        self.live = Some((connection, Instant::now()));
        self.shake_hands()
    }

    fn accept(&mut self) -> Result<Facts> {
        self.live = None;
        self.socket.set_read_timeout(Some(PATIENCE)).map_err(shown)?;
        let mut datagram = vec![0; 4096];
        // Others belong to the association before.
        let (len, from) = loop {
            let (len, from) = self.socket.recv_from(&mut datagram).map_err(shown)?;
            if is_client_hello(&datagram[..len]) {
                break (len, from);
            }
        };
        let mut config = self.config.clone();
        let std::net::IpAddr::V4(ip) = from.ip() else { return Err("an address of IPv6".into()) };
        config.peer_address =
            [&ip.to_ipv6_mapped().octets()[..], &from.port().to_be_bytes()].concat();
        let mut connection = Connection::server(&config).map_err(shown)?;
        self.remote = Some(from);
        connection.set_now(Duration::ZERO);
        connection.feed(&datagram[..len]).map_err(shown)?;
        self.live = Some((connection, Instant::now()));
        self.early.clear();
        self.shake_hands()
    }

    fn send(&mut self, data: &str) -> Result<()> {
        self.connection()?.send(data.as_bytes()).map_err(shown)?;
        let (connection, _) = self.live.as_mut().ok_or("no connection")?;
        flush(connection, &self.socket, self.remote);
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<String>> {
        let data = self.until(|connection| {
            let data = connection.recv().unwrap_or_default();
            match data.is_empty() {
                true => connection.received_close_notify().then_some(None),
                false => Some(Some(data)),
            }
        })?;
        Ok(data.map(|data| String::from_utf8_lossy(&data).into()))
    }

    fn update(&mut self) -> Result<()> {
        self.connection()?.request_key_update().map_err(shown)
    }

    fn rename(&mut self) -> Result<String> {
        self.connection()?.request_connection_ids(1).map_err(shown)?;
        self.until(|connection| (connection.spare_connection_ids() > 0).then_some(()))?;
        let connection = self.connection()?;
        connection.use_spare_connection_id().map_err(shown)?;
        connection.peer_connection_id().map(hex).ok_or_else(|| "no connection ID".into())
    }

    fn close(&mut self) -> Result<()> {
        self.connection()?.close().map_err(shown)?;
        self.until(|connection| (!connection.handshake_flight_pending()).then_some(()))?;
        let (connection, _) = self.live.as_mut().ok_or("no connection")?;
        flush(connection, &self.socket, self.remote);
        // What comes now may be for the next.
        self.live = None;
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        self.step(MOMENT)
    }
}

/// Whether a datagram begins with a ClientHello in plaintext.
fn is_client_hello(datagram: &[u8]) -> bool {
    datagram.len() > 13 && datagram[0] == 22 && datagram[13] == 1
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))
}

fn main() {
    dtls_peer::run::<PureCrypto>();
}
