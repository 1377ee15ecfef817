//! The pool of these tests.

use std::sync::Arc;
use std::time::Duration;

use tessera::crypto::Secret;
use tessera::handshake::Reply;
use tessera::resume::{Ancestry, Carrier, OpenTicket, SessionState, TicketKeys};
use tessera::wire::CipherSuite;
use tessera_aws_lc::provider;
use tessera_envoy_tickets::{EnvoyKey, EnvoyTickets, Pool, SessionContext};
use tessera_harness::UnsealedTickets;

pub const NOW: Duration = Duration::from_secs(1_800_000_000);
pub const NAME: &str = "www.example";

/// Own tickets are not sealed, so that tests see which form a session has.
pub fn tickets_of(pool: Pool, keys: Vec<EnvoyKey>) -> EnvoyTickets {
    let tickets = EnvoyTickets::new(pool, Arc::new(UnsealedTickets));
    tickets.install(keys).unwrap();
    tickets
}

pub fn tickets() -> EnvoyTickets {
    tickets_of(pool(), vec![key(1)])
}

pub fn pool() -> Pool {
    let names = [NAME, "*.edge.example"].map(String::from).to_vec();
    Pool { scope: vec![1, 2], policy_epoch: 3, ..Pool::new(SessionContext([7; 32]), names) }
}

pub fn key(number: u8) -> EnvoyKey {
    EnvoyKey::new(&provider(), &key_bytes(number), Duration::MAX, Duration::MAX).unwrap()
}

pub fn key_bytes(number: u8) -> Vec<u8> {
    (0..80).map(|at| at ^ number.wrapping_mul(100)).collect()
}

pub fn session() -> SessionState {
    SessionState {
        suite: CipherSuite::TLS_AES_128_GCM_SHA256,
        psk: Secret::from_slice(&[5; 32]).unwrap(),
        protocol: Some(b"h2".to_vec()),
        server_name: Some(NAME.into()),
        peer: None,
        accepted_by: None,
        external_psk: None,
        authenticated_at: NOW.as_secs() - 1000,
        policy_epoch: 3,
        scope: vec![1, 2],
        ancestry: Ancestry::PostQuantum,
        issued_at: 1_800_000_000_000,
        lifetime: 3600,
        age_add: 0x0102_0304,
        max_early_data_size: 0,
        companion: None,
        carrier: Carrier::STREAM,
    }
}

/// Seals a session in the pool's form; `None` if it has its own.
pub fn sealed(tickets: &EnvoyTickets, session: &SessionState) -> Option<Vec<u8>> {
    let ticket = tickets.seal(session, NOW).unwrap();
    let is_own = ticket == *session.encode();
    (!is_own).then_some(ticket)
}

/// Opens a ticket of a connection to the pool's first name.
pub fn opened(tickets: &EnvoyTickets, ticket: &[u8]) -> Option<SessionState> {
    opened_for(tickets, ticket, NAME)
}

pub fn opened_for(tickets: &EnvoyTickets, ticket: &[u8], name: &str) -> Option<SessionState> {
    answer(tickets, OpenTicket::new(ticket.to_vec(), Some(NOW)).with_server_name(name))
}

pub fn answer(tickets: &EnvoyTickets, question: OpenTicket) -> Option<SessionState> {
    match tickets.open(&question) {
        Reply::Now(session) => session,
        Reply::Later => panic!("asks no one"),
    }
}
