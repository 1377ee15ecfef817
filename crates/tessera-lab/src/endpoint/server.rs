//! The server's process: accepts one connection after the other.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tessera::handshake::Checked;
use tessera::{ReadEvent, ServerConfig, ServerConnection};
use tessera_tokio::fast_open::accept_on;

use super::configuration;
use super::etcd::EtcdStore;
use super::pipes::{Result, answer, orders};
use super::request::{self, Application};
use super::sites::OpenSite;
use super::stores::Stores;
use super::wire::Wire;
use crate::clock;
use crate::control::{self, Preparation, ServedConnection, ServerAnswer, ServerOrder};
use tessera_adversary::process_memory::ProcessMemory;

const UNPREPARED: &str = "not prepared for a row";

/// Obeys orders until there are no more.
pub(super) fn run(memory: ProcessMemory) -> io::Result<()> {
    let mut server = Server { memory: Some(memory), ..Server::default() };
    for order in orders() {
        answer(&server.obey(order?).unwrap_or_else(|e| ServerAnswer::Failed(e.to_string())))?;
    }
    Ok(())
}

/// The server, between orders.
#[derive(Default)]
pub(super) struct Server {
    listener: Option<TcpListener>,
    row: Option<Row>,
    application: Application,
    /// Of this process.
    memory: Option<ProcessMemory>,
}

/// The present row.
struct Row {
    preparation: Preparation,
    stores: Stores,
    /// That of the fleet's server that this process plays at present.
    config: Checked<ServerConfig>,
    /// That of another server that started together with the first one.
    other: Checked<ServerConfig>,
    /// The channel to another site, if there is one.
    site: Option<OpenSite>,
}

/// The arrival of the first request.
#[derive(Default)]
struct FirstArrival {
    /// The application held its first byte.
    first_byte: Option<Duration>,
    /// The flight with that byte had arrived.
    arrived: Option<Duration>,
}

impl Row {
    fn new(preparation: Preparation) -> Result<Self> {
        let (stores, site) = match &preparation.site {
            Some(site) => {
                let (stores, site) = OpenSite::open(site)?;
                (stores, Some(site))
            }
            None => (stores(&preparation)?, None),
        };
        let config = configuration::server(&preparation, &stores)?;
        let other = configuration::server(&preparation, &stores.of_another()?)?;
        Ok(Self { preparation, stores, config, other, site })
    }

    fn become_server(&mut self, server: control::Server) -> Result<()> {
        self.config = match server {
            control::Server::First => configuration::server(&self.preparation, &self.stores)?,
            control::Server::Other => self.other.clone(),
            control::Server::Restarted => {
                configuration::server(&self.preparation, &self.stores.of_another()?)?
            }
        };
        Ok(())
    }
}

/// Creates the stores of a server without another site.
fn stores(preparation: &Preparation) -> Result<Stores> {
    let stores = Stores::new(preparation.attacked)?;
    match preparation.etcd {
        Some(etcd) => Ok(stores.with_vault(Arc::new(EtcdStore::open(etcd)?))),
        None => Ok(stores),
    }
}

impl Server {
    pub(super) fn obey(&mut self, order: ServerOrder) -> Result<ServerAnswer> {
        match order {
            ServerOrder::Listen(address) => self.listen(address),
            ServerOrder::Prepare(preparation) => {
                let row = self.row.insert(Row::new(*preparation)?);
                self.application = Application::default();
                let open_at = row.site.as_ref().and_then(OpenSite::open_at);
                Ok(open_at.map_or(ServerAnswer::Ready, ServerAnswer::Listening))
            }
            ServerOrder::ReachHome => {
                let site = self.row.as_ref().and_then(|row| row.site.as_ref());
                site.ok_or("there is one site")?.reach_home()?;
                Ok(ServerAnswer::Ready)
            }
            ServerOrder::Become(server) => {
                self.row.as_mut().ok_or(UNPREPARED)?.become_server(server)?;
                Ok(ServerAnswer::Ready)
            }
            ServerOrder::Accept => {
                answer(&ServerAnswer::Ready)?;
                self.accept().map(ServerAnswer::Served)
            }
            ServerOrder::CountExecutions(id) => {
                Ok(ServerAnswer::Executions(self.application.executions(id)))
            }
            ServerOrder::OpenWithMemory(capture) => {
                let memory =
                    self.memory.as_mut().ok_or("the memory of this process can't be read")?;
                // On a separate thread: this one's stack holds what connections left there.
                let opened = thread::scope(|scope| {
                    let search =
                        || Ok(tessera_adversary::open_with_memory(&capture, &memory.read()?));
                    scope
                        .spawn(search)
                        .join()
                        .unwrap_or_else(|_| Err(io::Error::other("the search failed")))
                });
                Ok(ServerAnswer::OpenedWithMemory(opened?))
            }
            ServerOrder::GiveAll => {
                let row = self.row.as_ref().ok_or(UNPREPARED)?;
                Ok(ServerAnswer::Stolen(row.stores.steal()?))
            }
        }
    }

    fn listen(&mut self, address: IpAddr) -> Result<ServerAnswer> {
        let listener = TcpListener::bind((address, 0))?;
        // Only rows with TCP Fast Open need it, and these only run if the system allows it.
        let _ = accept_on(&listener, NonZeroU16::MIN.saturating_add(15));
        let address = listener.local_addr()?;
        self.listener = Some(listener);
        Ok(ServerAnswer::Listening(address))
    }

    pub(super) fn accept(&mut self) -> Result<ServedConnection> {
        let listener = self.listener.as_ref().ok_or("not listening")?;
        let config = self.row.as_ref().ok_or(UNPREPARED)?.config.clone();
        let process_cpu = clock::process_cpu()?;
        let (stream, _) = listener.accept()?;

        let mut wire = Wire::new(stream, false)?;
        let mut connection =
            wire.engine(|now, _| Ok(Box::new(ServerConnection::start(config, now))))?;
        let mut begun = FirstArrival::default();
        let error = self.serve(&mut wire, &mut connection, &mut begun).err();
        let error = error.map(|error| error.to_string());
        let observed = configuration::observed(connection.facts());
        let (cost, _) = wire.close(connection, process_cpu)?;
        let FirstArrival { first_byte, arrived } = begun;
        Ok(ServedConnection { first_byte, arrived, cost, observed, error })
    }

    /// Serves a connection until the client ends it.
    fn serve(
        &mut self,
        wire: &mut Wire,
        connection: &mut ServerConnection,
        begun: &mut FirstArrival,
    ) -> Result<()> {
        let mut received = Vec::new();
        loop {
            match wire.next(connection)? {
                Some(ReadEvent::EarlyData(data) | ReadEvent::Data(data)) => {
                    if begun.first_byte.is_none() {
                        let (first_byte, arrived) = (Some(clock::monotonic()?), wire.arrived());
                        *begun = FirstArrival { first_byte, arrived };
                    }
                    received.extend_from_slice(wire.bytes(data));
                    if let Some(response) = self.application.execute(&received) {
                        received.drain(..request::LEN);
                        wire.engine(|_, output| connection.write(&response, output))?;
                    }
                }
                Some(_) => (),
                None if connection.facts().handshake_complete => return Ok(()),
                None => return Err("the client left during the handshake".into()),
            }
        }
    }
}
