//! The connections to measure, and the report of them.

use std::error::Error;
use std::sync::Arc;

use tessera::{ClientConfig, ServerConfig};
use tessera_reports::{Mode, Variant};

use super::books::{Balance, Books};
use super::pair::{ConfiguredEnd, Connected, Ends};
use super::vault::ApartVault;
use super::{HeldMemory, Kind, Memory, Side};
use crate::control::Preparation;
use crate::endpoint::{Stores, client_config, server_config};
use crate::heap::NO_ALLOCATOR;
use crate::pki::Pki;
use crate::ways::Way;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Connections before those that count, for allocations that happen once.
const WARM_UP: usize = 2;

/// Connections that count; the median one is reported.
const CONNECTIONS: usize = 3;

/// The number if each connection leaves something in the server's stores: these grow by pages, and a mean over few
/// would be that of an empty page.
const CONNECTIONS_WITH_STORES: usize = 30;

/// The tickets issued to measure the stores' memory per ticket.
const TICKETS: usize = 6 * SESSIONS_AT_ONCE as usize;

/// How many sessions a connection for tickets brings. The engine refuses more than 32.
const SESSIONS_AT_ONCE: u8 = 30;

/// A variant, ready to be measured.
pub(super) struct Measurement {
    variant: Variant,
    stores: Stores,
    client: Preparation,
    server: Preparation,
    books: [&'static Books; 2],
}

impl Measurement {
    pub(super) fn new(variant: Variant, books: [&'static Books; 2]) -> Result<Self> {
        let Pki { client, server, .. } = Pki::new()?;
        let prepared = |identity| Preparation {
            suite: Some(variant.suite),
            ..Preparation::new(Way::of_variant(&variant), identity)
        };
        let (client, server) = (prepared(client), prepared(server));
        Ok(Self { variant, stores: Stores::new(false)?, client, server, books })
    }

    pub(super) fn run(&self) -> Result<Vec<Memory>> {
        let mode = self.variant.mode;
        let (connections, tickets) = match mode.has_one_time_key() || mode == Mode::ZeroRtt {
            true => (CONNECTIONS_WITH_STORES, TICKETS),
            false => (CONNECTIONS, WARM_UP + CONNECTIONS),
        };
        let mut sessions = Vec::new();
        let mut issued = 0;
        let mut collecting = self.ends(SESSIONS_AT_ONCE)?;
        while sessions.len() < tickets {
            let mut connected = self.connect(&mut collecting, Kind::New, None, false)?;
            sessions.append(&mut connected.sessions);
            issued += connected.server.stores;
        }
        let ticket = issued / sessions.len() as i64;

        let mut new = self.several(Kind::New, CONNECTIONS, &mut Vec::new())?;
        let mut memory = Vec::from(self.report(Kind::New, &mut new, ticket));
        let mut resumed = self.several(Kind::Resumed, connections, &mut sessions)?;
        let left: i64 = resumed.connections.iter().map(|it| it.server.stores).sum();
        let left = left / resumed.connections.len() as i64;
        memory.extend(self.report(Kind::Resumed, &mut resumed, ticket + left));
        Ok(memory)
    }

    /// Returns both ends, observed. A new connection brings this many sessions.
    fn ends(&self, sessions: u8) -> Result<Ends> {
        let [client_books, server_books] = self.books;
        let client = tessera_observed::client(client_config(&self.client, sessions)?, client_books);
        let mut server = server_config(&self.server, &self.stores)?;
        if let Some(guard) = &mut server.policy.early_data.forward_secret {
            guard.vault = Arc::new(ApartVault { inner: guard.vault.clone(), books: server_books });
        }
        let server = tessera_observed::server(server, server_books);
        Ok(Ends {
            client: ConfiguredEnd::new(client.checked()?, client_books),
            server: ConfiguredEnd::new(server.checked()?, server_books),
        })
    }

    /// Makes connections of one kind, after those that warm up.
    fn several(
        &self,
        kind: Kind,
        count: usize,
        sessions: &mut Vec<Vec<u8>>,
    ) -> Result<ConnectionGroup> {
        let mut ends = self.ends(1)?;
        let mut connections = Vec::new();
        for number in 0..WARM_UP + count {
            let session = match kind {
                Kind::New => None,
                Kind::Resumed => sessions.pop().filter(|_| self.variant.mode.resumes()),
            };
            let watched = (WARM_UP..WARM_UP + CONNECTIONS).contains(&number);
            connections.push(self.connect(&mut ends, kind, session, watched)?);
        }
        let output = [ends.client.output_bytes()?, ends.server.output_bytes()?];
        Ok(ConnectionGroup { connections: connections.split_off(WARM_UP), output })
    }

    /// Makes one connection; checks that it is of the kind, and that the accounts add up.
    fn connect(
        &self,
        ends: &mut Ends,
        kind: Kind,
        session: Option<Vec<u8>>,
        watched: bool,
    ) -> Result<Connected> {
        let connected = ends.connect(session.as_deref(), watched)?;
        let mode = self.variant.mode;
        let resumes = kind == Kind::Resumed && mode.resumes();
        if connected.resumed != resumes
            || connected.early_data != (resumes && mode.has_early_data())
        {
            return Err("a connection was not of its way".into());
        }
        for end in [&connected.client, &connected.server] {
            if end.allocated.total() == 0 {
                return Err(NO_ALLOCATOR.into());
            }
            let held = end.held.total() + end.stores;
            if held != end.held_by_thread {
                let counted = end.held_by_thread;
                return Err(format!("arenas hold {held} bytes, but the thread {counted}").into());
            }
        }
        Ok(connected)
    }

    fn report(&self, kind: Kind, several: &mut ConnectionGroup, vault_bytes: i64) -> [Memory; 2] {
        let [client, server] = several.output;
        let client = (Side::Client, several.middle(|it| it.client), client, 0);
        let server = (Side::Server, several.middle(|it| it.server), server, vault_bytes);
        [client, server].map(|(side, balance, output, vault_bytes)| {
            let Balance { mut allocated, mut peak, held, .. } = balance;
            allocated.buffers += output;
            peak.buffers += output;
            Memory {
                variant: self.variant,
                connection: kind,
                side,
                components: allocated,
                total: allocated.total(),
                peak: HeldMemory::of(peak),
                held: HeldMemory::of(held),
                vault_bytes,
            }
        })
    }
}

/// Returns the peak memory of each end: the median of several connections with these configurations.
pub(super) fn peaks(
    (client, server): (ClientConfig, ServerConfig),
    before: impl Fn(),
    [of_client, of_server]: [&'static Books; 2],
) -> Result<[i64; 2]> {
    let client = tessera_observed::client(client, of_client).checked()?;
    let server = tessera_observed::server(server, of_server).checked()?;
    let mut ends = Ends {
        client: ConfiguredEnd::new(client, of_client),
        server: ConfiguredEnd::new(server, of_server),
    };
    let mut peaks = [Vec::new(), Vec::new()];
    for number in 0..WARM_UP + CONNECTIONS {
        before();
        let connected = ends.connect(None, number >= WARM_UP)?;
        if number >= WARM_UP {
            peaks[0].push(connected.client.peak.total());
            peaks[1].push(connected.server.peak.total());
        }
    }
    let middle = peaks.map(|mut of_end| {
        of_end.sort_unstable();
        of_end[CONNECTIONS / 2]
    });
    if middle.contains(&0) {
        return Err(NO_ALLOCATOR.into());
    }
    Ok(middle)
}

/// Connections of one kind.
struct ConnectionGroup {
    connections: Vec<Connected>,
    /// The output buffer of each end, in bytes.
    output: [i64; 2],
}

impl ConnectionGroup {
    /// Returns the median balance by total allocations, among the watched connections.
    fn middle(&mut self, end: fn(&Connected) -> Balance) -> Balance {
        let watched = &mut self.connections[..CONNECTIONS];
        let total = |it: &Connected| end(it).allocated.total();
        watched.sort_by_key(total);
        end(&watched[CONNECTIONS / 2])
    }
}
