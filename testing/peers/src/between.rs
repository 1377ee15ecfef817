//! The adversary: sits between the ends, records what clients send, and does with it what a network may do.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::wait_until;
use socket2::SockRef;

/// Forwards connections to a server end, and records them.
#[derive(Clone)]
pub struct RecordingForwarder {
    address: SocketAddr,
    path: Arc<Mutex<Path>>,
}

/// What happens to the next connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// They are forwarded.
    Carry,
    /// The first flight is forwarded; no byte of the answer is, and then the client's connection is reset.
    CutAnswers,
    /// The first flight is not forwarded, and the connection is reset.
    KeepBack,
    /// The first flight reaches the server twice at the same time, in two connections.
    Double,
    /// The adversary's copy is answered before the flight itself is forwarded.
    CopyFirst,
}

/// What a client sent in one connection.
#[derive(Debug, Clone, Default)]
pub struct RecordedConnection {
    /// The part sent before the server had answered.
    pub first: Vec<u8>,
    /// All of it.
    pub all: Vec<u8>,
    answered: bool,
    ended: bool,
}

struct Path {
    server: SocketAddr,
    treatment: Treatment,
    recorded: Vec<RecordedConnection>,
    /// What happens to the next connection only.
    next: Option<Treatment>,
    /// Nothing is forwarded, and neither end is notified.
    is_parted: bool,
    /// Both sides of the connections made.
    open: Vec<[TcpStream; 2]>,
}

impl RecordingForwarder {
    /// Starts in front of a server end, on the loopback interface.
    pub fn start(server: SocketAddr) -> Self {
        Self::start_on(Ipv4Addr::LOCALHOST.into(), server)
    }

