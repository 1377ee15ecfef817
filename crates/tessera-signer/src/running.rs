//! A running signer: its listener, its reloads and its end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tessera_kit::ProgramError;
use tessera_kit::live::LiveTarget;
use tessera_proxy::changes::PendingChanges;
use tessera_proxy::logging::tracing;
use tessera_proxy::process::{RunningProduct, StartContext};
use tessera_tokio::Acceptor;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::config::{LoadedSigner, Signer};
use crate::load;
use crate::server::SignerServer;

pub(crate) struct RunningSigner {
    server: Arc<SignerServer>,
    acceptor: LiveTarget<Acceptor>,
    file: PathBuf,
    configuration: Mutex<Signer>,
    address: SocketAddr,
    ending: watch::Sender<bool>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl RunningSigner {
    /// Loads all files, binds the listener, and accepts connections: all of it or nothing.
    pub(crate) fn start(
        file: &Path,
        loaded: LoadedSigner,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        Self::start_with(file, &loaded.signer, beginning).map_err(|error| loaded.locate(error))
    }

    fn start_with(
        file: &Path,
        signer: &Signer,
        beginning: StartContext<'_>,
    ) -> Result<Self, ProgramError> {
        let keys = load::keys(signer)?;
        let acceptor = Acceptor::new(load::tls(&signer.signer, &signer.limits)?);
        let (listener, address) = bind(signer.signer.listen)?;
        let (limits, in_progress) = (load::limits(signer), signer.limits.in_progress);
        let server = SignerServer::new(keys, limits, in_progress, beginning.metrics);
        let server = Arc::new(server);
        let ending = watch::Sender::new(false);
        let (running, for_clients, mut ended) =
            (server.clone(), acceptor.clone(), ending.subscribe());
        let listening = tokio::spawn(async move {
            let end = async move { drop(ended.wait_for(|ending| *ending).await) };
            running.run(listener, for_clients, end).await;
        });
        Ok(Self {
            server,
            acceptor: LiveTarget::new(acceptor),
            file: file.to_owned(),
            configuration: Mutex::new(signer.clone()),
            address,
            ending,
            listening: Mutex::new(Some(listening)),
        })
    }
}

fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ProgramError> {
    let bound = std::net::TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((TcpListener::from_std(listener)?, address))
    });
    bound.map_err(|error| ProgramError::failed(format_args!("[signer] listen: {address}"), error))
}

impl RunningProduct for RunningSigner {
    const CONDITION: &'static str = "listener";

    fn log_addresses(&self) {
        tracing::info!(address = %self.address, "listening");
    }

    fn status(&self) -> String {
        let signer = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        match signer.key.len() {
            1 => "1 key".to_owned(),
            count => format!("{count} keys"),
        }
    }

    fn reload(&self) -> Result<(), ProgramError> {
        let mut configuration = self.configuration.lock().unwrap_or_else(PoisonError::into_inner);
        let mut loaded = LoadedSigner::read(&self.file)?;
        let mut waiting = PendingChanges::default();
        let wanted = &mut loaded.signer;
        waiting.keep_in("process", &configuration.process, &mut wanted.process);
        waiting.keep_in("signer", &configuration.signer, &mut wanted.signer);
        waiting.keep("[limits]", &configuration.limits, &mut wanted.limits);
        let wanted = &loaded.signer;
        let prepare = || {
            wanted.check()?;
            let keys = load::keys(wanted)?;
            let tls = self.acceptor.prepare(|| load::tls(&wanted.signer, &wanted.limits))?;
            Ok((keys, tls))
        };
        let (keys, tls) = prepare().map_err(|error| loaded.locate(error))?;
        let changed = tls.exchange();
        self.server.replace(keys);
        waiting.warn();
        tracing::info!(generation = changed.generation, "reloaded");
        *configuration = loaded.signer;
        Ok(())
    }

    async fn end(&self) -> Result<(), ProgramError> {
        self.ending.send_replace(true);
        let listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listening) = listening {
            // It ends within the drain time.
            let _ = listening.await;
        }
        Ok(())
    }
}
