//! The server's process: accepts one connection after the other.

use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tessera::{ServerConfig, ServerConnection};

use super::request::{self, Application};
use super::stores::Stores;
use super::wire::{Happened, Wire};
use super::{Result, answer, configuration, orders};
use crate::clock;
use crate::control::{Served, ServerAnswer, ServerOrder};

/// Does as it is told, until there is no one to tell it.
pub(super) fn run() -> io::Result<()> {
    let mut server = Server::default();
    for order in orders() {
        answer(&server.obey(order?).unwrap_or_else(|e| ServerAnswer::Failed(e.to_string())))?;
    }
    Ok(())
}

/// The server, between orders.
#[derive(Default)]
pub(super) struct Server {
    listener: Option<TcpListener>,
    pub(super) config: Option<Arc<ServerConfig>>,
    application: Application,
    stores: Option<Stores>,
}

impl Server {
    pub(super) fn obey(&mut self, order: ServerOrder) -> Result<ServerAnswer> {
        match order {
            ServerOrder::Listen(address) => self.listen(address),
            ServerOrder::Prepare(preparation) => {
                let stores = Stores::new(preparation.attacked)?;
                self.config = Some(configuration::server(&preparation, &stores)?);
                self.stores = Some(stores);
                self.application = Application::default();
                Ok(ServerAnswer::Ready)
            }
            ServerOrder::Accept => {
                answer(&ServerAnswer::Ready)?;
                self.accept().map(ServerAnswer::Served)
            }
            ServerOrder::CountExecutions(id) => {
                Ok(ServerAnswer::Executions(self.application.executions(id)))
            }
            ServerOrder::GiveAll => {
                let stores = self.stores.as_ref().ok_or("not prepared for a row")?;
                Ok(ServerAnswer::Robbed(stores.rob()?))
            }
        }
    }

    fn listen(&mut self, address: IpAddr) -> Result<ServerAnswer> {
        let listener = TcpListener::bind((address, 0))?;
        let address = listener.local_addr()?;
        self.listener = Some(listener);
        Ok(ServerAnswer::Listening(address))
    }

    pub(super) fn accept(&mut self) -> Result<Served> {
        let listener = self.listener.as_ref().ok_or("not listening")?;
        let config = self.config.clone().ok_or("not prepared for a row")?;
        let process_cpu = clock::process_cpu()?;
        let (stream, _) = listener.accept()?;

        let mut wire = Wire::new(stream, false)?;
        let mut connection =
            wire.engine(|now, _| ServerConnection::start(config, now).map(Box::new))?;
        let mut first_byte = None;
        let error = self.serve(&mut wire, &mut connection, &mut first_byte).err();
        let error = error.map(|error| error.to_string());
        let observed = configuration::observed(connection.facts());
        let (cost, _) = wire.close(connection, process_cpu)?;
        Ok(Served { first_byte, cost, observed, error })
    }

    /// Serves a connection until the client ends it.
    fn serve(
        &mut self,
        wire: &mut Wire,
        connection: &mut ServerConnection,
        first_byte: &mut Option<Duration>,
    ) -> Result<()> {
        let mut received = Vec::new();
        loop {
            match wire.next(connection)? {
                Happened::EarlyData(data) | Happened::Data(data) => {
                    if first_byte.is_none() {
                        *first_byte = Some(clock::monotonic()?);
                    }
                    received.extend_from_slice(&data);
                    if let Some(response) = self.application.execute(&received) {
                        received.drain(..request::LEN);
                        wire.engine(|now, output| connection.write(now, &response, output))?;
                    }
                }
                Happened::Handshake(_) => (),
                Happened::Ended if connection.facts().handshake_complete => return Ok(()),
                Happened::Ended => return Err("the client left during the handshake".into()),
            }
        }
    }
}
