//! rustls' end of a connection, in its own thread.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustls::crypto::SupportedKxGroup;
use rustls::crypto::aws_lc_rs::kx_group;
use rustls::pki_types::ServerName;
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, ConnectionCommon, HandshakeKind, NamedGroup,
    ServerConfig, ServerConnection, SideData, StreamOwned,
};
use tessera::handshake::Handshake;
use tessera::wire;
use tessera_interop::{End, SERVER_NAME};
use tessera_test_peers::PATIENCE;

/// The groups that both support, as each names them.
pub const GROUPS: [(&'static dyn SupportedKxGroup, wire::NamedGroup); 5] = [
    (kx_group::X25519MLKEM768, wire::NamedGroup::X25519MLKEM768),
    (kx_group::MLKEM768, wire::NamedGroup::MLKEM768),
    (kx_group::X25519, wire::NamedGroup::X25519),
    (kx_group::SECP256R1, wire::NamedGroup::SECP256R1),
    (kx_group::SECP384R1, wire::NamedGroup::SECP384R1),
];

pub const SUITES: [wire::CipherSuite; 3] = [
    wire::CipherSuite::TLS_AES_128_GCM_SHA256,
    wire::CipherSuite::TLS_AES_256_GCM_SHA384,
    wire::CipherSuite::TLS_CHACHA20_POLY1305_SHA256,
];

/// What rustls reports of a connection.
#[derive(Debug)]
pub struct RustlsFacts {
    pub kind: Option<HandshakeKind>,
    pub group: Option<NamedGroup>,
    pub suite: Option<CipherSuite>,
    pub protocol: Option<Vec<u8>>,
    /// How many certificates the peer sent.
    pub certificates: usize,
    /// The early data received (a server).
    pub early_data: Vec<u8>,
    /// Whether the early data was accepted (a client that sent some).
    pub early_data_accepted: Option<bool>,
    pub data: Vec<u8>,
    /// The error that ended the connection early.
    pub error: Option<String>,
}

/// What rustls does in a connection, besides the handshake.
#[derive(Clone)]
pub struct Plan {
    /// What it sends, before it reads.
    pub says: Vec<u8>,
    /// How much it reads then.
    pub hears: usize,
    /// Early data (a client).
    pub early_data: Vec<u8>,
    /// How often it changes its keys, and asks for the peer's to change, before it sends.
    pub updates: usize,
}

impl Plan {
    /// Sends and receives one line each.
    pub fn talk() -> Self {
        Self {
            says: b"from rustls\n".to_vec(),
            hears: b"from Tessera\n".len(),
            early_data: Vec::new(),
            updates: 0,
        }
    }

    pub fn early(data: &[u8]) -> Self {
        Self { early_data: data.to_vec(), ..Self::talk() }
    }
}

/// Returns a server for one connection.
pub fn serve(config: &Arc<ServerConfig>, plan: Plan) -> (SocketAddr, JoinHandle<RustlsFacts>) {
    serve_and(config, plan, |_| ())
}

/// The same, which looks at the connection when the handshake is over.
pub fn serve_and(
    config: &Arc<ServerConfig>,
    plan: Plan,
    look: impl FnOnce(&ServerConnection) + Send + 'static,
) -> (SocketAddr, JoinHandle<RustlsFacts>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let config = config.clone();
    // A test that fails before it connects ends its process, and this thread with it.
    let thread = std::thread::spawn(move || {
        let stream = patient(listener.accept().unwrap().0);
        run(StreamOwned::new(ServerConnection::new(config).unwrap(), stream), &plan, |conn| {
            let mut data = Vec::new();
            if let Some(mut early) = conn.early_data() {
                early.read_to_end(&mut data).unwrap();
            }
            look(conn);
            (data, None)
        })
    });
    (address, thread)
}

/// Returns a client.
pub fn connect(
    config: &Arc<ClientConfig>,
    address: SocketAddr,
    plan: Plan,
) -> JoinHandle<RustlsFacts> {
    connect_and(config, address, plan, |_| ())
}

/// The same, which looks at the connection when the handshake is over.
pub fn connect_and(
    config: &Arc<ClientConfig>,
    address: SocketAddr,
    plan: Plan,
    look: impl FnOnce(&ClientConnection) + Send + 'static,
) -> JoinHandle<RustlsFacts> {
    let config = config.clone();
    std::thread::spawn(move || {
        let stream = patient(TcpStream::connect_timeout(&address, PATIENCE).unwrap());
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        let mut conn = ClientConnection::new(config, name).unwrap();
        let offers = !plan.early_data.is_empty();
        if offers {
            conn.early_data()
                .expect("a ticket for early data")
                .write_all(&plan.early_data)
                .unwrap();
        }
        run(StreamOwned::new(conn, stream), &plan, |conn| {
            look(conn);
            (Vec::new(), offers.then(|| conn.is_early_data_accepted()))
        })
    })
}

/// Runs Tessera's end: completes the handshake, exchanges lines with [`Plan::talk`] and closes. Returns what rustls
/// received.
#[track_caller]
pub fn talk_and_close<H: Handshake>(
    end: &mut End<H>,
    rustls: JoinHandle<RustlsFacts>,
) -> RustlsFacts
where
    H::Question: std::fmt::Debug,
{
    end.handshake().send(b"from Tessera\n").hear("from rustls\n");
    end.close().closed();
    let heard = rustls.join().unwrap();
    assert_eq!(heard.error, None);
    assert_eq!(heard.data, b"from Tessera\n");
    heard
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn run<C, S: SideData>(
    mut stream: StreamOwned<C, TcpStream>,
    plan: &Plan,
    early_data: impl FnOnce(&mut C) -> (Vec<u8>, Option<bool>),
) -> RustlsFacts
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
{
    let mut error = None;
    while error.is_none() && stream.conn.is_handshaking() {
        error = stream.conn.complete_io(&mut stream.sock).err();
    }
    let (early_data, early_data_accepted) = early_data(&mut stream.conn);
    let mut data = Vec::new();
    if error.is_none() {
        error = talk(&mut stream, plan, &mut data).err();
    }
    let conn = &stream.conn;
    RustlsFacts {
        kind: conn.handshake_kind(),
        group: conn.negotiated_key_exchange_group().map(|group| group.name()),
        suite: conn.negotiated_cipher_suite().map(|suite| suite.suite()),
        protocol: conn.alpn_protocol().map(<[u8]>::to_vec),
        certificates: conn.peer_certificates().map_or(0, <[_]>::len),
        early_data,
        early_data_accepted,
        data,
        error: error.map(|error| error.to_string()),
    }
}

/// Sends, receives, and closes both ways.
fn talk<C, S: SideData>(
    stream: &mut StreamOwned<C, TcpStream>,
    plan: &Plan,
    data: &mut Vec<u8>,
) -> std::io::Result<()>
where
    C: DerefMut + Deref<Target = ConnectionCommon<S>>,
{
    for _ in 0..plan.updates {
        stream.conn.refresh_traffic_keys().map_err(std::io::Error::other)?;
    }
    stream.write_all(&plan.says)?;
    stream.flush()?;
    data.resize(plan.hears, 0);
    stream.read_exact(data)?;
    stream.conn.send_close_notify();
    stream.flush()?;
    // Until the peer's close_notify; without that it fails.
    stream.read_to_end(data).map(|_| ())
}
