//! A relay before a proxy, which reads what is in clear of each connection: whether a session was resumed, and the group.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera::wire::NamedGroup;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::try_join;

/// The relay. Its connections end with the runtime that it was started in.
#[derive(Clone)]
pub struct Observer {
    /// Where clients connect to.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

/// A connection whose server answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Whether a session was resumed: ServerHello has the extension `pre_shared_key`.
    pub resumed: bool,
    /// The group of the key exchange; `None`: there was none.
    pub group: Option<NamedGroup>,
}

struct Shared {
    to: Mutex<SocketAddr>,
    arrivals: Mutex<Vec<Arrival>>,
    /// Counts the cuts.
    cuts: watch::Sender<u64>,
}

/// Longer than any ServerHello.
const LONGEST: usize = 1 << 14;

impl Observer {
    /// Listens at an address, and leads clients to another one.
    ///
    /// # Errors
    /// If it can't listen there.
    pub async fn start(at: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(at).await?;
        let address = listener.local_addr()?;
        let (arrivals, cuts) = (Mutex::default(), watch::Sender::default());
        let shared = Arc::new(Shared { to: Mutex::new(to), arrivals, cuts });
        let all = shared.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let shared = all.clone();
                tokio::spawn(async move {
                    let mut cuts = shared.cuts.subscribe();
                    tokio::select! {
                        // A failure ends its connection alone.
                        _ = shared.carry(client) => (),
                        _ = cuts.changed() => (),
                    }
                });
            }
        });
        Ok(Self { address, shared })
    }

    /// Leads the next connections here.
    pub fn lead_to(&self, to: SocketAddr) {
        *lock(&self.shared.to) = to;
    }

    /// Ends all present connections.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Returns what it has seen so far.
    pub fn arrivals(&self) -> Vec<Arrival> {
        lock(&self.shared.arrivals).clone()
    }
}

impl Shared {
    async fn carry(&self, client: TcpStream) -> io::Result<()> {
        let to = *lock(&self.to);
        let server = TcpStream::connect(to).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let up = async {
            copy(&mut from_client, &mut to_server).await?;
            to_server.shutdown().await
        };
        let down = async {
            let mut seen = Vec::new();
            loop {
                let before = seen.len();
                let count = from_server.read_buf(&mut seen).await?;
                to_client.write_all(&seen[before..]).await?;
                let arrival = read_server_hello(&seen);
                lock(&self.arrivals).extend(arrival);
                if arrival.is_some() || count == 0 || seen.len() > LONGEST {
                    break;
                }
            }
            copy(&mut from_server, &mut to_client).await?;
            to_client.shutdown().await
        };
        try_join!(up, down).map(drop)
    }
}

/// Reads the first record of a server, if it is whole and has a ServerHello (RFC 8446 §4.1.3).
fn read_server_hello(bytes: &[u8]) -> Option<Arrival> {
    let mut record = bytes;
    let ([HANDSHAKE], _version) = (take::<1>(&mut record)?, take::<2>(&mut record)?) else {
        return None;
    };
    let mut hello = take_vector(&mut record)?;
    let [SERVER_HELLO, _, _, _] = take::<4>(&mut hello)? else { return None };
    // Version, and random.
    take::<34>(&mut hello)?;
    let id_len = usize::from(take::<1>(&mut hello)?[0]);
    hello = hello.get(id_len..)?;
    // Suite, and compression.
    take::<3>(&mut hello)?;
    let mut extensions = take_vector(&mut hello)?;
    let mut arrival = Arrival { resumed: false, group: None };
    while !extensions.is_empty() {
        let kind = u16_of(&mut extensions)?;
        let mut extension = take_vector(&mut extensions)?;
        match kind {
            PRE_SHARED_KEY => arrival.resumed = true,
            KEY_SHARE => arrival.group = Some(NamedGroup(u16_of(&mut extension)?)),
            _ => (),
        }
    }
    Some(arrival)
}

// RFC 8446 §5.1, §4 and §4.2.
const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
const PRE_SHARED_KEY: u16 = 41;
const KEY_SHARE: u16 = 51;

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

fn u16_of(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes).map(u16::from_be_bytes)
}

/// Takes a vector whose length has two bytes.
fn take_vector<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let len = usize::from(u16_of(bytes)?);
    let (first, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(first)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
