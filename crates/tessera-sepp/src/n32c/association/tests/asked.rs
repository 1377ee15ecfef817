//! One machine, with requests from its peer.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::n32c::messages::IntendedN32Purpose;
use crate::names::PlmnId;

/// Sends VISITED a request of HOME, changed; returns VISITED's machine and answer.
fn asked(
    change: impl FnOnce(&mut SecNegotiateReqData),
) -> (Machine, Result<SecNegotiateRspData, Refusal>) {
    let now = Instant::now();
    let request = HOME.machine(VISITED.peer(), now).begin(now).unwrap().request;
    let mut request = request;
    change(&mut request);
    let mut machine = VISITED.machine(HOME.peer(), now);
    let answer = machine.asked(now, &HOME.identity(), &request);
    (machine, answer)
}

#[test]
fn a_request_is_answered_as_it_should() {
    let (machine, answer) = asked(|request| {
        request.supported_sec_capability_list =
            ["ALS", "PRINS", "TLS", "NONE"].map(SecurityCapability::from).to_vec();
        let purposes = [N32Purpose::SmsInterconnect, N32Purpose::Roaming, "X".into()];
        let purposes = purposes.map(IntendedN32Purpose::from).to_vec();
        request.intended_usage_purpose = Some(purposes);
        request.supported_features = Some("f".parse().unwrap());
    });
    let mut answer = serde_json::to_value(answer.unwrap()).unwrap();
    let id = answer.as_object_mut().unwrap().remove("n32HandshakeId").unwrap();
    let association = machine.established().unwrap();
    assert_eq!(id.as_str().unwrap(), association.handshake_id.unwrap().to_string());
    let expected = json!({
        "sender": VISITED.name,
        "selectedSecCapability": "TLS",
        "3GppSbiTargetApiRootSupported": true,
        "plmnIdList": [{"mcc": "001", "mnc": "01"}],
        "allowedUsagePurpose": [{"usagePurpose": "ROAMING"}],
        "rejectedUsagePurpose": [{"usagePurpose": "SMS_INTERCONNECT"}, {"usagePurpose": "X"}],
        "supportedFeatures": "0",
        "senderN32fFqdn": VISITED.name,
        "senderN32fPort": 7444,
        "senderN32fPortList": [7444],
        "n32KeepaliveTimer": 60,
    });
    assert_eq!(answer, expected);
    assert_eq!(association.purposes, Some(BTreeSet::from([N32Purpose::Roaming])));
}

#[test]
fn target_networks_of_either_side_are_fine_and_others_are_not() {
    for target in ["001-01", "999-70", "999-070"] {
        let (_, answer) = asked(|request| request.target_plmn_id = Some(target.parse().unwrap()));
        assert!(answer.is_ok(), "{target}");
    }
    let (machine, answer) =
        asked(|request| request.target_plmn_id = Some(THIRD.plmn.parse().unwrap()));
    let refusal = answer.unwrap_err();
    assert_eq!(
        (refusal.rule, refusal.to_problem().status()),
        (Rule::TargetPlmn, 400.try_into().unwrap())
    );
    assert!(machine.established().is_none());
}

