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

/// Reads a server's ServerHello, as soon as it is whole (RFC 8446 §4.1.3). A HelloRetryRequest before it, and a
/// change_cipher_spec, are passed over.
fn read_server_hello(bytes: &[u8]) -> Option<Arrival> {
    let mut records = bytes;
    loop {
        let [kind, ..] = take::<3>(&mut records)?;
        let record = take_vector(&mut records)?;
        match kind {
            CHANGE_CIPHER_SPEC => (),
            HANDSHAKE if record.get(6..38) == Some(&RETRY) => (),
            HANDSHAKE => return read_record(record),
            _ => return None,
        }
    }
}

fn read_record(record: &[u8]) -> Option<Arrival> {
    let mut hello = record;
    let [SERVER_HELLO, ..] = take::<4>(&mut hello)? else { return None };
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
const CHANGE_CIPHER_SPEC: u8 = 20;
const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
const PRE_SHARED_KEY: u16 = 41;
const KEY_SHARE: u16 = 51;

/// The random of a HelloRetryRequest (RFC 8446 §4.1.3).
const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

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

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with a hello of this random and these extensions.
    fn hello(random: [u8; 32], extensions: &[u8]) -> Vec<u8> {
        let len = |bytes: &[u8]| (bytes.len() as u16).to_be_bytes();
        let mut body = vec![3, 3];
        body.extend(random);
        // An empty id, a suite, no compression.
        body.extend([0, 0x13, 0x01, 0]);
        body.extend(len(extensions));
        body.extend(extensions);
        let message = [&[SERVER_HELLO, 0][..], &len(&body), &body].concat();
        [&[HANDSHAKE, 3, 3][..], &len(&message), &message].concat()
    }

    const SHARE: [u8; 9] = [0, 51, 0, 5, 0x11, 0xec, 0, 1, 7];
    const PSK: [u8; 6] = [0, 41, 0, 2, 0, 0];

    #[test]
    fn a_server_hello_shows_its_group_and_whether_it_resumes() {
        let group = Some(NamedGroup::X25519MLKEM768);
        let full = hello([7; 32], &SHARE);
        assert_eq!(read_server_hello(&full), Some(Arrival { resumed: false, group }));
        let resumed = hello([7; 32], &[&SHARE[..], &PSK].concat());
        let arrival = Some(Arrival { resumed: true, group });
        assert_eq!(read_server_hello(&resumed), arrival);
        let retry = hello(RETRY, &[0, 51, 0, 2, 0, 29]);
        assert_eq!(read_server_hello(&retry), None);
        let both = [&retry[..], &[CHANGE_CIPHER_SPEC, 3, 3, 0, 1, 1], &resumed].concat();
        assert_eq!(read_server_hello(&both), arrival);
        // Not whole, and an alert.
        assert!((0..resumed.len()).all(|len| read_server_hello(&resumed[..len]).is_none()));
        assert_eq!(read_server_hello(&[21, 3, 3, 0, 2, 2, 40]), None);
    }
}
