//! Clients that change their address. None of the peers has return routability checks (RFC 9853): their servers follow at
//! once, and ours gives an unproved address no more than three times what came from it.

use std::net::SocketAddr;

use tessera_tokio::EndpointCounts;
use tokio::net::UdpSocket;
use tokio::time::{sleep, timeout};

use super::{Meeting, Ours, PATIENCE, ROUND, ROUNDS};
use crate::cases::Case;
use crate::observed::Observer;
use crate::ours::Connection;
use crate::relay::Relay;

/// How often a client moves.
const MOVES: u8 = 3;

/// What a server sends to an unproved address; more than what came from there allows.
const PART: &str = "a part of more than three times of what came";
const PARTS: usize = 40;

impl Meeting<'_> {
    /// Our client continues over sockets at other addresses of the machine, whose own it closes.
    pub(super) async fn rebind(&self, connection: &Connection) -> Result<String, String> {
        let Connection::Client(client) = connection else { return Err("not for a server".into()) };
        let mut ids = 0;
        for last in 2..2 + MOVES {
            for _ in 0..ROUNDS / 2 {
                if client.spare_connection_ids() > 0 {
                    ids += 1;
                    break;
                }
                sleep(ROUND / 2).await;
            }
            let address = SocketAddr::from(([127, 0, 0, last], 0));
            let socket = UdpSocket::bind(address).await.map_err(|error| error.to_string())?;
            let moved = match last % 2 {
                0 => client.rebind(socket).await,
                // Without checks there is no answer to wait for.
                _ => client.move_to(socket).await,
            };
            moved.map_err(|error| format!("ours moves: {error}"))?;
            self.converse(connection).await?;
            let local = client.local_addr().map_err(|error| error.to_string())?;
            if local.ip() != address.ip() {
                return Err(format!("our client is still at {local}"));
            }
        }
        Ok(match ids {
            0 => "under one connection ID: it has no checks of paths".into(),
            ids => format!("{ids} of {MOVES} times under a new connection ID"),
        })
    }

    /// A NAT gives the client other ports. A client that can gives itself another connection ID before.
    pub(super) async fn change_ports(
        &self,
        connection: &Connection,
        relay: &Relay,
    ) -> Result<(), String> {
        let mut ids = Vec::new();
        for moves in 1..=u64::from(MOVES) {
            if self.case == Case::Renaming {
                let id = self.stranger.obey("rename").await?["to_peer"].clone();
                if ids.contains(&id) {
                    return Err(format!("again the connection ID {id}"));
                }
                ids.push(id);
            }
            let address = relay.change_port().await;
            self.converse(connection).await?;
            if let Some(counts) = self.counts()
                && (connection.peer_addr() != Some(address) || counts.moved != moves)
            {
                return Err(format!("our server did not follow: {counts:?}"));
            }
        }
        Ok(())
    }

    /// A record that opens, but isn't the newest, comes from elsewhere: that moves no one (RFC 9146 §6). With our server,
    /// neither do a copy of the newest and a forged one.
    pub(super) async fn old_record(
        &self,
        connection: &Connection,
        observer: &Observer,
        relay: &Relay,
    ) -> Result<String, String> {
        let elsewhere = UdpSocket::bind("127.0.0.9:0").await.map_err(|error| error.to_string())?;
        observer.holds_next_of_client();
        let mut observed = String::new();
        match &self.ours {
            Ours::Server(listener) => {
                let server = listener.local_addr().map_err(|error| error.to_string())?;
                let before = (connection.peer_addr(), listener.counts().moved);
                self.stranger.obey("send late").await?;
                self.theirs_sends(connection).await?;
                let late = observer.held().ok_or("no datagram was held")?;
                let newest = observer.seen().newest_of_client;
                let mut forged = newest.clone();
                forged.last_mut().into_iter().for_each(|last| *last ^= 1);
                for datagram in [&newest, &forged, &late] {
                    send_to(&elsewhere, datagram, server).await?;
                }
                match connection.recv().await? {
                    Some(received) if received[..] == *b"late" => (),
                    received => return Err(format!("ours received {:?}", received.as_deref())),
                }
                if (connection.peer_addr(), listener.counts().moved) != before {
                    return Err("our server followed".into());
                }
                self.ours_sends(connection).await?;
            }
            Ours::Client(_) => {
                connection.send("late").await?;
                self.ours_sends(connection).await?;
                let late = observer.held().ok_or("no datagram was held")?;
                send_to(&elsewhere, &late, relay.server).await?;
                observed = match self.stranger.obey("receive").await {
                    Ok(received) if received["data"] == "late" => String::new(),
                    _ => "it drops what is late".into(),
                };
                let sent = timeout(PATIENCE / 20, self.theirs_sends(connection)).await;
                sent.map_err(|_| "it followed an old record")??;
            }
        }
        match timeout(ROUND, elsewhere.recv(&mut [0; 2048])).await {
            Err(_) => Ok(observed),
            Ok(answer) => Err(format!("there is an answer to where no client is: {answer:?}")),
        }
    }

    /// Our server gives a new address three times what came from it, and goes on as more comes.
    pub(super) async fn budget(
        &self,
        connection: &Connection,
        observer: &Observer,
        relay: &Relay,
    ) -> Result<String, String> {
        relay.change_port().await;
        let before = observer.seen().bytes;
        let since = || {
            let bytes = observer.seen().bytes;
            [bytes[0] - before[0], bytes[1] - before[1]]
        };
        let mut sent = 0;
        let mut first = [0; 2];
        // What a peer sends is shorter than three times the parts that it gets.
        while sent < PARTS {
            self.theirs_sends(connection).await?;
            let waits = loop {
                match timeout(ROUND, connection.send(PART)).await {
                    Ok(result) => result?,
                    Err(_) => break true,
                }
                sent += 1;
                if sent == PARTS {
                    break false;
                }
            };
            // What was sent passes the relay.
            sleep(ROUND).await;
            let [up, down] = since();
            if down > 3 * up {
                return Err(format!("{down} bytes for {up}"));
            }
            if first == [0; 2] {
                first = [up, down];
                if !waits {
                    return Err(format!("{down} bytes for {up}, and nothing waits"));
                }
            }
        }
        // A peer may return several at once.
        let mut received = 0;
        while received < PARTS * PART.len() {
            match self.stranger.obey("receive").await?["data"].as_str() {
                Some(data) => received += data.len(),
                None => return Err("it was closed".into()),
            }
        }
        // close_notify needs room, too.
        self.theirs_sends(connection).await?;
        let ([up, down], [all_up, all_down]) = (first, since());
        Ok(format!("{down} bytes for the first {up}, {all_down} for {all_up}"))
    }

    /// Returns what our server counted.
    fn counts(&self) -> Option<EndpointCounts> {
        match &self.ours {
            Ours::Server(listener) => Some(listener.counts()),
            Ours::Client(_) => None,
        }
    }
}

async fn send_to(socket: &UdpSocket, datagram: &[u8], to: SocketAddr) -> Result<(), String> {
    socket.send_to(datagram, to).await.map_err(|error| error.to_string())?;
    Ok(())
}