#[test]
fn refused_requests_change_nothing() {
    let third: PlmnId = THIRD.plmn.parse().unwrap();
    type Change = Box<dyn Fn(&mut SecNegotiateReqData)>;
    let cases: [(Change, Rule); 7] = [
        (Box::new(|request| request.sender = THIRD.fqdn()), Rule::Sender),
        (Box::new(|request| request.sender = VISITED.fqdn()), Rule::Sender),
        (Box::new(move |request| request.plmn_id_list = Some(vec![third])), Rule::Plmn),
        (
            Box::new(|request| {
                let purpose = N32Purpose::DisasterRoaming.into();
                request.intended_usage_purpose = Some(vec![purpose]);
            }),
            Rule::Purpose,
        ),
        (
            Box::new(|request| {
                request.supported_sec_capability_list = vec![SecurityCapability::Prins, "X".into()];
            }),
            Rule::Capability,
        ),
        (Box::new(|request| request.sender_n32f_fqdn = Some(THIRD.fqdn())), Rule::N32fAddress),
        (
            Box::new(|request| {
                request.sender_n32f_port_list = None;
                request.sender_n32f_port = Some(0);
            }),
            Rule::N32fAddress,
        ),
    ];
    for (change, rule) in cases {
        // Without an association, and with one.
        let (machine, answer) = asked(&change);
        assert_eq!(answer.unwrap_err().rule, rule);
        assert_eq!(machine.state(), &State::WillEstablish);
        let (mut machine, before, now) = established();
        let mut request = VISITED.machine(HOME.peer(), now).begin(now).unwrap().request;
        change(&mut request);
        if rule == Rule::Sender && request.sender == VISITED.fqdn() {
            continue;
        }
        assert_eq!(machine.asked(now, &VISITED.identity(), &request).unwrap_err().rule, rule);
        assert!(Arc::ptr_eq(machine.established().unwrap(), &before));
    }
}

#[test]
fn no_other_certificate_touches_an_association() {
    for capability in [SecurityCapability::None, SecurityCapability::Tls] {
        let (mut machine, before, now) = established();
        let mut request = VISITED.machine(HOME.peer(), now).begin(now).unwrap().request;
        request.supported_sec_capability_list = vec![capability];
        let mut other_anchor = VISITED.identity();
        other_anchor.anchor = THIRD.identity().anchor;
        for identity in [THIRD.identity(), HOME.identity(), other_anchor] {
            assert!(machine.asked(now, &identity, &request).is_err());
            assert!(Arc::ptr_eq(machine.established().unwrap(), &before));
        }
    }
}

#[test]
fn none_ends_an_association_and_the_next_one_is_another() {
    let (mut machine, before, now) = established();
    let mut request = VISITED.machine(HOME.peer(), now).begin(now).unwrap().request;
    request.supported_sec_capability_list = vec!["ALS".into(), SecurityCapability::None];
    for _ in 0..2 {
        let answer = machine.asked(now, &VISITED.identity(), &request).unwrap();
        assert_eq!(answer.selected_sec_capability, SecurityCapability::None);
        assert_eq!(answer.n32_handshake_id, request.n32_handshake_id);
        assert_eq!(machine.state(), &State::Terminated(Terminator::Peer));
    }
    // This side retries after a while, and the peer may begin immediately.
    let next = machine.next().unwrap() - now;
    assert!((10 * SECOND..=20 * SECOND).contains(&next));
    // Soon, if a request waits for it: the peer may have another instance. More requests don't postpone it.
    assert!(machine.is_put_off(now));
    machine.wanted(now);
    let soon = machine.next().unwrap();
    assert!(soon - now <= SECOND && !machine.is_put_off(now));
    machine.wanted(now);
    assert_eq!(machine.next(), Some(soon));
    request.supported_sec_capability_list = vec![SecurityCapability::Tls];
    machine.asked(now, &VISITED.identity(), &request).unwrap();
    assert_ne!(machine.established().unwrap().id, before.id);
}

