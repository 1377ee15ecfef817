//! What datagrams come from and go to.

use std::future::pending;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::ops::Deref;
use std::time::Duration;

use tessera_tokio::{DatagramConnection, DatagramHandshake, ReceivedDatagram};
use tokio::net::UdpSocket;
use tokio::time::sleep;

use crate::pump::scratch::{Rest, Scratch};

/// A side of a [`pump`](super::pump()).
pub trait DatagramSide: Sync {
    /// What it receives.
    type Received: Deref<Target = [u8]> + Send;

    /// Receives a datagram; `None` at the end. Dropping the future loses nothing.
    fn recv(&self) -> impl Future<Output = io::Result<Option<Self::Received>>> + Send;

    /// Sends a datagram; returns whether it was sent, and not too long or refused by the network.
    fn send(&self, datagram: &[u8]) -> impl Future<Output = io::Result<bool>> + Send;

    /// Returns when the peer has gone without a word; by default never.
    fn lost(&self) -> impl Future<Output = io::Error> + Send {
        pending()
    }
}

/// The data of a datagram; wiped on drop.
pub struct Datagram(Rest);

impl Datagram {
    /// Copies the data.
    pub fn new(data: &[u8]) -> Self {
        Self(Rest::new(data))
    }
}

impl Deref for Datagram {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl<S: DatagramHandshake> DatagramSide for DatagramConnection<S>
where
    Self: Sync,
{
    type Received = ReceivedDatagram;

    async fn recv(&self) -> io::Result<Option<ReceivedDatagram>> {
        self.recv().await
    }

    async fn send(&self, datagram: &[u8]) -> io::Result<bool> {
        // An empty record is padding (RFC 8446 §5.4): its receiver gets nothing.
        if datagram.is_empty() {
            return Ok(false);
        }
        match self.send(datagram).await {
            // It is too long.
            Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(false),
            sent => sent.map(|()| true),
        }
    }

    /// Finds a peer that has forgotten the connection, as after a restart: it answers nothing. One that only listens
    /// acknowledges a KeyUpdate (RFC 9147 §8).
    async fn lost(&self) -> io::Error {
        lost(self, SILENCE).await
    }
}

async fn lost<S: DatagramHandshake>(
    connection: &DatagramConnection<S>,
    silence: Duration,
) -> io::Error {
    // Not what was received: anyone can forge records.
    let mut heard = connection.newest_record();
    loop {
        let sent = connection.bytes()[1];
        sleep(silence).await;
        if connection.bytes()[1] == sent {
            continue;
        }
        if connection.newest_record() == heard {
            // An earlier one that is under way does as well.
            let _ = connection.update_keys(false);
            sleep(silence).await;
            if connection.newest_record() == heard {
                return io::Error::new(ErrorKind::TimedOut, "the peer answers nothing any more");
            }
        }
        heard = connection.newest_record();
    }
}

/// A connected socket. The network's reports about earlier datagrams (ICMP) end nothing.
impl DatagramSide for UdpSocket {
    type Received = Datagram;

    async fn recv(&self) -> io::Result<Option<Datagram>> {
        let received = receive(self, |buffer| self.try_recv(buffer).map(|len| (len, ()))).await;
        received.map(|(datagram, ())| Some(datagram))
    }

    async fn send(&self, datagram: &[u8]) -> io::Result<bool> {
        // The first error may be a report about an earlier datagram.
        Ok(self.send(datagram).await.is_ok() || self.send(datagram).await.is_ok())
    }
}

/// Receives a datagram of any sender. Dropping the future loses nothing.
pub(super) async fn recv_from(socket: &UdpSocket) -> io::Result<(Datagram, SocketAddr)> {
    receive(socket, |buffer| socket.try_recv_from(buffer)).await
}

async fn receive<T>(
    socket: &UdpSocket,
    mut read: impl FnMut(&mut [u8]) -> io::Result<(usize, T)>,
) -> io::Result<(Datagram, T)> {
    let mut errors = 0;
    loop {
        socket.readable().await?;
        match Scratch::take().read_with(&mut read) {
            Ok((data, of)) => return Ok((Datagram(data), of)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => (),
            Err(error) => {
                errors += 1;
                if errors >= MAX_ERRORS {
                    return Err(error);
                }
            }
        }
    }
}

/// How long a peer that is sent datagrams may be silent before it is asked, and before it is lost.
const SILENCE: Duration = Duration::from_secs(15);

/// How often in a row a socket may fail.
const MAX_ERRORS: u32 = 100;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tessera_interop::{KeyKind, Pki};
    use tessera_tokio::{
        Acceptor, Connector, DatagramConnector, DatagramListener, EndpointOptions,
    };
    use tessera_vault::RotatingRing;
    use tokio::time::{sleep, timeout};

    use super::*;

    const SHORT: Duration = Duration::from_millis(400);

    /// Returns the address of what forwards datagrams between a client and a server, and answers each of the client's with
    /// a forged record.
    async fn forger(server: SocketAddr) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut client = server;
            let mut buffer = [0; 2048];
            loop {
                let (len, from) = socket.recv_from(&mut buffer).await.unwrap();
                if from == server {
                    socket.send_to(&buffer[..len], client).await.unwrap();
                    continue;
                }
                client = from;
                socket.send_to(&buffer[..len], server).await.unwrap();
                let forged = [&[0x2f, 0, 0, 0, 20][..], &[7; 20]].concat();
                socket.send_to(&forged, client).await.unwrap();
            }
        });
        address
    }

    #[test]
    fn a_peer_that_only_listens_is_there_and_one_that_forgot_the_connection_is_lost() {
        let pki = Pki::new();
        let connector = Connector::new(tessera_interop::client(&pki).checked().unwrap());
        let identity = pki.server(KeyKind::P256);
        let acceptor = Acceptor::new(tessera_interop::server(&identity).checked().unwrap());
        let [here, there] = [(); 2].map(|()| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(1).enable_all().build().unwrap()
        });
        let listener = there.block_on(async {
            let cookies = Arc::new(RotatingRing::new(&tessera_aws_lc::provider()));
            let options = EndpointOptions::default();
            DatagramListener::bind("127.0.0.1:0".parse().unwrap(), &acceptor, cookies, options)
                .await
                .unwrap()
        });
        let address = listener.local_addr().unwrap();
        let accepting = there.spawn(async move {
            let server = listener.accept().await.unwrap();
            server.handshake().await.unwrap();
            (listener, server)
        });
        here.block_on(async move {
            let connecting = DatagramConnector::new(connector);
            let address = forger(address).await;
            let client = connecting.connect(address, tessera_interop::to(None)).await.unwrap();
            let server = accepting.await.unwrap();
            let flow = async {
                loop {
                    client.send(b"one way").await.unwrap();
                    sleep(SHORT / 10).await;
                }
            };
            let ends = async {
                tokio::select! {
                    error = lost(&client, SHORT) => error,
                    () = flow => unreachable!(),
                }
            };
            let mut ends = std::pin::pin!(ends);
            assert!(timeout(SHORT * 7 / 2, &mut ends).await.is_err());
            // It sends no close_notify: no task drives it any more, and its socket stays.
            there.shutdown_background();
            std::mem::forget(server);
            let error = timeout(Duration::from_secs(20), ends).await.unwrap();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        });
    }
}
