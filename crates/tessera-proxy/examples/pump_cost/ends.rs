//! The client end and server end of a tunnel, and their processor time.

use std::cell::RefCell;
use std::fs;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use tessera::handshake::ClientAuthentication;
use tessera::wire::CipherSuite;
use tessera_interop::{KeyKind, Pki};
use tessera_proxy::pump::pump;
use tessera_tokio::{Acceptor, Connector};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use crate::Failure;

pub(crate) struct Ends {
    pub(crate) name: &'static str,
    /// The address of the client end.
    pub(crate) address: SocketAddr,
    client: End,
    server: End,
    speeds: RefCell<Vec<f64>>,
}

/// One end: threads of this process with a common name.
struct End {
    name: String,
    #[expect(dead_code, reason = "the threads end with it")]
    runtime: Runtime,
}

impl Ends {
    fn new(name: &'static str, address: SocketAddr, client: End, server: End) -> Self {
        Self { name, address, client, server, speeds: RefCell::default() }
    }

    pub(crate) fn note(&self, speed: f64) {
        self.speeds.borrow_mut().push(speed);
    }

    /// Returns the median of the measurements, and clears them.
    pub(crate) fn speed(&self) -> f64 {
        let mut speeds = self.speeds.take();
        speeds.sort_by(f64::total_cmp);
        speeds.get(speeds.len() / 2).copied().unwrap_or_default()
    }

    /// Returns the nanoseconds of the client end and of the server end.
    pub(crate) fn processor_time(&self) -> Result<(f64, f64), Failure> {
        Ok((self.client.processor_time()?, self.server.processor_time()?))
    }

    /// Without TLS: the share of the kernel and the runtime.
    pub(crate) fn plain(threads: usize, backend: SocketAddr) -> Result<Self, Failure> {
        let hop = move |next: SocketAddr| {
            move |mut socket: TcpStream| async move {
                let mut next = connect(next).await?;
                pump(&mut socket, &mut next).await;
                Ok(())
            }
        };
        let (server, server_end) = end(threads, hop(backend))?;
        let (client, client_end) = end(threads, hop(server))?;
        Ok(Self::new("plain", client, client_end, server_end))
    }

    pub(crate) fn tls(threads: usize, backend: SocketAddr) -> Result<Self, Failure> {
        let pki = Pki::new();
        let (client, server) = (pki.client(KeyKind::P256), pki.server(KeyKind::P256));
        let mut server_config = tessera_interop::server(&server);
        server_config.client_authentication = ClientAuthentication::Required(pki.verifier());
        let mut client_config = tessera_interop::client(&pki);
        client_config.credentials = vec![client.credential()];
        client_config.suites = vec![CipherSuite::TLS_AES_128_GCM_SHA256];
        let acceptor = Acceptor::new(server_config.checked()?);
        let connector = Connector::new(client_config.checked()?);
        let (server, server_end) = end(threads, move |socket| {
            let acceptor = acceptor.clone();
            async move {
                let mut stream = acceptor.accept(socket).await?;
                let mut next = connect(backend).await?;
                pump(&mut stream, &mut next).await;
                Ok(())
            }
        })?;
        let (client, client_end) = end(threads, move |mut socket| {
            let connector = connector.clone();
            async move {
                let next = connect(server).await?;
                let mut stream = connector.first_flight(tessera_interop::to(None), next).await?;
                pump(&mut socket, &mut stream).await;
                Ok(())
            }
        })?;
        Ok(Self::new("TLS", client, client_end, server_end))
    }
}

/// Runs an end on its own threads.
fn end<F, R>(threads: usize, serve: F) -> Result<(SocketAddr, End), Failure>
where
    F: Fn(TcpStream) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), Failure>> + Send + 'static,
{
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("end-{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name(&name)
        .enable_all()
        .build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    runtime.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let _ = socket.set_nodelay(true);
            let work = serve(socket);
            tokio::spawn(async move {
                if let Err(error) = work.await {
                    eprintln!("{error}");
                }
            });
        }
    });
    Ok((address, End { name, runtime }))
}

async fn connect(next: SocketAddr) -> Result<TcpStream, Failure> {
    let socket = TcpStream::connect(next).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

impl End {
    /// Returns the nanoseconds of all its threads.
    fn processor_time(&self) -> Result<f64, Failure> {
        let mut total = 0.0;
        for thread in fs::read_dir("/proc/self/task")? {
            let path = thread?.path();
            // The thread may have ended.
            let Ok(comm) = fs::read_to_string(path.join("comm")) else { continue };
            if comm.trim_end() == self.name {
                let stat = fs::read_to_string(path.join("schedstat"))?;
                total += stat.split_whitespace().next().ok_or("no schedstat")?.parse::<f64>()?;
            }
        }
        Ok(total)
    }
}