#[test]
fn an_association_ended_here_is_not_begun_from_outside() {
    let (mut machine, _, now) = established();
    let end = machine.end().unwrap();
    assert_eq!(end.supported_sec_capability_list, [SecurityCapability::None]);
    assert_eq!(end.intended_usage_purpose, None);
    assert_eq!(machine.end(), None);
    let request = VISITED.machine(HOME.peer(), now).begin(now).unwrap().request;
    let refusal = machine.asked(now, &VISITED.identity(), &request).unwrap_err();
    assert_eq!(refusal.to_problem().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(machine.next(), None);
    machine.renew(now);
    assert_eq!(machine.next(), Some(now));
    machine.asked(now, &VISITED.identity(), &request).unwrap();
    assert!(machine.established().is_some());
}

#[test]
fn the_same_agreed_again_is_the_same_association() {
    let (mut machine, before, now) = established();
    let later = now + 10 * SECOND;
    let request = VISITED.machine(HOME.peer(), now).begin(now).unwrap().request;
    let mut identity = VISITED.identity();
    identity.fingerprint = [9; 32];
    machine.asked(later, &identity, &request).unwrap();
    let after = machine.established().unwrap();
    assert_eq!((after.id, after.since), (before.id, before.since));
    assert_eq!(after.certificate.fingerprint, [9; 32]);
    // Any difference in the agreement makes another association.
    let others: [fn(&mut SecNegotiateReqData); 4] = [
        |request| request.target_api_root_supported = false,
        |request| request.sender_n32f_port_list = Some(vec![7445]),
        |request| request.sender_n32f_fqdn = "n.5gc.mnc001.mcc001.3gppnetwork.org".parse().ok(),
        |request| request.intended_usage_purpose = None,
    ];
    for change in others {
        let (mut machine, mut request) = (machine.clone(), request.clone());
        change(&mut request);
        machine.asked(later, &identity, &request).unwrap();
        let after = machine.established().unwrap();
        assert_ne!(after.id, before.id);
        assert_eq!(after.since, later);
    }
}

#[test]
fn a_side_that_does_not_begin_waits_but_answers() {
    let now = Instant::now();
    let settings = PeerSettings { initiate: false, ..VISITED.peer() };
    let mut machine = HOME.machine(settings, now);
    assert_eq!(machine.next(), None);
    let request = VISITED.machine(HOME.peer(), now).begin(now).unwrap().request;
    machine.asked(now, &VISITED.identity(), &request).unwrap();
    let association = machine.established().unwrap().clone();
    machine.lost(now, &association);
    assert_eq!(machine.next(), None);
}

#[test]
fn a_forgotten_association_is_agreed_again_and_fails_if_that_does() {
    let (mut machine, association, now) = established();
    machine.lost(now, &association);
    machine.lost(now, &association);
    assert!(machine.established().is_some());
    let next = machine.next().unwrap();
    assert!(next > now && next <= now + SECOND);
    let order = machine.begin(next).unwrap();
    let mut fails = machine.clone();
    let answer = VISITED.ok(&VISITED.answer(&order.request));
    machine.answered(next, order.number, answer);
    let anew = machine.established().unwrap().clone();
    assert_eq!(anew.id, association.id);
    // A refusal already on its way concerns the former one.
    machine.lost(next, &association);
    assert_eq!(machine.next(), None);
    fails.answered(next, order.number, Err(TransportError::TimedOut));
    assert_eq!(fails.state().as_str(), "exception");
}

#[test]
fn other_settings_keep_what_they_still_allow() {
    let (machine, association, now) = established();
    let set = |local: LocalSettings, peer: PeerSettings| {
        let mut machine = machine.clone();
        machine.set(now, local.into(), peer.into());
        let holds = machine.established().is_some_and(|held| held.id == association.id);
        (holds, machine.next().is_some())
    };
    let peer = VISITED.peer();
    assert_eq!(set(HOME.local(), peer.clone()), (true, false));
    let slower = PeerSettings { keep_alive: 2 * SECOND, ..peer.clone() };
    assert_eq!(set(HOME.local(), slower), (true, true));
    let passive = PeerSettings { initiate: false, ..peer.clone() };
    assert_eq!(set(HOME.local(), passive), (true, false));
    let anchor = PeerSettings { anchor: "other".into(), ..peer.clone() };
    assert_eq!(set(HOME.local(), anchor), (false, true));
    let elsewhere = PeerSettings { plmns: THIRD.plmns(), ..peer.clone() };
    assert_eq!(set(HOME.local(), elsewhere), (false, true));
    let purposes = PeerSettings { purposes: vec![N32Purpose::SmsInterconnect], ..peer.clone() };
    assert_eq!(set(HOME.local(), purposes), (false, true));
    let local = LocalSettings { plmns: THIRD.plmns(), ..HOME.local() };
    assert_eq!(set(local, peer), (false, true));
}