    /// Starts in front of a server end, on another interface.
    pub fn start_on(interface: IpAddr, server: SocketAddr) -> Self {
        let listener = TcpListener::bind((interface, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let path = Path {
            server,
            treatment: Treatment::Carry,
            recorded: Vec::new(),
            next: None,
            is_parted: false,
            open: Vec::new(),
        };
        let between = Self { address, path: Arc::new(Mutex::new(path)) };
        let this = between.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let this = this.clone();
                // A failure only ends its connection.
                thread::spawn(move || drop(this.carry(client)));
            }
        });
        between
    }

    /// Returns where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets what happens to connections from now on.
    pub fn treat(&self, treatment: Treatment) {
        self.lock().treatment = treatment;
    }

    /// Sets what happens to the next connection only.
    pub fn treat_next(&self, treatment: Treatment) {
        self.lock().next = Some(treatment);
    }

    /// Forwards connections to this server end from now on.
    pub fn lead_to(&self, server: SocketAddr) {
        self.lock().server = server;
    }

    /// Ends all present connections, on both sides.
    pub fn cut(&self) {
        for side in self.lock().open.drain(..).flatten() {
            // Some have ended by themselves.
            let _ = side.shutdown(Shutdown::Both);
        }
    }

    /// [Cuts](Self::cut), and waits until the clients have closed, too: then they have noticed, and reconnect if necessary.
    /// What was not accepted yet is cut then.
    #[track_caller]
    pub fn cut_until_left(&self) {
        // As /proc/net/tcp writes them: established, and ended by this side alone.
        const OPEN: [&str; 3] = ["01", "04", "05"];
        let port = format!(":{:04X}", self.address.port());
        wait_until("clients notice that their connections were cut", || {
            self.cut();
            let table = fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
            let is_open = |line: &str| {
                let mut words = line.split_whitespace().skip(1);
                let (local, state) = (words.next(), words.nth(1));
                local.is_some_and(|local| local.ends_with(&port))
                    && state.is_some_and(|state| OPEN.contains(&state))
            };
            (!table.lines().any(is_open)).then_some(())
        });
    }

    /// Blocks all bytes, in existing and in new connections, without notifying the ends; or unblocks them.
    pub fn part(&self, is_parted: bool) {
        self.lock().is_parted = is_parted;
    }

    fn wait_while_parted(&self) {
        while self.lock().is_parted {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Takes the recordings of all connections, once all have ended.
    #[track_caller]
    pub fn take(&self) -> Vec<RecordedConnection> {
        wait_until("the recorded connections end", || {
            let mut path = self.lock();
            path.recorded
                .iter()
                .all(|recorded| recorded.ended)
                .then(|| std::mem::take(&mut path.recorded))
        })
    }

    /// Returns the recordings of the connections that have ended.
    pub fn ended(&self) -> Vec<RecordedConnection> {
        self.lock().recorded.iter().filter(|recorded| recorded.ended).cloned().collect()
    }

    fn carry(&self, client: TcpStream) -> io::Result<()> {
        let (index, server, treatment) = {
            let mut path = self.lock();
            path.recorded.push(RecordedConnection::default());
            let treatment = path.next.take().unwrap_or(path.treatment);
            (path.recorded.len() - 1, path.server, treatment)
        };
        let result = self.carry_one(index, client, server, treatment);
        if let Some(recorded) = self.lock().recorded.get_mut(index) {
            recorded.ended = true;
        }
        result
    }

    fn carry_one(
        &self,
        index: usize,
        mut client: TcpStream,
        server: SocketAddr,
        treatment: Treatment,
    ) -> io::Result<()> {
        client.set_nodelay(true)?;
        self.wait_while_parted();
        if treatment != Treatment::Carry {
            let first = read_flight(&mut client)?;
            self.record(index, |recorded| {
                recorded.first.extend_from_slice(&first);
                recorded.all.extend_from_slice(&first);
            });
            return match treatment {
                Treatment::CutAnswers => {
                    answers(server, &first)?;
                    reset(client)
                }
                Treatment::Double => {
                    let copy = first.clone();
                    let copied = thread::spawn(move || answers(server, &copy));
                    let mut server = TcpStream::connect(server)?;
                    server.write_all(&first)?;
                    self.forward(index, &client, &server)?;
                    copied.join().map_err(|_| io::ErrorKind::Other)?.map(drop)
                }
                Treatment::CopyFirst => {
                    answers(server, &first)?;
                    let mut server = TcpStream::connect(server)?;
                    server.write_all(&first)?;
                    self.forward(index, &client, &server)
                }
                Treatment::KeepBack | Treatment::Carry => reset(client),
            };
        }
        self.forward(index, &client, &TcpStream::connect(server)?)
    }

    /// Forwards both directions, until both have ended.
    fn forward(&self, index: usize, client: &TcpStream, server: &TcpStream) -> io::Result<()> {
        server.set_nodelay(true)?;
        self.lock().open.push([client.try_clone()?, server.try_clone()?]);
        let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
        let this = self.clone();
        let back = thread::spawn(move || {
            let copied = copy(&mut from_server, &mut to_client, |_| {
                this.wait_while_parted();
                this.record(index, |recorded| recorded.answered = true);
            });
            finish(copied, &from_server, &to_client);
        });
        let (mut from_client, mut to_server) = (client.try_clone()?, server.try_clone()?);
        let copied = copy(&mut from_client, &mut to_server, |piece| {
            self.wait_while_parted();
            self.record(index, |recorded| {
                if !recorded.answered {
                    recorded.first.extend_from_slice(piece);
                }
                recorded.all.extend_from_slice(piece);
            });
        });
        finish(copied, &from_client, &to_server);
        back.join().map_err(|_| io::ErrorKind::Other.into())
    }

    fn record(&self, index: usize, change: impl FnOnce(&mut RecordedConnection)) {
        if let Some(recorded) = self.lock().recorded.get_mut(index) {
            change(recorded);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Path> {
        self.path.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends these bytes to a server over a new connection, and reads until it is silent or closes; returns its answer. A
/// reset ends the answer.
///
/// # Errors
/// If it can't be connected to.
pub fn answers(server: SocketAddr, bytes: &[u8]) -> io::Result<Vec<u8>> {
    // Enough for a server on this machine to answer, also if it is busy.
    const SILENCE: Duration = Duration::from_millis(150);
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    // A server may close before everything is written.
    let _ = stream.write_all(bytes);
    stream.set_read_timeout(Some(SILENCE))?;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    Ok(answer)
}

/// Sends all recordings to a server at the same time: the first flights, and everything.
///
/// # Errors
/// If it can't be connected to.
pub fn replay(server: SocketAddr, recorded: &[RecordedConnection]) -> io::Result<()> {
    let pieces = recorded.iter().flat_map(|recorded| [&recorded.first, &recorded.all]);
    thread::scope(|scope| {
        let replays: Vec<_> =
            pieces.map(|piece| scope.spawn(move || answers(server, piece))).collect();
        for replay in replays {
            replay.join().map_err(|_| io::ErrorKind::Other)??;
        }
        Ok(())
    })
}

/// Reads what a client sends before it receives anything: one piece, and what follows at once.
fn read_flight(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut flight = vec![0; 64 * 1024];
    let mut len = client.read(&mut flight)?;
    client.set_read_timeout(Some(Duration::from_millis(50)))?;
    while let Ok(count @ 1..) = client.read(&mut flight[len..]) {
        len += count;
    }
    client.set_read_timeout(None)?;
    flight.truncate(len);
    Ok(flight)
}

fn copy(from: &mut TcpStream, to: &mut TcpStream, mut sees: impl FnMut(&[u8])) -> io::Result<()> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match from.read(&mut piece)? {
            0 => return to.shutdown(Shutdown::Write),
            count => {
                sees(&piece[..count]);
                to.write_all(&piece[..count])?;
            }
        }
    }
}

/// A failing side ends the other too.
fn finish(copied: io::Result<()>, from: &TcpStream, to: &TcpStream) {
    if copied.is_err() {
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// The client gets a reset, not an end of stream.
fn reset(client: TcpStream) -> io::Result<()> {
    SockRef::from(&client).set_linger(Some(Duration::ZERO))?;
    drop(client);
    Ok(())
}
