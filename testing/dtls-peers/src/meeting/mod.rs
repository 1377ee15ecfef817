//! One case: both ends, and what they do.

mod moves;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tessera::EarlyDataStatus;
use tessera::wire::NamedGroup;
use tessera_interop::{KeyKind, Pki, to};
use tessera_tokio::{DatagramConnector, DatagramListener};
use tokio::time::{sleep, timeout};

use crate::cases::{Case, SMALL};
use crate::observed::Observer;
use crate::ours::{CLIENT_ID, Connection, connector, has_connection_ids, listener};
use crate::peers::Peer;
use crate::relay::Relay;
use crate::stranger::Stranger;

/// How long a case may take: some losses, each with a timeout.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often, and how far apart, to look whether keys have changed.
const ROUNDS: usize = 20;
const ROUND: Duration = Duration::from_millis(100);

/// Both ends of a case.
struct Meeting<'a> {
    case: Case,
    peer: &'a Peer,
    stranger: Stranger,
    ours: Ours,
}

enum Ours {
    Client(DatagramConnector),
    Server(DatagramListener),
}

/// Runs a case; returns what was observed.
pub async fn run(
    case: Case,
    peer: &Peer,
    program: &str,
    is_server: bool,
) -> Result<String, String> {
    let pki = Pki::new();
    let arguments = arguments(case, peer, is_server, &pki);
    let stranger = Stranger::start(program, &arguments)?;
    let ours = match is_server {
        true => Ours::Client(connector(case, &pki)?),
        false => Ours::Server(listener(case, &pki, peer.mutual).await?),
    };
    let meeting = Meeting { case, peer, stranger, ours };
    let run = timeout(PATIENCE, meeting.run()).await;
    run.unwrap_or_else(|_| Err("it takes too long".into()))
}

/// Returns the name and the version of a peer.
pub fn name(program: &str) -> Result<String, String> {
    let pki = Pki::new();
    let peer = Peer { mutual: true, ..crate::peers::PEERS[0] };
    Ok(Stranger::start(program, &arguments(Case::Full, &peer, false, &pki))?.name.clone())
}

fn arguments(case: Case, peer: &Peer, is_server: bool, pki: &Pki) -> Vec<String> {
    let identity = match is_server {
        true => pki.server(KeyKind::P256),
        false => pki.client(KeyKind::P256),
    };
    let mut arguments = vec![
        format!("role={}", if is_server { "server" } else { "client" }),
        format!("ca={}", pki.ca_file),
        format!("name={}", tessera_interop::SERVER_NAME),
    ];
    if is_server || peer.mutual {
        arguments.push(format!("chain={}", identity.certificate_file));
        arguments.push(format!("key={}", identity.key_pem()));
    }
    match case {
        Case::SmallDatagrams if peer.has_mtu => arguments.push(format!("mtu={SMALL}")),
        Case::Hybrid | Case::FoSkip => arguments.push("group=X25519MLKEM768".into()),
        Case::Retry if is_server => arguments.push("group=P-384".into()),
        Case::EarlyData => arguments.push("early_data=1".into()),
        _ => (),
    }
    if has_connection_ids(case) {
        arguments.push(format!("cid={THEIR_ID}"));
    }
    if is_server {
        arguments.push(format!("cookie={}", u8::from(case == Case::Cookie)));
    }
    arguments
}

/// The connection ID of a peer.
const THEIR_ID: &str = "c0ffee";

