//! Dates, with a clock and without.

use rcgen::date_time_ymd;
use tessera_fixed_pki::{Defect, FixedPkiVerifier};

use crate::pki::{
    ALGORITHMS, Both, NOT_AFTER, NOT_BEFORE, NOW, Peer, anchor, judge, root, server_params, with,
};

#[test]
fn a_certificate_is_accepted_during_its_validity_alone() {
    let root = root();
    let both = Both::new(&[&root]);
    let good = Peer::new(&server_params(), &root).as_server();
    let at = |unix| with(good.clone(), |it| it.unix = Some(unix));
    for unix in [NOT_BEFORE, NOW, NOT_AFTER] {
        both.accept(&at(unix));
    }
    for (unix, defect) in [
        (0, Defect::NotYetValid),
        (NOT_BEFORE - 1, Defect::NotYetValid),
        (NOT_AFTER + 1, Defect::Expired),
        (u64::MAX, Defect::Expired),
    ] {
        both.refuse(&at(unix), defect);
    }
    both.refuse(&with(good, |it| it.unix = None), Defect::NoTime);
}

#[test]
fn a_certificate_does_not_end_before_it_begins() {
    let root = root();
    let mut params = server_params();
    params.not_before = date_time_ymd(2030, 6, 1);
    params.not_after = date_time_ymd(2030, 5, 31);
    Both::new(&[&root]).refuse(&Peer::new(&params, &root).as_server(), Defect::Dates);
}

#[test]
fn dates_after_2049_are_read() {
    let root = root();
    let mut params = server_params();
    params.not_after = date_time_ymd(4096, 2, 29);
    let identity = Both::new(&[&root]).accept(&Peer::new(&params, &root).as_server());
    assert!(identity.expires_at > Some(67_000_000_000));
}

#[test]
fn dates_go_unchecked_only_on_request_and_then_nothing_expires() {
    let root = root();
    let make = || FixedPkiVerifier::new(vec![anchor(root.der())], ALGORITHMS).unwrap();
    let verifier = make().without_checking_dates();
    let good = Peer::new(&server_params(), &root).as_server();
    for unix in [None, Some(0), Some(NOT_BEFORE - 1), Some(NOW), Some(u64::MAX)] {
        let question = with(good.clone(), |it| it.unix = unix);
        assert_eq!(judge(&verifier, &question).unwrap().expires_at, None);
    }
    // They must be dates nevertheless.
    let mut params = server_params();
    params.not_before = date_time_ymd(2032, 1, 1);
    let wrong = Peer::new(&params, &root).as_server();
    assert_eq!(judge(&verifier, &wrong), Err(Defect::Dates.into()));
    use tessera::auth::PeerVerifier;
    assert!(make().policy() != verifier.policy());
}
