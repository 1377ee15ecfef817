//! A backend that counts what it executes. A request is a line: the name of a connection, and a number. The answer is
//! the same line, and how many times it was executed.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tessera_test_peers::PATIENCE;

use crate::serving::serve;

/// The counting backend. Clones count together.
#[derive(Clone)]
pub struct CountingBackend {
    address: SocketAddr,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Default)]
struct Counts {
    executions: BTreeMap<String, usize>,
    connections: usize,
    /// Lines that no client ever wrote, or that arrived in another client's connection.
    strange: Vec<String>,
}

impl CountingBackend {
    /// Starts it on the loopback interface.
    pub fn start() -> Self {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let of_all = counts.clone();
        let address = serve(move |stream| handle(stream, &of_all));
        Self { address, counts }
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many requests were executed, repetitions included.
    pub fn executions(&self) -> usize {
        self.lock().executions.values().sum()
    }

    /// Returns how often this request was executed.
    pub fn executions_of(&self, name: &str, number: usize) -> usize {
        self.lock().executions.get(&format!("{name} {number}")).copied().unwrap_or_default()
    }

    /// Returns how many connections came.
    pub fn connections(&self) -> usize {
        self.lock().connections
    }

    /// Fails the test if a request was executed twice, or if bytes reached another connection.
    #[track_caller]
    pub fn executed_nothing_twice(&self) {
        let counts = self.lock();
        let twice: Vec<_> = counts.executions.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "executed more than once: {twice:?}");
        assert!(counts.strange.is_empty(), "foreign bytes: {:?}", counts.strange);
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn handle(stream: TcpStream, counts: &Mutex<Counts>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let lock = || counts.lock().unwrap_or_else(PoisonError::into_inner);
    lock().connections += 1;
    let mut answers = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    let mut whose: Option<String> = None;
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        // A truncated line is no request.
        let Some(request) = line.strip_suffix('\n') else {
            return Ok(());
        };
        let name = match request.split_once(' ') {
            Some((name, number)) if number.parse::<u32>().is_ok() => name,
            _ => "",
        };
        let owner = whose.get_or_insert_with(|| name.to_owned());
        let count = {
            let mut counts = lock();
            if name.is_empty() || name != owner {
                let strange = format!("{request:?} in the connection of {owner:?}");
                counts.strange.push(strange);
            }
            let count = counts.executions.entry(request.to_owned()).or_default();
            *count += 1;
            *count
        };
        answers.write_all(format!("{request} {count}\n").as_bytes())?;
    }
}

/// A client of the counting backend with its own name.
pub struct Client {
    name: String,
    stream: BufReader<TcpStream>,
}

impl Client {
    /// Connects; requests carry this name.
    ///
    /// # Errors
    /// If nothing listens.
    pub fn connect(address: SocketAddr, name: &str) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { name: name.to_owned(), stream: BufReader::new(stream) })
    }

    /// Writes a request.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn write(&mut self, number: usize) -> io::Result<()> {
        let line = format!("{} {number}\n", self.name);
        self.stream.get_mut().write_all(line.as_bytes())
    }

    /// Reads the answer to a request; fails if it is another's, or if the connection ends.
    ///
    /// # Errors
    /// If there is none.
    #[track_caller]
    pub fn read(&mut self, number: usize) -> io::Result<()> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // A reset may truncate it.
        let Some(answer) = line.strip_suffix('\n') else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        assert_eq!(
            answer,
            format!("{} {number} 1", self.name),
            "another's answer, or a repeated one"
        );
        Ok(())
    }

    /// Sends a request and reads the answer.
    ///
    /// # Errors
    /// If the connection is gone.
    #[track_caller]
    pub fn ask(&mut self, number: usize) -> io::Result<()> {
        self.write(number)?;
        self.read(number)
    }

    /// Returns whether the connection ends within this time without another byte, and how.
    ///
    /// # Errors
    /// The reset, or the time-out.
    pub fn end(mut self, patience: Duration) -> io::Result<()> {
        self.stream.get_mut().set_read_timeout(Some(patience))?;
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest)?;
        assert!(rest.is_empty(), "more than was asked for: {}", String::from_utf8_lossy(&rest));
        Ok(())
    }
}

/// Connects, sends one request, and closes.
///
/// # Errors
/// If the connection is refused or ends before the answer.
#[track_caller]
pub fn ask_once(address: SocketAddr, name: &str) -> io::Result<()> {
    Client::connect(address, name)?.ask(0)
}
