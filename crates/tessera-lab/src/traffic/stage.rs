//! Records flows: both ends of a link, ready for each variant.

use std::collections::VecDeque;
use std::num::NonZeroU16;

use tessera::handshake::Checked;
use tessera::resume::ClientSession;
use tessera::{ClientConfig, Padding, ServerConfig};
use tessera_link::{Link, LinkParameters};
use tessera_reports::{Suite, Variant};

use super::report::Flow;
use super::watched_connection::WatchedConnection;
use crate::bench::check;
use crate::control::Preparation;
use crate::endpoint::{self, Stores, client_configuration, server_configuration};
use crate::engine_names::cipher_suite;
use crate::error::LabError;
use crate::pki::Pki;
use crate::ways::Way;
use crate::wired::{Caller, Sizes, WiredPair};

/// How many sessions one connection brings. The engine refuses more than 32 tickets in a row.
const SESSIONS_AT_ONCE: u8 = 30;

/// Both ends, and the link between them.
pub(super) struct Stage {
    wired: WiredPair,
    pki: Pki,
}

/// Both ends of a variant, ready to connect.
pub(super) struct Ready {
    variant: Variant,
    padding: Option<NonZeroU16>,
    /// Asks for one ticket.
    client: Checked<ClientConfig>,
    /// Asks for many.
    collector: Checked<ClientConfig>,
    server: Checked<ServerConfig>,
    sessions: VecDeque<ClientSession>,
}

impl Stage {
    pub(super) fn new(link: Link) -> Result<Self, LabError> {
        let pki = Pki::new()
            .map_err(|error| LabError::Connection(format!("making certificates: {error}")))?;
        Ok(Self { wired: WiredPair::new(link)?, pki })
    }

    /// Changes the link when the last packets have left it.
    pub(super) fn set_link(&self, parameters: &LinkParameters) -> Result<(), LabError> {
        self.wired.set_link(parameters)
    }

    /// Makes both ends of a variant, and gets the client this many sessions.
    pub(super) fn prepare(
        &mut self,
        variant: Variant,
        padding: Option<NonZeroU16>,
        sessions: usize,
    ) -> Result<Ready, LabError> {
        let mut ready = self.configure(variant, padding).map_err(|error| failed(&*error))?;
        while variant.mode.resumes() && ready.sessions.len() < sessions {
            let config = ready.collector.clone();
            let caller = Caller {
                config,
                session: None,
                known_key: None,
                sessions: SESSIONS_AT_ONCE.into(),
            };
            let exchange = Sizes { request: 1, response: 1 };
            let call = self.wired.connect(&ready.server, caller, &[exchange], None)?;
            ready.sessions.extend(call.sessions);
        }
        Ok(ready)
    }

    fn configure(&self, variant: Variant, padding: Option<NonZeroU16>) -> endpoint::Result<Ready> {
        let way = Way::of_variant(&variant);
        let suite = Some(variant.suite);
        let preparation = |identity| Preparation { suite, ..Preparation::new(way, identity) };
        let padded = padding.map_or(Padding::None, Padding::MultipleOf);
        let client = |sessions| {
            let preparation = preparation(self.pki.client.clone());
            let mut config = (*client_configuration(&preparation, sessions)?).clone();
            config.padding = padded;
            Ok::<_, Box<dyn std::error::Error>>(config.checked()?)
        };
        let preparation = preparation(self.pki.server.clone());
        let mut server = (*server_configuration(&preparation, &Stores::new(false)?)?).clone();
        server.padding = padded;
        Ok(Ready {
            variant,
            padding,
            client: client(1)?,
            collector: client(SESSIONS_AT_ONCE)?,
            server: server.checked()?,
            sessions: VecDeque::new(),
        })
    }

    /// Records one connection with these exchanges, and checks that it is of the variant.
    pub(super) fn record(
        &mut self,
        ready: &mut Ready,
        exchanges: &[Sizes],
    ) -> Result<Flow, LabError> {
        let Ready { variant, padding, .. } = *ready;
        let session = if variant.mode.resumes() {
            let session = ready.sessions.pop_front();
            Some(session.ok_or_else(|| LabError::Connection("no session is left".to_owned()))?)
        } else {
            None
        };
        let caller = Caller { config: ready.client.clone(), session, known_key: None, sessions: 1 };
        let mut watched = WatchedConnection::new(self.wired.address());
        let call = self.wired.connect(&ready.server, caller, exchanges, Some(&mut watched))?;
        check(Way::of_variant(&variant), &call.client.observed, &call.server.observed)?;
        let suite = Suite::ALL
            .into_iter()
            .find(|suite| call.client.suite == Some(cipher_suite(*suite).0))
            .ok_or_else(|| LabError::Connection("a connection has another suite".to_owned()))?;
        let sizes_and_times = watched
            .sizes_and_times([call.client.sent, call.server.sent])
            .map_err(LabError::Connection)?;
        Ok(Flow {
            variant: Variant { suite, ..variant },
            rtt_ms: self.wired.link().parameters().rtt.as_secs_f64() * 1e3,
            padding: padding.map(NonZeroU16::get),
            plaintext: watched.plaintext(),
            sizes_and_times,
        })
    }
}

fn failed(error: &dyn std::error::Error) -> LabError {
    LabError::Connection(format!("preparing both ends: {error}"))
}
