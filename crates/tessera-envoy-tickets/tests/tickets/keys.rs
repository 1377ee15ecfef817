//! Which keys seal and open.

use std::sync::Arc;
use std::time::Duration;

use tessera::resume::{OpenTicket, TicketKeys};
use tessera_aws_lc::provider;
use tessera_envoy_tickets::{EnvoyKey, EnvoyKeyError, EnvoyTickets, PoolMember};
use tessera_ring::{Installer, RingKeys};
use tessera_vault::{TicketKey, TicketKeyDomain, TicketKeyForm, TicketKeyRing};

use super::pool::{
    NAME, NOW, answer, key, key_bytes, opened, opened_for, pool, sealed, session, tickets,
    tickets_of,
};

#[test]
fn the_first_key_seals_and_all_open() {
    let one = tickets_of(pool(), vec![key(1), key(2)]);
    let other = tickets_of(pool(), vec![key(2), key(1)]);
    let by_one = sealed(&one, &session()).unwrap();
    let by_other = sealed(&other, &session()).unwrap();
    assert_eq!(by_one[..16], key_bytes(1)[..16]);
    assert_eq!(by_other[..16], key_bytes(2)[..16]);
    for tickets in [one, other] {
        assert!(opened(&tickets, &by_one).is_some() && opened(&tickets, &by_other).is_some());
        tickets.install(vec![key(2)]).unwrap();
        assert!(opened(&tickets, &by_one).is_none() && opened(&tickets, &by_other).is_some());
    }
}

#[test]
fn a_key_seals_and_opens_in_its_time_alone() {
    let key = |seals: u64, opens: u64| {
        let until = |seconds| NOW + Duration::from_secs(seconds);
        EnvoyKey::new(&provider(), &key_bytes(1), until(seals), until(opens)).unwrap()
    };
    let ticket = sealed(&tickets_of(pool(), vec![key(1, 1)]), &session()).unwrap();
    assert!(sealed(&tickets_of(pool(), vec![key(0, 1)]), &session()).is_none());
    assert!(opened(&tickets_of(pool(), vec![key(0, 1)]), &ticket).is_some());
    assert!(opened(&tickets_of(pool(), vec![key(0, 0)]), &ticket).is_none());
}

#[test]
fn a_ticket_is_unknown_without_a_clock_or_a_server_name() {
    let tickets = tickets();
    let ticket = sealed(&tickets, &session()).unwrap();
    let question = |unix| OpenTicket::new(ticket.clone(), unix);
    assert!(answer(&tickets, question(Some(NOW))).is_none());
    assert!(answer(&tickets, question(Some(NOW)).with_server_name(NAME)).is_some());
    assert!(answer(&tickets, question(None).with_server_name(NAME)).is_none());
}

#[test]
fn a_changed_or_shortened_ticket_is_unknown() {
    let tickets = tickets();
    let ticket = sealed(&tickets, &session()).unwrap();
    assert!(opened(&tickets, &ticket).is_some());
    for at in 0..ticket.len() {
        assert!(opened(&tickets, &ticket[..at]).is_none(), "{at} bytes");
        for bit in 0..8 {
            let mut changed = ticket.clone();
            changed[at] ^= 1 << bit;
            assert!(opened(&tickets, &changed).is_none(), "bit {bit} of byte {at}");
        }
    }
    assert!(opened(&tickets, &[&ticket[..], &[0]].concat()).is_none());
}

#[test]
fn no_two_tickets_of_a_session_are_alike() {
    let tickets = tickets();
    let [one, other] = [0; 2].map(|_| sealed(&tickets, &session()).unwrap());
    assert!(one[16..32] != other[16..32] && one[32..48] != other[32..48]);
}

#[test]
fn keys_that_are_not_random_are_refused() {
    let refused =
        |key: &[u8]| EnvoyKey::new(&provider(), key, Duration::MAX, Duration::MAX).unwrap_err();
    let good = key_bytes(1);
    assert_eq!(refused(&good[1..]), EnvoyKeyError::Length);
    assert_eq!(refused(&[0; 80]), EnvoyKeyError::NotRandom);
    for at in [16, 32, 48, 64] {
        let mut weak = good.clone();
        weak[at..at + 16].fill(9);
        assert_eq!(refused(&weak), EnvoyKeyError::NotRandom, "from byte {at}");
    }
    let tickets = tickets();
    let error = tickets.install(vec![key(2), key(3), key(2)]).unwrap_err();
    assert_eq!(error, EnvoyKeyError::DuplicateName);
    assert_eq!(sealed(&tickets, &session()).unwrap()[..16], good[..16], "the earlier key stays");
}

#[tokio::test]
async fn a_member_of_the_ring_has_the_keys_of_the_pools_sidecars() {
    let provider = provider();
    let own = Arc::new(TicketKeyRing::new(&provider));
    let tickets = Arc::new(EnvoyTickets::new(pool(), own.clone()));
    let domain = TicketKeyDomain { kind: "envoy", name: "www".into() };
    let member = PoolMember { provider, own: own.clone(), tickets: tickets.clone(), domain };
    let hour = Duration::from_secs(3600);
    let key = || Box::new(TicketKey::generate(&provider, NOW, hour, hour).unwrap());
    let keys = RingKeys { now: NOW, issuing: Some(key()), next: Some(key()), earlier: vec![key()] };
    member.install(&keys).await.unwrap();
    // `envoy`, zero, the name: what `tessera stek` derives for Envoys.
    let derived = |key: &TicketKey| key.derive(&provider, TicketKeyForm::Aes256, b"envoy\0www");
    let issuing = derived(keys.issuing.as_ref().unwrap());
    let ticket = tickets.seal(&session(), NOW).unwrap();
    assert_eq!(ticket[..16], issuing[..16]);
    for key in keys.in_order() {
        let elsewhere =
            EnvoyKey::new(&provider, &derived(key), Duration::MAX, Duration::MAX).unwrap();
        let ticket = sealed(&tickets_of(pool(), vec![elsewhere]), &session()).unwrap();
        assert!(opened(&tickets, &ticket).is_some());
        let at_the_end = OpenTicket::new(ticket, Some(key.opens_until)).with_server_name(NAME);
        assert!(answer(&tickets, at_the_end).is_none());
    }
    // Others in the form of the ring.
    let nameless = tessera::resume::SessionState { server_name: None, ..session() };
    let own_ticket = tickets.seal(&nameless, NOW).unwrap();
    assert_eq!(own.len(), 3);
    assert!(opened_for(&tickets, &own_ticket, NAME).is_some_and(|it| it.server_name.is_none()));
    // Without an issuing key none seals, though later ones are there.
    let keys = RingKeys { issuing: None, ..keys };
    member.install(&keys).await.unwrap();
    let ticket = tickets.seal(&session(), NOW);
    assert!(ticket.is_none_or(|ticket| ticket[..16] != derived(keys.next.as_ref().unwrap())[..16]));
}