impl Meeting<'_> {
    async fn run(&self) -> Result<String, String> {
        let observer = match self.case {
            Case::Lost { is_clients, number } => Observer::losing(is_clients, number),
            _ => Observer::default(),
        };
        let (connection, theirs, relay) = self.connect(&observer, "connect", "").await?;
        let was_lost = observer.lets_pass();
        self.converse(&connection).await?;
        let mut observed = String::new();
        match self.case {
            Case::Cookie | Case::Retry if !connection.facts().hello_retry => {
                return Err("there was no HelloRetryRequest".into());
            }
            Case::Retry if connection.facts().group != Some(NamedGroup::SECP384R1) => {
                return Err(format!("another group: {:?}", connection.facts().group));
            }
            Case::Hybrid | Case::FoSkip => check_hybrid(connection.facts().group, &theirs)?,
            Case::Lost { .. } if !was_lost => observed = "there was no such datagram".into(),
            Case::SmallDatagrams => {
                let [client, server] = observer.seen().longest;
                let [ours, theirs] = match connection {
                    Connection::Client(_) => [client, server],
                    Connection::Server(_) => [server, client],
                };
                observed = format!("ours up to {ours} bytes, theirs {theirs}");
                if ours > SMALL || self.peer.has_mtu && theirs > SMALL {
                    return Err(observed);
                }
            }
            Case::KeyUpdates => self.update_keys(&connection, &observer).await?,
            Case::ConnectionIds => self.check_ids(&theirs, &observer)?,
            Case::Rebinding => observed = self.rebind(&connection).await?,
            Case::NatRebinding | Case::Renaming => {
                self.change_ports(&connection, &relay).await?;
            }
            Case::OldRecord => observed = self.old_record(&connection, &observer, &relay).await?,
            Case::Budget => observed = self.budget(&connection, &observer, &relay).await?,
            _ => (),
        }
        self.close(&connection).await?;
        match self.case {
            Case::Resumption => self.resume("").await?,
            Case::EarlyData => self.resume("early").await?,
            _ => (),
        }
        Ok(observed)
    }

    /// Completes a handshake.
    async fn connect(
        &self,
        observer: &Observer,
        command: &str,
        early: &str,
    ) -> Result<(Connection, Value, Relay), String> {
        let observer = observer.clone();
        let sees = move |is_up, number, datagram: &[u8]| observer.sees(is_up, number, datagram);
        let (ended, relay) = match &self.ours {
            Ours::Client(connector) => {
                let server = SocketAddr::from(([127, 0, 0, 1], self.stranger.port));
                let relay = Relay::new(server, sees).await;
                // A client that moves itself is seen by its server.
                let to_server = if self.case == Case::Rebinding { server } else { relay.address };
                let ours = async {
                    let started = connector.start(to_server, to(None)).await;
                    let connection = started.map_err(|error| format!("ours starts: {error}"))?;
                    if !early.is_empty() {
                        let written = connection.write_early(early.as_bytes());
                        if !written.map_err(|error| error.to_string())? {
                            return Err("no ticket for early data".into());
                        }
                    }
                    let connection = Connection::Client(connection);
                    connection.handshake().await?;
                    Ok::<_, String>(connection)
                };
                let (ours, theirs) = tokio::join!(ours, self.stranger.obey("accept"));
                (both(ours, theirs), relay)
            }
            Ours::Server(listener) => {
                let address = listener.local_addr().map_err(|error| error.to_string())?;
                let relay = Relay::new(address, sees).await;
                let ours = async {
                    let accepted = timeout(PATIENCE / 2, listener.accept()).await;
                    let accepted = accepted.map_err(|_| "our server gets no client")?;
                    let connection =
                        Connection::Server(accepted.map_err(|error| error.to_string())?);
                    connection.handshake().await?;
                    Ok::<_, String>(connection)
                };
                let command = format!("{command} {} {early}", relay.address.port());
                let theirs = self.stranger.obey(command.trim_end());
                let (ours, theirs) = tokio::join!(ours, theirs);
                (both(ours, theirs), relay)
            }
        };
        let (connection, theirs) = ended?;
        Ok((connection, theirs, relay))
    }

    /// Sends data in both directions, the client's first: a server learns from it where a client has moved.
    async fn converse(&self, connection: &Connection) -> Result<(), String> {
        if matches!(connection, Connection::Client(_)) {
            self.ours_sends(connection).await?;
            self.theirs_sends(connection).await
        } else {
            self.theirs_sends(connection).await?;
            self.ours_sends(connection).await
        }
    }

    async fn ours_sends(&self, connection: &Connection) -> Result<(), String> {
        connection.send("from Tessera").await?;
        let received = self.stranger.obey("receive").await?;
        match received["data"].as_str() {
            Some("from Tessera") => Ok(()),
            _ => Err(format!("it received {received}")),
        }
    }

    async fn theirs_sends(&self, connection: &Connection) -> Result<(), String> {
        self.stranger.obey("send from a stranger").await?;
        match connection.recv().await? {
            Some(received) if received[..] == *b"from a stranger" => Ok(()),
            received => Err(format!("ours received {:?}", received.map(|it| it.to_vec()))),
        }
    }

    /// Each changes its keys, and asks for the other's.
    async fn update_keys(
        &self,
        connection: &Connection,
        observer: &Observer,
    ) -> Result<(), String> {
        let (ours, theirs) = match self.ours {
            Ours::Client(_) => (0, 1),
            Ours::Server(_) => (1, 0),
        };
        self.stranger.obey("update").await?;
        // Epoch 4.
        self.converse_until(connection, observer, |epochs| epochs[theirs][0]).await?;
        // Epoch 5, if they asked for ours.
        let next = usize::from(observer.seen().epochs[ours][0]);
        // Theirs may have to acknowledge the one before.
        for _ in 0..ROUNDS {
            if connection.update_keys().is_ok() {
                break;
            }
            sleep(ROUND).await;
        }
        self.converse_until(connection, observer, |epochs| epochs[ours][next]).await
    }

    /// Sends data until records of an epoch were seen: keys change when the KeyUpdate is acknowledged.
    async fn converse_until(
        &self,
        connection: &Connection,
        observer: &Observer,
        are_there: impl Fn([[bool; 4]; 2]) -> bool,
    ) -> Result<(), String> {
        for _ in 0..ROUNDS {
            self.converse(connection).await?;
            if are_there(observer.seen().epochs) {
                return self.converse(connection).await;
            }
            sleep(ROUND).await;
        }
        Err(format!(
            "epochs of client, server, by their last two bits: {:?}",
            observer.seen().epochs
        ))
    }

    fn check_ids(&self, theirs: &Value, observer: &Observer) -> Result<(), String> {
        let is_expected = match (theirs["to_peer"].as_str(), &self.ours) {
            (Some(to_us), Ours::Client(_)) => to_us == tessera_interop::hex(&CLIENT_ID),
            // Our endpoint's are random, of 8 bytes.
            (Some(to_us), Ours::Server(_)) => to_us.len() == 16,
            // It can't be asked.
            (None, _) => true,
        };
        let seen = observer.seen().connection_id;
        match is_expected && seen == [true; 2] {
            true => Ok(()),
            false => Err(format!("it knows {theirs}; seen of client, server: {seen:?}")),
        }
    }

    /// Closes both directions.
    async fn close(&self, connection: &Connection) -> Result<(), String> {
        if !self.peer.closes {
            connection.close().await;
            return Ok(());
        }
        connection.close().await;
        let received = self.stranger.obey("receive").await?;
        if received["closed"] != true {
            return Err(format!("it did not notice the end: {received}"));
        }
        self.stranger.obey("close").await?;
        match connection.recv().await? {
            None => Ok(()),
            Some(_) => Err("ours did not notice the end".into()),
        }
    }

    /// Connects once more with a session, and with early data.
    async fn resume(&self, early: &str) -> Result<(), String> {
        let (connection, theirs, _relay) =
            self.connect(&Observer::default(), "resume", early).await?;
        let facts = connection.facts();
        if facts.psk.is_none() || theirs["resumed"] != true {
            return Err(format!("not resumed: {:?}, {theirs}", facts.psk));
        }
        if !early.is_empty() {
            let is_accepted = facts.early_data == EarlyDataStatus::Accepted;
            if !is_accepted || theirs["early_data"] != "accepted" {
                return Err(format!("not accepted: {:?}, {theirs}", facts.early_data));
            }
            let arrived = match &connection {
                Connection::Client(_) => theirs["early"] == early,
                Connection::Server(_) => {
                    let received = connection.recv().await?;
                    received.is_some_and(|it| it.is_early() && it[..] == *early.as_bytes())
                }
            };
            if !arrived {
                return Err(format!("the early data did not arrive: {theirs}"));
            }
        }
        self.converse(&connection).await?;
        self.close(&connection).await
    }
}

/// Both ends name X25519MLKEM768; peers spell it in their own ways.
fn check_hybrid(ours: Option<NamedGroup>, theirs: &Value) -> Result<(), String> {
    let name = theirs["group"].as_str().unwrap_or_default().to_uppercase();
    let is_hybrid = ["X25519", "ML", "KEM", "768"].iter().all(|part| name.contains(part));
    match ours == Some(NamedGroup::X25519MLKEM768) && is_hybrid {
        true => Ok(()),
        false => Err(format!("another group: {ours:?}, {theirs}")),
    }
}

/// Returns both ends' results, or the errors of both.
fn both(
    ours: Result<Connection, String>,
    theirs: Result<Value, String>,
) -> Result<(Connection, Value), String> {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => Ok((ours, theirs)),
        (ours, theirs) => {
            let errors = [ours.err(), theirs.err()];
            Err(errors.into_iter().flatten().collect::<Vec<_>>().join("; "))
        }
    }
}
