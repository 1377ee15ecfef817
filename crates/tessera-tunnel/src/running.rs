//! The tunnels of a process while they run.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tessera_kit::ProgramError;
use tessera_kit::live::Changes;
use tessera_proxy::certificates::CertificateEnd;
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tessera_proxy::logging::tracing;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::certificates;
use crate::client::{self, ClientEnd};
use crate::config::{ListenAddress, Tunnels};
use crate::metrics::{Label, Metrics, ReloadResult, Role};
use crate::server::ServerEnd;
use crate::warnings;

/// All ends of a configuration, each with its task.
pub(crate) struct RunningTunnels {
    ends: Vec<RunningEnd>,
    /// Joined at shutdown.
    tasks: Mutex<Vec<Task>>,
    metrics: Metrics,
    /// Expiry of the certificates loaded so far.
    certificates: watch::Sender<Vec<CertificateEnd>>,
    /// Whether shutdown was requested.
    ending: watch::Sender<bool>,
}

/// One end.
struct RunningEnd {
    name: String,
    addresses: Vec<SocketAddr>,
    end: End,
}

type Task = JoinHandle<Result<(), ProgramError>>;

#[derive(Clone)]
enum End {
    Server(ServerEnd),
    Client(Arc<ClientEnd>),
}

/// One end that is ready to listen.
struct ReadyEnd {
    name: String,
    listen: ListenAddress,
    end: End,
}

impl ReadyEnd {
    fn bind(&self, inherited: &mut InheritedSockets) -> Result<Listener, ProgramError> {
        let options = match &self.end {
            End::Server(end) => end.listen_options(),
            End::Client(_) => ListenOptions::default(),
        };
        let listener = Listener::bind(&self.listen, options, inherited)?;
        if let Some(lacks) = listener.fast_open_lacks() {
            tracing::warn!(tunnel = self.name, "no TCP Fast Open: {lacks}");
        }
        Ok(listener)
    }
}

impl RunningTunnels {
    /// Loads all files, binds all addresses, then accepts connections: all or nothing.
    pub(crate) async fn start(
        tunnels: &Tunnels,
        inherited: &mut InheritedSockets,
        metrics: Metrics,
    ) -> Result<Self, ProgramError> {
        let mut ready = Vec::new();
        let started = load(tunnels, &metrics, &mut ready).and_then(|()| {
            // Bind all before the first accepts: a client that reaches one end finds all of them listening.
            ready.iter().map(|it| it.bind(inherited)).collect::<Result<Vec<_>, _>>()
        });
        match started {
            Ok(listeners) => {
                let certificates = certificates::of(tunnels);
                Ok(Self::run(ready, listeners, tunnels.process.drain, metrics, certificates))
            }
            Err(error) => {
                for ReadyEnd { end, .. } in ready {
                    if let End::Server(end) = end {
                        end.stores().give_back();
                    }
                }
                Err(error)
            }
        }
    }

    fn run(
        ready: Vec<ReadyEnd>,
        listeners: Vec<Listener>,
        drain: Duration,
        metrics: Metrics,
        certificates: Vec<CertificateEnd>,
    ) -> Self {
        metrics.certificates.replace(&certificates);
        let (certificates, ends) = watch::channel(certificates);
        tokio::spawn(certificates::keep_looking(ends));
        let (ending, asked) = watch::channel(false);
        let run = |(ReadyEnd { name, end, .. }, listener): (ReadyEnd, Listener)| {
            // An unknown address is no reason not to listen.
            let addresses = listener.local_addrs().unwrap_or_default();
            let task = tokio::spawn(end.clone().run(name.clone(), listener, asked.clone(), drain));
            (RunningEnd { name, addresses, end }, task)
        };
        let (ends, tasks) = ready.into_iter().zip(listeners).map(run).unzip();
        Self { ends, tasks: Mutex::new(tasks), metrics, certificates, ending }
    }

    /// Returns the address where an end listens, if it has one.
    #[cfg(feature = "demo")]
    pub(crate) fn address(&self, role: Role, name: &str) -> Option<SocketAddr> {
        let found = self.ends.iter().find(|it| it.end.role() == role && it.name == name);
        found.and_then(|it| it.addresses.first().copied())
    }

