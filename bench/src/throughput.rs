//! How fast bulk data passes through Tessera's streams, compared with those of tokio-rustls.
//!
//! `throughput [MIB [ROUNDS]]` sends MIB mebibytes each way between every pair of stacks, ROUNDS
//! times in turn, in one thread; see README.md.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tessera_interop::{Identity, KeyKind, Pki, SERVER_NAME};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<usize>());
    let mebibytes = arguments.next().transpose()?.unwrap_or(64);
    let rounds = arguments.next().transpose()?.unwrap_or(9);
    println!(
        "MiB per second of processor time, both ends together; {mebibytes} MiB, median of {rounds}"
    );
    // One thread: its processor time is that of both ends, and other programs don't add to it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stacks = Stacks::new()?;
    for way in [Way::Pipe, Way::Loopback] {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let mut spent = vec![Vec::new(); PAIRS.len()];
            // In turn, so that a machine that becomes slower affects all of them. The first round only warms up.
            for round in 0..=rounds {
                for (pair, spent) in PAIRS.iter().zip(&mut spent) {
                    let time =
                        runtime.block_on(stacks.transfer(way, direction, *pair, mebibytes))?;
                    if round > 0 {
                        spent.push(time);
                    }
                }
            }
            let medians: Vec<f64> = spent.into_iter().map(median).collect();
            print(way, direction, mebibytes, &medians);
        }
    }
    Ok(())
}

/// The library of an end's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stack {
    Tessera,
    Rustls,
}

/// The sender, and the receiver.
type Pair = (Stack, Stack);

const PAIRS: [Pair; 4] = [
    (Stack::Rustls, Stack::Rustls),
    (Stack::Tessera, Stack::Tessera),
    (Stack::Tessera, Stack::Rustls),
    (Stack::Rustls, Stack::Tessera),
];

#[derive(Debug, Clone, Copy)]
enum Way {
    /// Tokio's pipe in memory.
    Pipe,
    /// TCP over the loopback interface; the kernel's time counts as well.
    Loopback,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    ToServer,
    ToClient,
}

fn print(way: Way, direction: Direction, mebibytes: usize, medians: &[f64]) {
    let [rustls, both, sends, receives] = medians else { return };
    let speed = |seconds: f64| mebibytes as f64 / seconds;
    println!(
        "{:<8} {:<8}  rustls {:5.0}  Tessera {:5.0} ({:.2}x)  Tessera sends {:5.0} ({:.2}x)  \
         Tessera receives {:5.0} ({:.2}x)",
        format!("{way:?}"),
        format!("{direction:?}"),
        speed(*rustls),
        speed(*both),
        rustls / both,
        speed(*sends),
        rustls / sends,
        speed(*receives),
        rustls / receives,
    );
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(f64::NAN, Duration::as_secs_f64)
}

trait Bytes: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Bytes for T {}

/// Both ends of both stacks, with AES-128-GCM on AWS-LC and the same certificate.
struct Stacks {
    connector: tessera_tokio::Connector,
    acceptor: tessera_tokio::Acceptor,
    rustls_connector: tokio_rustls::TlsConnector,
    rustls_acceptor: tokio_rustls::TlsAcceptor,
}

impl Stacks {
    fn new() -> Result<Self, Failure> {
        let pki = Pki::new();
        let identity = pki.server(KeyKind::P256);
        let mut client = tessera_interop::client(&pki);
        let server = tessera_interop::server(&identity);
        client.suites = vec![tessera::wire::CipherSuite::TLS_AES_128_GCM_SHA256];

        let suite = aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
        let provider = aws_lc_rs::default_provider();
        let provider = Arc::new(CryptoProvider { cipher_suites: vec![suite], ..provider });
        let versions = [&rustls::version::TLS13];
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from(pki.root()))?;
        let rustls_client = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let (chain, key) = of_rustls(&identity);
        let rustls_server = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        Ok(Self {
            connector: tessera_tokio::Connector::new(client.checked()?),
            acceptor: tessera_tokio::Acceptor::new(server.checked()?),
            rustls_connector: Arc::new(rustls_client).into(),
            rustls_acceptor: Arc::new(rustls_server).into(),
        })
    }

    /// Returns the processor time of a transfer, without the handshake.
    async fn transfer(
        &self,
        way: Way,
        direction: Direction,
        (sends, receives): Pair,
        mebibytes: usize,
    ) -> Result<Duration, Failure> {
        let (near, far): (Box<dyn Bytes>, Box<dyn Bytes>) = match way {
            Way::Pipe => {
                let (near, far) = duplex(64 * 1024);
                (Box::new(near), Box::new(far))
            }
            Way::Loopback => {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                let near = TcpStream::connect(listener.local_addr()?).await?;
                let (far, _) = listener.accept().await?;
                near.set_nodelay(true)?;
                far.set_nodelay(true)?;
                (Box::new(near), Box::new(far))
            }
        };
        let (client, server) = match direction {
            Direction::ToServer => (sends, receives),
            Direction::ToClient => (receives, sends),
        };
        let (client, server) =
            tokio::try_join!(self.client(client, near), self.server(server, far))?;
        let (mut sender, mut receiver) = match direction {
            Direction::ToServer => (client, server),
            Direction::ToClient => (server, client),
        };
        let data = vec![7; PIECE];
        let mut buffer = vec![0; PIECE];
        let total = mebibytes << 20;
        let before = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
        let sending = async {
            for _ in 0..total / PIECE {
                sender.write_all(&data).await?;
            }
            sender.flush().await
        };
        let receiving = async {
            let mut received = 0;
            while received < total {
                match receiver.read(&mut buffer).await? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    count => received += count,
                }
            }
            Ok(())
        };
        tokio::try_join!(sending, receiving)?;
        Ok((clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)? - before).into())
    }

    async fn client(&self, stack: Stack, io: Box<dyn Bytes>) -> std::io::Result<Box<dyn Bytes>> {
        Ok(match stack {
            Stack::Tessera => {
                Box::new(self.connector.connect(tessera_interop::to(None), io).await?)
            }
            Stack::Rustls => {
                let name = ServerName::try_from(SERVER_NAME).map_err(std::io::Error::other)?;
                Box::new(self.rustls_connector.connect(name, io).await?)
            }
        })
    }

    async fn server(&self, stack: Stack, io: Box<dyn Bytes>) -> std::io::Result<Box<dyn Bytes>> {
        Ok(match stack {
            Stack::Tessera => Box::new(self.acceptor.accept(io).await?),
            Stack::Rustls => Box::new(self.rustls_acceptor.accept(io).await?),
        })
    }
}

fn of_rustls(identity: &Identity) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = identity.chain.iter().cloned().map(CertificateDer::from).collect();
    (chain, PrivateKeyDer::Pkcs8(identity.key.clone().into()))
}

/// The size of each write and read: four of the largest records.
const PIECE: usize = 64 * 1024;
