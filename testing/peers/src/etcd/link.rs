//! The links between members: a forwarder in front of each member's peer port. Members identify themselves in a header
//! of their first request (`X-Server-From`), so a link knows both of its ends.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The members that are cut off, and the connections that are closed with that.
#[derive(Default)]
pub(crate) struct Cuts {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ids: HashMap<u64, usize>,
    cut: Vec<usize>,
    /// The source, the destination and the socket of each connection.
    open: Vec<(Option<u64>, usize, TcpStream)>,
}

impl State {
    fn allows(&self, from: Option<u64>, to: usize) -> bool {
        let from = from.and_then(|id| self.ids.get(&id));
        // A connection without the header may be from any member.
        let from_cut = from.map_or(!self.cut.is_empty(), |from| self.cut.contains(from));
        !from_cut && !self.cut.contains(&to)
    }
}

impl Cuts {
    pub(crate) fn learn(&self, id: u64, member: usize) {
        self.lock().ids.insert(id, member);
    }

    pub(crate) fn cut(&self, member: usize) {
        let mut state = self.lock();
        state.cut.push(member);
        let open = std::mem::take(&mut state.open);
        let (stay, go) = open.into_iter().partition(|(from, to, _)| state.allows(*from, *to));
        state.open = stay;
        for (_, _, stream) in go {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn heal(&self) {
        self.lock().cut.clear();
    }

    fn enter(&self, from: Option<u64>, to: usize, stream: &TcpStream) -> bool {
        let mut state = self.lock();
        let allowed = state.allows(from, to);
        if let (true, Ok(stream)) = (allowed, stream.try_clone()) {
            state.open.push((from, to, stream));
        }
        allowed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Link;

impl Link {
    /// Forwards to the peer port of member `to`, and returns the port for the others. The thread ends with the test's
    /// process.
    pub(crate) fn start(to: usize, peer: u16, cuts: Arc<Cuts>) -> io::Result<u16> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let cuts = cuts.clone();
                thread::spawn(move || drop(forward(stream, to, peer, &cuts)));
            }
        });
        Ok(port)
    }
}

fn forward(mut inside: TcpStream, to: usize, peer: u16, cuts: &Cuts) -> io::Result<()> {
    let head = read_head(&mut inside)?;
    if !cuts.enter(sender(&head), to, &inside) {
        return inside.shutdown(Shutdown::Both);
    }
    let mut outside = TcpStream::connect(("127.0.0.1", peer))?;
    outside.write_all(&head)?;
    let (mut back_from, mut back_to) = (outside.try_clone()?, inside.try_clone()?);
    let back = thread::spawn(move || {
        let _ = io::copy(&mut back_from, &mut back_to);
        let _ = back_to.shutdown(Shutdown::Both);
    });
    let _ = io::copy(&mut inside, &mut outside);
    let _ = outside.shutdown(Shutdown::Both);
    let _ = back.join();
    Ok(())
}

/// Returns the header of the first request, and whatever came with it.
fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < 64 * 1024 {
        match stream.read(&mut buffer)? {
            0 => break,
            count => head.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(head)
}

fn sender(head: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let (_, id) = lines.find(|(name, _)| name.eq_ignore_ascii_case("x-server-from"))?;
    u64::from_str_radix(id.trim(), 16).ok()
}
