//! A server and a client, from PEM files to the first byte, with tickets and forward-secret 0-RTT.
//!
//! ```text
//! cargo run -p tessera-tokio --example first_byte
//! ```
//!
//! The client connects twice. The first connection is a full handshake and leaves a session behind; the
//! second one sends its question with the first flight.

use std::error::Error;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tessera::auth::{Credential, PrivateKey};
use tessera::resume::{Continuation, OneTimeKeyGuard, Verdict};
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_aws_lc::SigningKey;
use tessera_tokio::{Acceptor, Connector, EarlyData, MemorySessionStore};
use tessera_vault::{MemoryVault, RotatingRing};
use tessera_webpki::WebPkiVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files = make_files()?;
    let server = server_config(&files.chain, &files.key)?;
    let client = client_config(&files.root)?;
    fs::remove_dir_all(&files.directory)?;

    let acceptor = Acceptor::new(server.checked()?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener, acceptor));

    let sessions = Arc::new(MemorySessionStore::default());
    let connector = Connector::new(client.checked()?).with_sessions(sessions);
    for question in ["first?", "again?", "third?", "fourth"] {
        ask(&connector, address, question).await?;
    }
    Ok(())
}

/// Makes the configuration of a server: what it offers and accepts.
fn server_config(chain: &Path, key: &Path) -> Result<ServerConfig, Box<dyn Error>> {
    let provider = tessera_aws_lc::provider();
    let key = PrivatePkcs8KeyDer::from_pem_file(key)?;
    let key = SigningKey::from_pkcs8(key.secret_pkcs8_der())?;
    let credential = Credential::new(certificates(chain)?, PrivateKey::Signs(Arc::new(key)));
    let mut config = ServerConfig::new(provider, vec![credential]);

    // Tickets: sealed under keys that the ring changes itself; servers of one name share theirs.
    config.tickets = Some(Arc::new(RotatingRing::new(&provider)));

    // Forward-secret 0-RTT: each ticket comes with a one-time key, and the vault keeps its private half.
    let vault = Arc::new(MemoryVault::new(100_000));
    config.policy.early_data.forward_secret = Some(OneTimeKeyGuard::new(vault));
    Ok(config)
}

/// Makes the configuration of a client: what it offers and accepts.
fn client_config(root: &Path) -> Result<ClientConfig, Box<dyn Error>> {
    // For servers of the public web: `tessera_tokio::system_verifier()`.
    let verifier = WebPkiVerifier::new(&certificates(root)?)?;
    let mut config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
    // Resumption is on by default. Early data is off: only the application knows whether it is safe to use.
    config.policy.early_data.forward_secret = Some(Continuation::PskDheKe);
    Ok(config)
}

/// Reads the certificates of a PEM file, in order.
fn certificates(path: &Path) -> Result<Vec<Vec<u8>>, pki_types::pem::Error> {
    let certificates = CertificateDer::pem_file_iter(path)?;
    certificates.map(|der| der.map(|der| der.to_vec())).collect()
}

/// Answers every question, and mentions in the answer whether it came as early data.
async fn serve(listener: TcpListener, acceptor: Acceptor) -> io::Result<()> {
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // Ready half a round trip before the handshake is complete, so that early data is answered at
            // once.
            let mut stream = acceptor.accept_early(socket).await?;
            let mut question = [0; 6];
            stream.read_exact(&mut question).await?;
            let when =
                if stream.is_early() { "in the first flight" } else { "after the handshake" };
            stream.write_all(format!("the question came {when}").as_bytes()).await?;
            // Tickets are sent when the handshake is complete, and nothing is sent after the end.
            stream.handshake().await?;
            stream.shutdown().await?;
            // Read on until the client has closed too: an unread close would reset the connection.
            stream.read_to_end(&mut Vec::new()).await
        });
    }
}

/// Asks one question, with the first flight if a session can carry it.
async fn ask(connector: &Connector, address: SocketAddr, question: &str) -> io::Result<()> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    let destination = Destination { server_name: SERVER_NAME.into(), ..Default::default() };
    let question_bytes = question.as_bytes();
    let connecting = connector.connect_with_early_data(destination, socket, question_bytes);
    let (mut stream, rest) = match connecting.await {
        EarlyData::Accepted { stream, count, .. } => (stream, &question_bytes[count..]),
        EarlyData::NotSent(stream) => (stream?, question_bytes),
        EarlyData::Rejected { stream, verdict: Verdict::Burned, .. } => (stream, question_bytes),
        // The server may have executed it: the application decides whether to ask again. The outcome has the
        // flight's handle, to ask for the receipt.
        unknown => return Err(io::Error::other(format!("maybe executed: {unknown:?}"))),
    };
    stream.write_all(rest).await?;
    let early_data = stream.early_data();
    // Reading also takes the tickets that arrive, and puts their sessions into the store.
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    println!("{question} {answer} (early: {}, PSK: {:?})", early_data.accepted, stream.facts().psk);
    stream.shutdown().await
}

/// The name in the server's certificate.
const SERVER_NAME: &str = "server.example";

/// An operator's files, made here for one run.
struct Files {
    directory: PathBuf,
    root: PathBuf,
    chain: PathBuf,
    key: PathBuf,
}

fn make_files() -> Result<Files, Box<dyn Error>> {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([SERVER_NAME.to_owned()])?.signed_by(&key, &root)?;

    let directory = std::env::temp_dir().join(format!("tessera-first-byte-{}", std::process::id()));
    fs::create_dir(&directory)?;
    let in_directory = |name: &str| directory.join(name);
    let (root_file, chain_file, key_file) =
        (in_directory("root.pem"), in_directory("chain.pem"), in_directory("key.pem"));
    fs::write(&root_file, root.pem())?;
    fs::write(&chain_file, certificate.pem())?;
    fs::write(&key_file, key.serialize_pem())?;
    Ok(Files { directory, root: root_file, chain: chain_file, key: key_file })
}
