//! Ticket keys: their times, their encoding, and what they don't reveal.

use std::time::Duration;

use tessera_aws_lc::provider;
use tessera_vault::TicketKey;
use zeroize::ZeroizeOnDrop;

const NOW: Duration = Duration::from_secs(1_800_000_000);
const HOUR: Duration = Duration::from_secs(3600);

fn key() -> TicketKey {
    TicketKey::generate(&provider(), NOW, HOUR, HOUR * 2).expect("randomness")
}

#[test]
fn generated_ticket_keys_differ_and_their_times_are_in_order() {
    let (first, second) = (key(), key());
    assert_ne!(first.id, second.id);
    assert_ne!(*first.secret, *second.secret);
    assert_eq!(first.known_from, NOW - Duration::from_secs(600));
    assert_eq!(first.issues_from, NOW);
    assert_eq!(first.issues_until, NOW + HOUR);
    assert_eq!(first.opens_until, NOW + HOUR * 3);
}

#[test]
fn the_times_of_a_ticket_key_do_not_overflow() {
    let provider = provider();
    let first = TicketKey::generate(&provider, Duration::ZERO, HOUR, Duration::MAX).unwrap();
    assert_eq!((first.known_from, first.opens_until), (Duration::ZERO, Duration::MAX));
    let decoded = TicketKey::decode(&first.encode()).unwrap();
    assert_eq!(decoded.opens_until, Duration::from_millis(u64::MAX));
}

#[test]
fn a_ticket_key_is_decoded_to_what_was_encoded() {
    let key = key();
    let encoded = key.encode();
    // Growth would have left a copy in the old place.
    assert_eq!(encoded.capacity(), encoded.len());
    let decoded = TicketKey::decode(&encoded).unwrap();
    assert_eq!(decoded.id, key.id);
    assert_eq!(*decoded.secret, *key.secret);
    assert_eq!(decoded.known_from, key.known_from);
    assert_eq!(decoded.issues_from, key.issues_from);
    assert_eq!(decoded.issues_until, key.issues_until);
    assert_eq!(decoded.opens_until, key.opens_until);
    assert_eq!(*decoded.encode(), *encoded);
}

#[test]
fn malformed_ticket_keys_are_not_decoded() {
    let encoded = key().encode();
    for len in 0..encoded.len() {
        assert!(TicketKey::decode(&encoded[..len]).is_none(), "{len}");
    }
    assert!(TicketKey::decode(&[encoded.as_slice(), &[0]].concat()).is_none());
    let mut newer = encoded.to_vec();
    newer[0] += 1;
    assert!(TicketKey::decode(&newer).is_none());
}

#[test]
fn debug_shows_a_ticket_keys_id_and_not_its_secret() {
    let mut key = key();
    key.id = [0xab; 16];
    key.secret = [0xcd; 32].into();
    let shown = format!("{key:?}");
    assert!(shown.contains(&"ab".repeat(16)), "{shown}");
    assert!(!shown.contains("cd") && !shown.contains("205"), "{shown}");
}

#[test]
fn the_type_of_a_ticket_keys_secret_wipes_it() {
    fn wipes<T: ZeroizeOnDrop>(_: &T) {}
    wipes(&key().secret);
}
