//! A SEPP offers fewer choices.

use super::*;

const FACTS: &str =
    "round-trip=134ms reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once";

/// The numbers match the settings: (e) continues with psk_dhe_ke there, even if another continuation is cheaper.
#[test]
fn a_sepp_is_advised_what_it_does() {
    for more in ["", "processor-price=1000", "deletes-one-time-psks=true", "post-quantum=false"] {
        let own = advice(&format!("{FACTS} {more}"));
        assert!(own.settings.iter().all(|line| !line.contains("peer.NAME")), "{:?}", own.settings);
        let sepp = advice(&format!("application=sepp {FACTS} {more}"));
        let does = [
            Way::plain(Letter::C, HYBRID),
            Way::forward_secret(OneTimeKey::X25519MlKem768, HYBRID),
        ];
        assert!(does.contains(&sepp.way), "{more}: {}", sepp.way);
        let text = sepp.to_string();
        assert!(text.contains("For a SEPP (docs/sepp.md)"), "{text}");
        assert!(!own.to_string().contains("docs/sepp.md"), "{more}");
    }
    let sepp = advice(&format!("application=sepp {FACTS}"));
    let continuation = line(&sepp, "continuation");
    assert_eq!(continuation.answer, "psk_dhe_ke");
    assert_eq!(continuation.reason, "a SEPP continues with psk_dhe_ke after early data");
}

#[test]
fn a_sepp_sends_no_replayable_early_data_whatever_is_accepted() {
    let facts = "round-trip=134ms reconnections-per-hour=4 early-requests=repeatable \
                 forward-secrecy=after-handshake accept-risk=early-data-without-forward-secrecy,replay";
    assert_eq!(advice(facts).way.option, Letter::DSingleUse);
    let sepp = advice(&format!("application=sepp {facts}"));
    assert_eq!(sepp.way, Way::plain(Letter::C, HYBRID));
    assert_eq!(ruled_out(&sepp, Letter::DSingleUse), Some("application"));
    assert!(!sepp.to_string().contains("risky-replayable-early-data"), "{sepp}");
}

#[test]
fn two_sepps_with_an_etcd_set_their_vault_too() {
    let etcd = "servers=2 shared-store=etcd store-round-trip=0.5ms";
    let sepp = advice(&format!("application=sepp {FACTS} {etcd}"));
    assert_eq!((sepp.way.option, sepp.way.store), (Letter::E, Store::Etcd));
    for expected in ["[tickets.fleet]", "vault = \"etcd\""] {
        assert!(sepp.settings.iter().any(|line| line == expected), "{:?}", sepp.settings);
    }
    assert!(sepp.settings.iter().any(|line| line.starts_with("# A one-time key lives 1 h")));
    let lifetime = line(&sepp, "one-time key's lifetime");
    assert!(lifetime.answer == "1 h" && lifetime.reason.contains("a SEPP has no key for it"));
    // The cost of issuing is unknown there, and the advice states this.
    let pays = line(&sepp, "pays");
    assert!(pays.answer == "not known" && pays.reason.contains("etcd"), "{pays:?}");
}

/// A SEPP that needn't be post-quantum still uses hybrid keys, but not because of quantum computers.
#[test]
fn hybrid_keys_have_their_own_reason_where_they_are_not_asked_for() {
    let sepp = advice(&format!("application=sepp {FACTS} post-quantum=false"));
    // Too uncertain to show whether X25519 is cheaper.
    let mut uncertain = evidence();
    for cell in uncertain.cells.iter_mut().filter(|it| it.way.kx == Some(KeyExchange::X25519)) {
        let response = cell.response_us.as_mut().unwrap();
        response.interval = Some((response.median - 1e6, response.median + 1e6));
    }
    let facts = given("round-trip=134ms reconnections-per-hour=4 post-quantum=false");
    let own = advise(&uncertain, &facts).unwrap();
    assert_eq!(own.way, Way::plain(Letter::C, HYBRID));
    for (advice, because) in
        [(sepp, "a SEPP uses X25519MLKEM768"), (own, "leaving it out saves nothing for certain")]
    {
        let key_exchange = line(&advice, "key exchange");
        assert_eq!(key_exchange.answer, "X25519MLKEM768");
        assert!(key_exchange.reason.contains("isn't required"), "{key_exchange:?}");
        assert!(key_exchange.reason.contains(because), "{key_exchange:?}");
        assert!(!key_exchange.reason.contains("quantum computer"), "{key_exchange:?}");
    }
    let asked = advice(FACTS);
    assert!(line(&asked, "key exchange").reason.contains("quantum computer"), "{asked:?}");
}
