//! Two associations in virtual time, and the link between them.

use std::collections::BTreeMap;
use std::time::Duration;

use tessera::face::Arrival;
use tessera::handshake::Handshake;
use tessera::{
    Association, AssociationOptions, ClientAssociation, ClientConfig, Destination, Error,
    ReadEvent, Role, ServerAssociation, ServerConfig, Time,
};

use crate::{ReceivedData, TestClock};

/// Decides when the copies of a datagram arrive: its sender, its number among the sender's, and its bytes, which may be
/// changed. Nothing: it is lost.
pub type Link = Box<dyn FnMut(Role, usize, &mut Vec<u8>) -> Vec<Duration>>;

/// Returns a link that loses nothing, with this one-way delay.
pub fn lossless(delay: Duration) -> Link {
    Box::new(move |_, _, _| vec![delay])
}

/// Two ends of an association.
pub struct DatagramPair {
    /// The client's end.
    pub client: ClientAssociation,
    /// The server's end.
    pub server: ServerAssociation,
    /// What arrived at the client.
    pub to_client: ReceivedData,
    /// What arrived at the server.
    pub to_server: ReceivedData,
    /// Since the beginning.
    pub elapsed: Duration,
    /// The link.
    pub link: Link,
    /// What each end sent, in order.
    pub sent: [Vec<Vec<u8>>; 2],
    began: Time,
    clock: std::sync::Arc<TestClock>,
    /// By arrival, and a number that keeps the order of equal times: receiver and datagram.
    under_way: BTreeMap<(Duration, usize), (Role, Vec<u8>)>,
    number: usize,
}

impl DatagramPair {
    /// Starts both ends.
    pub fn start(
        client: &ClientConfig,
        server: &ServerConfig,
        mut destination: Destination,
        options: [AssociationOptions; 2],
        (began, link): (Time, Link),
    ) -> Result<Self, Error> {
        let clock = TestClock::new(began);
        destination.clock.get_or_insert(clock.clone());
        let (client, server) = (client.clone().checked()?, server.clone().checked()?);
        let [of_client, of_server] = options;
        Ok(Self {
            client: ClientAssociation::start(client, destination, of_client, began)?,
            server: ServerAssociation::start(server, Arrival::default(), of_server, began)?,
            to_client: ReceivedData::default(),
            to_server: ReceivedData::default(),
            elapsed: Duration::ZERO,
            link,
            sent: Default::default(),
            began,
            clock,
            under_way: BTreeMap::new(),
            number: 0,
        })
    }

    /// Returns the time of both ends.
    pub fn now(&self) -> Time {
        Time {
            monotonic: self.began.monotonic + self.elapsed,
            unix: self.began.unix.map(|unix| unix + self.elapsed),
        }
    }

    /// Runs until both ends are complete, all messages acknowledged and nothing is under way; or until this much time
    /// has passed since the beginning.
    pub fn run_for(&mut self, limit: Duration) -> &mut Self {
        loop {
            self.transmit();
            let is_done = self.to_client.complete && self.to_server.complete;
            let is_acknowledged = self.client.is_acknowledged() && self.server.is_acknowledged();
            let has_failed = self.to_client.error.is_some() && self.to_server.error.is_some();
            if self.under_way.is_empty() && (is_done && is_acknowledged || has_failed) {
                return self;
            }
            let Some(next) = self.next_moment().filter(|next| *next <= limit) else {
                self.elapsed = limit;
                return self;
            };
            self.advance(next);
        }
    }

    /// Runs until the handshake is over, or for an hour.
    pub fn run(&mut self) -> &mut Self {
        self.run_for(Duration::from_secs(3600))
    }

    /// Lets time pass, and everything arrive that does until then.
    pub fn pass(&mut self, time: Duration) {
        let until = self.elapsed + time;
        loop {
            self.transmit();
            match self.next_moment().filter(|next| *next <= until) {
                Some(next) => self.advance(next),
                None => break,
            }
        }
        self.elapsed = until;
    }