    /// Returns each end with its addresses.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (Role, &str, &[SocketAddr])> {
        self.ends.iter().map(|it| (it.end.role(), it.name.as_str(), it.addresses.as_slice()))
    }

    /// Counts a reload that failed before it reached any end.
    pub(crate) fn count_failed_reload(&self) {
        for (role, name, _) in self.ends() {
            self.metrics.tunnel(name, role).reloads.count(ReloadResult::Failed);
        }
    }

    /// Reloads the files of all ends, in all of them or in none. Ends whose section was removed keep running. Blocks
    /// while it reads.
    pub(crate) fn reload(
        &self,
        tunnels: &Tunnels,
    ) -> Result<Vec<(Role, &str, Changes)>, ProgramError> {
        let mut prepared = Vec::new();
        for RunningEnd { name, end, .. } in &self.ends {
            let (server, client) = (tunnels.server.get(name), tunnels.client.get(name));
            let ready = match end {
                End::Server(end) => server.map(|section| end.prepare(section.clone())),
                End::Client(end) => client.map(|section| end.prepare(section.clone())),
            };
            if let Some(ready) = ready {
                prepared.push((end.role(), name.as_str(), ready?));
            }
        }
        let certificates = certificates::of(tunnels);
        let changes =
            prepared.into_iter().map(|(role, name, ready)| (role, name, ready.exchange()));
        let changes = changes.collect();
        self.metrics.certificates.replace(&certificates);
        self.certificates.send_replace(certificates);
        Ok(changes)
    }

    /// Stops accepting, drains open connections, cuts the rest after the drain time, and closes persistent state.
    pub(crate) async fn end(&self) -> Result<(), ProgramError> {
        self.ending.send_replace(true);
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let mut ended = Ok(());
        for task in tasks {
            let task =
                task.await.unwrap_or_else(|error| Err(ProgramError::failed("a tunnel", error)));
            // Wait for every task, even if one fails.
            ended = ended.and(task);
        }
        ended
    }
}

fn load(
    tunnels: &Tunnels,
    metrics: &Metrics,
    ready: &mut Vec<ReadyEnd>,
) -> Result<(), ProgramError> {
    if let Some(warning) = warnings::of_process(&tunnels.process) {
        tracing::warn!("{warning}");
    }
    for (name, section) in &tunnels.client {
        for warning in client::check(name, section)? {
            tracing::warn!("{warning}");
        }
        warnings::of_client(name, section).iter().for_each(|it| tracing::warn!("{it}"));
        let end = End::Client(Arc::new(ClientEnd::load(name, section, metrics)?));
        ready.push(ReadyEnd { name: name.clone(), listen: section.listen.clone(), end });
    }
    // Last: states must be closed even if something else failed.
    for (name, section) in &tunnels.server {
        warnings::of_server(name, section).iter().for_each(|it| tracing::warn!("{it}"));
        let metrics = metrics.tunnel(name, Role::Server);
        let (end, found) = ServerEnd::open(name, section.clone(), metrics)?;
        if let Some(found) = found {
            tracing::info!(tunnel = name, role = "server", "{found}");
        }
        let end = End::Server(end);
        ready.push(ReadyEnd { name: name.clone(), listen: section.listen.clone(), end });
    }
    Ok(())
}

impl End {
    fn role(&self) -> Role {
        match self {
            Self::Server(_) => Role::Server,
            Self::Client(_) => Role::Client,
        }
    }

    /// Accepts connections until shutdown is requested.
    async fn run(
        self,
        name: String,
        listener: Listener,
        mut asked: watch::Receiver<bool>,
        limit: Duration,
    ) -> Result<(), ProgramError> {
        // Dropping the tunnels ends them too.
        let ending = async move { drop(asked.wait_for(|asked| *asked).await) };
        let role = self.role().name();
        let drained = match self {
            Self::Server(end) => end.run(listener, ending, limit).await?,
            Self::Client(end) => end.run(listener, ending, limit).await,
        };
        tracing::info!(tunnel = name, role, ended = drained.ended, cut = drained.cut, "{drained}");
        Ok(())
    }
}
