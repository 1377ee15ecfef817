//! The connection to the runner: a stream, which may carry datagrams.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpStream};
use std::time::Duration;

use crate::options::Options;
use crate::packet_adaptor::{self, Command};

pub struct Link {
    socket: BufReader<TcpStream>,
    has_datagrams: bool,
    /// With `-async`, the bytes of a stream arrive one by one.
    one_by_one: bool,
}

impl Link {
    pub fn connect(options: &Options) -> io::Result<Self> {
        let mut socket = match options.ipv6 {
            true => TcpStream::connect((Ipv6Addr::LOCALHOST, options.port)),
            false => TcpStream::connect((Ipv4Addr::LOCALHOST, options.port)),
        }?;
        let _ = socket.set_nodelay(true);
        socket.write_all(&options.shim_id.to_le_bytes())?;
        let socket = BufReader::with_capacity(1 << 16, socket);
        Ok(Self { socket, has_datagrams: options.dtls, one_by_one: options.is_async })
    }

    /// Sends bytes of the stream, or a datagram.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.has_datagrams {
            true => packet_adaptor::send(bytes, self.socket.get_mut()),
            false => self.socket.get_mut().write_all(bytes),
        }
    }

    /// Waits for the runner; `None` at the end.
    pub fn receive(&mut self) -> io::Result<Option<Command>> {
        if self.has_datagrams {
            return Command::read(&mut self.socket);
        }
        let received = self.socket.fill_buf().unwrap_or_default();
        let some = if self.one_by_one { received.len().min(1) } else { received.len() };
        let bytes = received[..some].to_vec();
        self.socket.consume(some);
        Ok(Some(Command::Receive(bytes)).filter(|_| some > 0))
    }

    pub fn acknowledge_pass(&mut self) -> io::Result<()> {
        packet_adaptor::acknowledge_pass(self.socket.get_mut())
    }

    /// Reads what is still in flight, so that the runner can read what was sent to it.
    pub fn drain(&mut self) {
        let socket = self.socket.get_mut();
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.set_read_timeout(Some(Duration::from_secs(5)));
        let mut sink = [0; 4096];
        while matches!(socket.read(&mut sink), Ok(count) if count > 0) {}
    }
}