    fn next_moment(&self) -> Option<Duration> {
        let arrival = self.under_way.keys().next().map(|(at, _)| *at);
        let since = |deadline: Duration| deadline.saturating_sub(self.began.monotonic);
        let client = self.client.deadline().filter(|_| self.to_client.error.is_none());
        let server = self.server.deadline().filter(|_| self.to_server.error.is_none());
        [arrival, client.map(since), server.map(since)].into_iter().flatten().min()
    }

    /// Goes to a moment: delivers one datagram, or lets timers expire.
    fn advance(&mut self, to: Duration) {
        self.elapsed = self.elapsed.max(to);
        self.clock.set(self.now());
        let now = self.now();
        if let Some(first) = self.under_way.first_entry()
            && first.key().0 <= self.elapsed
        {
            let (receiver, datagram) = first.remove();
            self.deliver(receiver, datagram);
            return;
        }
        let is_due = |deadline: Option<Duration>| deadline.is_some_and(|at| at <= now.monotonic);
        if is_due(self.client.deadline()) {
            note(self.client.handle_timeout(now), &mut self.to_client);
        }
        if is_due(self.server.deadline()) {
            note(self.server.handle_timeout(now), &mut self.to_server);
        }
    }

    /// Delivers any datagram at once.
    pub fn deliver(&mut self, receiver: Role, datagram: Vec<u8>) {
        let now = self.now();
        match receiver {
            Role::Client => read(&mut self.client, now, datagram, &mut self.to_client),
            Role::Server => read(&mut self.server, now, datagram, &mut self.to_server),
        }
    }

    /// Puts everything that both ends have to send onto the link.
    pub fn transmit(&mut self) {
        let now = self.now();
        let mut datagram = Vec::new();
        while self.client.transmit(now, &mut datagram) {
            self.send(Role::Client, std::mem::take(&mut datagram));
        }
        while self.server.transmit(now, &mut datagram) {
            self.send(Role::Server, std::mem::take(&mut datagram));
        }
    }

    /// Puts a datagram onto the link.
    pub fn send(&mut self, sender: Role, mut datagram: Vec<u8>) {
        let sent = &mut self.sent[sender as usize];
        sent.push(datagram.clone());
        let arrivals = (self.link)(sender, sent.len() - 1, &mut datagram);
        let receiver = if sender == Role::Client { Role::Server } else { Role::Client };
        for delay in arrivals {
            self.number += 1;
            let at = self.elapsed + delay;
            self.under_way.insert((at, self.number), (receiver, datagram.clone()));
        }
    }

    /// Writes data at an end, as one datagram.
    pub fn write(&mut self, side: Role, data: &[u8]) -> Result<(), Error> {
        let mut datagram = Vec::new();
        match side {
            Role::Client => self.client.write(data, &mut datagram)?,
            Role::Server => self.server.write(data, &mut datagram)?,
        }
        self.send(side, datagram);
        Ok(())
    }
}

fn note(result: Result<(), Error>, received: &mut ReceivedData) {
    if let Err(error) = result {
        received.error.get_or_insert(error);
    }
}

/// Reads a whole datagram.
fn read<H: Handshake>(
    association: &mut Association<H>,
    now: Time,
    mut datagram: Vec<u8>,
    received: &mut ReceivedData,
) {
    let mut consumed = 0;
    loop {
        let rest = &mut datagram[consumed..];
        let progress = match association.read(now, rest) {
            Ok(progress) => progress,
            Err(error) => return note(Err(error), received),
        };
        let rest = &datagram[consumed..];
        consumed += progress.consumed;
        match progress.event {
            ReadEvent::Data(data) => received.data.extend_from_slice(&rest[data]),
            ReadEvent::EarlyData(data) => received.early_data.extend_from_slice(&rest[data]),
            ReadEvent::EarlyDatagram(data) => received.early_data.extend(data),
            ReadEvent::Handshake(event) => received.event(event),
            ReadEvent::NeedInput | ReadEvent::WaitingForAnswer => return,
            ReadEvent::PeerClosed => {
                received.closed = true;
                return;
            }
            ReadEvent::ConnectionIdsRequested(count) => received.requested_ids.push(count),
            _ => (),
        }
    }
}
