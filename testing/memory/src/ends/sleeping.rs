//! Both ends over UDP, with the engine alone: associations that sleep.

use std::collections::hash_map::{Entry, HashMap};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tessera::face::Arrival;
use tessera::handshake::{Checked, Handshake};
use tessera::{
    Association, AssociationOptions, ClientAssociation, ReadEvent, ServerAssociation, ServerConfig,
    Time,
};
use zeroize::{Zeroize, Zeroizing};

use super::client::Client;
use crate::Error;

/// Makes a connection, to its end: data, sleep, data again.
pub fn connect(client: &Client) -> Result<(), Error> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(client.server)?;
    let (config, clock) = (client.connector.config(), Clock::start());
    let options = AssociationOptions::default();
    let association = ClientAssociation::start(config, client.destination(), options, clock.now())?;
    let mut end = End::new(association, clock);
    let mut asked = 0;
    let mut buffer = Zeroizing::new(vec![0; LONGEST]);
    loop {
        end.transmit(|datagram| socket.send(datagram))?;
        let is_complete = end.association.facts().handshake_complete;
        if is_complete && end.association.is_acknowledged() && asked == end.received {
            if asked == DATAGRAMS {
                break;
            }
            if asked > 0 {
                end.sleep()?;
            }
            let request = client.request("application plaintext");
            end.write(&request, |datagram| socket.send(datagram))?;
            asked += 1;
        }
        if let Some(len) = received(&socket, |socket| socket.recv(&mut buffer))? {
            end.read(&mut buffer[..len], |_| ())?;
        }
    }
    client.check(end.association.facts(), false)?;
    end.association.close();
    end.transmit(|datagram| socket.send(datagram))
}

/// Serves clients to their ends: as many, or without end. A server doesn't answer the last data without having slept.
pub fn serve(
    socket: &UdpSocket,
    config: &Checked<ServerConfig>,
    count: Option<usize>,
    reply: impl Fn(&[u8]) -> Zeroizing<Vec<u8>>,
) -> Result<(), Error> {
    let mut ends: HashMap<SocketAddr, End<_>> = HashMap::new();
    let mut ended = 0;
    let mut buffer = Zeroizing::new(vec![0; LONGEST]);
    while count.is_none_or(|count| ended < count) {
        for (client, end) in &mut ends {
            end.transmit(|datagram| socket.send_to(datagram, *client))?;
        }
        let Some((len, client)) = received(socket, |socket| socket.recv_from(&mut buffer))? else {
            continue;
        };
        let end = match ends.entry(client) {
            Entry::Occupied(end) => end.into_mut(),
            Entry::Vacant(place) => {
                let (arrival, clock) = (Arrival::default(), Clock::start());
                let (config, options) = (config.clone(), AssociationOptions::default());
                let association = ServerAssociation::start(config, arrival, options, clock.now())?;
                place.insert(End::new(association, clock))
            }
        };
        let mut replies = Vec::new();
        let is_over = end.read(&mut buffer[..len], |data| replies.push(reply(data)))?;
        end.transmit(|datagram| socket.send_to(datagram, client))?;
        for reply in &replies {
            end.write(reply, |datagram| socket.send_to(datagram, client))?;
            if end.received < DATAGRAMS {
                end.sleep()?;
            }
        }
        if is_over {
            ends.remove(&client);
            ended += 1;
        }
    }
    Ok(())
}

/// An end of an association, with its own time.
struct End<H: Handshake> {
    association: Association<H>,
    clock: Clock,
    /// How many datagrams of data have arrived.
    received: usize,
}

impl<H: Handshake> End<H> {
    fn new(association: Association<H>, clock: Clock) -> Self {
        Self { association, clock, received: 0 }
    }

    /// Sends what is due.
    fn transmit(&mut self, mut send: impl FnMut(&[u8]) -> io::Result<usize>) -> Result<(), Error> {
        let now = self.clock.now();
        if self.association.deadline().is_some_and(|deadline| deadline <= now.monotonic) {
            self.association.handle_timeout(now)?;
        }
        let mut datagram = Vec::new();
        while self.association.transmit(now, &mut datagram) {
            send(&datagram)?;
            datagram.clear();
        }
        Ok(())
    }

    fn write(
        &mut self,
        data: &[u8],
        send: impl FnOnce(&[u8]) -> io::Result<usize>,
    ) -> Result<(), Error> {
        let mut datagram = Vec::new();
        self.association.write(data, &mut datagram)?;
        send(&datagram)?;
        Ok(())
    }

    /// Reads a datagram, and wipes it; returns whether the peer has closed.
    fn read(&mut self, datagram: &mut [u8], mut got: impl FnMut(&[u8])) -> Result<bool, Error> {
        let (now, mut consumed) = (self.clock.now(), 0);
        loop {
            let progress = self.association.read(now, &mut datagram[consumed..])?;
            let begin = consumed;
            consumed += progress.consumed;
            match progress.event {
                ReadEvent::Data(range) => {
                    self.received += 1;
                    got(&datagram[begin..][range]);
                }
                ReadEvent::NeedInput | ReadEvent::PeerClosed => {
                    datagram.zeroize();
                    return Ok(matches!(progress.event, ReadEvent::PeerClosed));
                }
                _ => (),
            }
        }
    }

    /// Sleeps, so late that no earlier keys are needed.
    fn sleep(&mut self) -> Result<(), Error> {
        self.clock.skipped += LATE_FLIGHTS;
        let is_asleep = self.association.sleep(self.clock.now());
        if is_asleep { Ok(()) } else { Err("an association doesn't sleep".into()) }
    }
}

/// The clocks of this machine, ahead by the time that was skipped.
struct Clock {
    began: Instant,
    skipped: Duration,
}

impl Clock {
    fn start() -> Self {
        Self { began: Instant::now(), skipped: Duration::ZERO }
    }

    fn now(&self) -> Time {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        Time { monotonic: self.began.elapsed() + self.skipped, unix }
    }
}

/// Receives, for a moment.
fn received<T>(
    socket: &UdpSocket,
    receive: impl FnOnce(&UdpSocket) -> io::Result<T>,
) -> io::Result<Option<T>> {
    socket.set_read_timeout(Some(Duration::from_millis(10)))?;
    // A process that was stopped, to be read, is interrupted.
    let is_nothing = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
    };
    match receive(socket) {
        Err(error) if is_nothing(&error) => Ok(None),
        result => result.map(Some),
    }
}

/// How many datagrams of data a client sends: it sleeps between them.
const DATAGRAMS: usize = 2;

/// How long a server keeps the keys of the handshake: twice the maximum segment lifetime.
const LATE_FLIGHTS: Duration = Duration::from_secs(240);

/// The longest datagram, in bytes.
const LONGEST: usize = 2048;
