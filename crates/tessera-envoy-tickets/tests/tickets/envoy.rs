//! Tickets that an Envoy 1.40 sealed for OpenSSL, and its certificate; `stek` in `testing/` has the Envoy itself.

use std::time::Duration;

use tessera::resume::{Ancestry, OpenTicket};
use tessera::wire::CipherSuite;
use tessera_aws_lc::provider;
use tessera_envoy_tickets::{EnvoyKey, Pool, SessionContext, SessionContextError, member_traits};
use tessera_vault::TicketKeyDomain;
use tessera_webpki::ConfigError;

use super::pool::{answer, tickets_of};

const KEY: &[u8] = include_bytes!("../vectors/key");
const CERTIFICATE: &[u8] = include_bytes!("../vectors/certificate.der");
const TICKET: &[u8] = include_bytes!("../vectors/ticket");
/// Of a filter chain that matches these names.
const TICKET_OF_NAMES: &[u8] = include_bytes!("../vectors/ticket-server-names");
const SERVER_NAMES: &[&str] = &["www.example", "*.edge.example"];

fn key() -> EnvoyKey {
    EnvoyKey::new(&provider(), KEY, Duration::MAX, Duration::MAX).unwrap()
}

#[test]
fn the_context_of_certificates_is_that_in_envoys_tickets() {
    let context = |server_names| SessionContext::of_envoy(&[CERTIFICATE], server_names).unwrap();
    assert_eq!(key().context_of(TICKET), Some(context(&[])));
    assert_eq!(key().context_of(TICKET_OF_NAMES), Some(context(SERVER_NAMES)));
    assert_ne!(context(&[]), context(SERVER_NAMES));
}

#[test]
fn names_and_issuer_are_part_of_the_context_and_keys_are_not() {
    let context = |authority: &str, names: &[&str]| {
        let leaf = tessera_pki::Authority::new(authority).issue_with(names, |_| ()).der();
        SessionContext::of_envoy(&[leaf], &[]).unwrap()
    };
    let one = context("CA", &["a.example", "b.example"]);
    assert_eq!(one, context("CA", &["a.example", "b.example"]));
    assert_ne!(one, context("other CA", &["a.example", "b.example"]));
    assert_ne!(one, context("CA", &["b.example", "a.example"]));
    assert_ne!(one, context("CA", &["a.example"]));
}

/// What differs in the context differs in the ring, where it is reported.
#[test]
fn members_of_another_context_have_other_traits() {
    let domain = TicketKeyDomain { kind: "envoy", name: "www".into() };
    let traits = |authority: &str, names: &[&str]| {
        let authority = tessera_pki::Authority::new(authority);
        member_traits(&domain, &authority.issue_with(names, |_| ()).der()).unwrap()
    };
    let one = traits("CA", &["a.example", "b.example"]);
    assert_eq!(one.kind, "envoy www");
    assert!(one.values["names of the certificate"].ends_with("a.example b.example"));
    assert_eq!(one, traits("CA", &["a.example", "b.example"]));
    assert_ne!(one, traits("other CA", &["a.example", "b.example"]));
    assert_ne!(one, traits("CA", &["b.example", "a.example"]));
    assert!(member_traits(&domain, &CERTIFICATE[1..]).is_err());
}

#[test]
fn a_certificate_that_envoy_would_refuse_has_no_context() {
    let error = SessionContext::of_envoy(&[&CERTIFICATE[1..]], &[]).unwrap_err();
    assert!(matches!(error, SessionContextError::Certificate(ConfigError::Certificate(_))));
    let nameless = tessera_pki::Authority::new("CA").issue_with(&[], |params| {
        params.distinguished_name = Default::default();
    });
    let error = SessionContext::of_envoy(&[nameless.der()], &[]).unwrap_err();
    assert_eq!(error, SessionContextError::NoNames);
}

#[test]
fn a_ticket_of_envoy_opens_with_all_that_it_contains() {
    let context = SessionContext::of_envoy(&[CERTIFICATE], &[]).unwrap();
    let pool = Pool::new(context, vec!["www.example".into()]);
    let tickets = tickets_of(pool, vec![key()]);
    let now = Duration::from_secs(0x6b07_fa48);
    let open = |ticket: &[u8]| {
        let question = OpenTicket::new(ticket.to_vec(), Some(now));
        answer(&tickets, question.with_server_name("www.example"))
    };
    let session = open(TICKET).unwrap();
    assert_eq!(session.suite, CipherSuite::TLS_AES_256_GCM_SHA384);
    assert_eq!(session.psk.expose()[..4], [0x16, 0xee, 0x48, 0xbd]);
    assert_eq!(session.protocol.as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(session.server_name.as_deref(), Some("www.example"));
    assert!(session.peer.is_none() && session.accepted_by.is_none());
    assert!(session.external_psk.is_none() && session.companion.is_none());
    assert_eq!((session.issued_at, session.authenticated_at), (0x6b07_fa48 * 1000, 0x6b07_fa48));
    assert_eq!((session.lifetime, session.age_add), (24 * 3600, 0xde79_52b7), "our limit");
    assert_eq!((session.ancestry, session.max_early_data_size), (Ancestry::Classical, 0));
    assert!(session.is_fresh(now, Duration::from_secs(1)));
    // The same key, other names: another pool.
    assert!(open(TICKET_OF_NAMES).is_none());
}
