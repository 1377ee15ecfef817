//! One machine that requests associations, message by message.

use std::collections::BTreeSet;

use http::header::{LOCATION, RETRY_AFTER};
use serde_json::{Value, json};

use super::*;
use crate::n32c::initiator::Target;
use crate::names::PlmnId;

/// Returns VISITED's answer, changed.
fn changed(order: &Order, change: impl FnOnce(&mut SecNegotiateRspData)) -> Reply {
    let mut answer = VISITED.answer(&order.request);
    change(&mut answer);
    VISITED.ok(&answer).unwrap()
}

fn failure(machine: &Machine) -> Arc<Failure> {
    let State::Exception(failure) = machine.state() else { panic!("{:?}", machine.state()) };
    failure.clone()
}

/// Returns the rule by which this answer is refused.
fn refused(reply: impl FnOnce(&Order) -> Reply) -> Rule {
    let (mut machine, order, now) = begun();
    let reply = reply(&order);
    assert!(matches!(machine.answered(now, order.number, Ok(reply)), Outcome::Failed(_)));
    match &*failure(&machine) {
        Failure::Claims(refusal) => refusal.rule,
        other => panic!("{other}"),
    }
}

#[test]
fn requests_have_the_shape_of_ts_29_573() {
    let (_, order, _) = begun();
    let mut request = serde_json::to_value(&order.request).unwrap();
    let id = request.as_object_mut().unwrap().remove("n32HandshakeId").unwrap();
    assert_eq!(id.as_str().unwrap().len(), 16);
    let expected = json!({
        "sender": HOME.name,
        "supportedSecCapabilityList": ["TLS"],
        "3GppSbiTargetApiRootSupported": true,
        "plmnIdList": [{"mcc": "999", "mnc": "70"}],
        "targetPlmnId": {"mcc": "001", "mnc": "01"},
        "intendedUsagePurpose": [{"usagePurpose": "ROAMING"}],
        "supportedFeatures": "0",
        "senderN32fFqdn": HOME.name,
        "senderN32fPort": 7444,
        "senderN32fPortList": [7444],
        "n32KeepaliveTimer": 60,
    });
    assert_eq!(request, expected);
    assert_eq!(order.to, Target::of(&VISITED.fqdn()));
}

#[test]
fn an_answer_establishes_what_both_offered() {
    let (mut machine, order, now) = begun();
    let reply = changed(&order, |answer| {
        answer.n32_keepalive_timer = Some(7);
        answer.sender_n32f_port_list = Some(vec![7444, 7445]);
    });
    assert_eq!(machine.answered(now, order.number, Ok(reply)), Outcome::Established);
    let association = machine.established().unwrap();
    assert_eq!(association.peer, VISITED.fqdn());
    assert_eq!(association.certificate, VISITED.identity());
    assert_eq!(association.plmns, VISITED.plmns());
    assert_eq!(association.handshake_id, order.request.n32_handshake_id);
    assert_eq!(association.keep_alive, 7 * SECOND);
    assert_eq!(association.n32f_ports, [7444, 7445]);
    assert_eq!(association.purposes, Some(BTreeSet::from([N32Purpose::Roaming])));
    assert!(association.target_api_root);
    assert_eq!(machine.next(), None);
}

#[test]
fn a_peer_of_release_18_sends_little_and_is_understood() {
    let (mut machine, order, now) = begun();
    let body = json!({
        "sender": VISITED.name,
        "selectedSecCapability": "TLS",
        "3GppSbiTargetApiRootSupported": true,
        "plmnIdList": [{"mcc": "001", "mnc": "01"}],
        "supportedFeatures": "1",
    });
    let reply = VISITED.reply(StatusCode::OK, body.to_string().into());
    assert_eq!(machine.answered(now, order.number, Ok(reply)), Outcome::Established);
    let association = machine.established().unwrap();
    assert_eq!(association.handshake_id, None);
    assert_eq!(association.n32f_fqdn, VISITED.fqdn());
    assert_eq!(association.purposes, None);
    assert_eq!(association.keep_alive, 60 * SECOND);
}

#[test]
fn an_answer_is_the_sender_s_by_name_certificate_and_anchor() {
    let rule = refused(|order| changed(order, |answer| answer.sender = THIRD.fqdn()));
    assert_eq!(rule, Rule::Sender);
    let rule = refused(|order| {
        let mut reply = changed(order, |_| {});
        reply.identity.fqdns = vec![THIRD.fqdn()];
        reply
    });
    assert_eq!(rule, Rule::Sender);
    let rule = refused(|order| {
        let mut reply = changed(order, |_| {});
        reply.identity.anchor = THIRD.identity().anchor;
        reply
    });
    assert_eq!(rule, Rule::Anchor);
    let rule = refused(|order| Reply { identity: THIRD.identity(), ..changed(order, |_| {}) });
    assert_eq!(rule, Rule::Sender);
}

#[test]
fn an_answer_to_another_exchange_is_none() {
    let other = HandshakeId::from_octets([1; 8]);
    let rule = refused(|order| changed(order, |answer| answer.n32_handshake_id = Some(other)));
    assert_eq!(rule, Rule::HandshakeId);
}

#[test]
fn networks_are_within_certificate_anchor_and_configuration() {
    let third = THIRD.plmn.parse().unwrap();
    let claim = |plmns: &[&str]| {
        let plmns: Vec<PlmnId> = plmns.iter().map(|plmn| plmn.parse().unwrap()).collect();
        refused(|order| changed(order, |answer| answer.plmn_id_list = Some(plmns)))
    };
    assert_eq!(claim(&["001-01", THIRD.plmn]), Rule::Plmn);
    // Three digits are another network than two.
    assert_eq!(claim(&["001-001"]), Rule::Plmn);
    // In the certificate, but not in the configuration.
    let rule = refused(|order| {
        let mut reply = changed(order, |answer| answer.plmn_id_list = Some(vec![third]));
        reply.identity.plmns = [third, VISITED.plmn.parse().unwrap()].into_iter().collect();
        reply
    });
    assert_eq!(rule, Rule::Plmn);
    // In the configuration, but not in the certificate.
    let rule = refused(|order| {
        let mut reply = changed(order, |_| {});
        reply.identity.plmns = [third].into_iter().collect();
        reply
    });
    assert_eq!(rule, Rule::Plmn);
    let rule = refused(|order| {
        let mut reply = changed(order, |answer| answer.plmn_id_list = None);
        reply.identity.plmns = PlmnSet::default();
        reply
    });
    assert_eq!(rule, Rule::Plmn);
}

#[test]
fn a_peer_of_several_networks_has_those_that_it_names() {
    let plmns: PlmnSet =
        ["001-01", "310-410"].map(|plmn| plmn.parse().unwrap()).into_iter().collect();
    let settings = PeerSettings { plmns: plmns.clone(), ..VISITED.peer() };
    for (named, expected) in [(Some(vec!["310-410"]), 1), (None, 2)] {
        let now = Instant::now();
        let mut machine = HOME.machine(settings.clone(), now);
        let order = machine.begin(now).unwrap();
        let named = named.map(|named| named.iter().map(|plmn| plmn.parse().unwrap()).collect());
        let mut reply = changed(&order, |answer| answer.plmn_id_list = named);
        reply.identity.plmns = plmns.clone();
        machine.answered(now, order.number, Ok(reply));
        let association = machine.established().unwrap();
        assert_eq!(association.plmns.iter().len(), expected);
        // Routing doesn't depend on it.
        assert_eq!(association.peer, VISITED.fqdn());
    }
}

#[test]
fn n32f_is_at_a_name_of_the_peer_and_at_a_port() {
    let rule =
        refused(|order| changed(order, |answer| answer.sender_n32f_fqdn = Some(THIRD.fqdn())));
    assert_eq!(rule, Rule::N32fAddress);
    for port in [0, 65_536, u64::MAX] {
        let rule = refused(|order| {
            changed(order, |answer| answer.sender_n32f_port_list = Some(vec![443, port]))
        });
        assert_eq!(rule, Rule::N32fAddress, "{port}");
    }
    let (mut machine, order, now) = begun();
    let name: Fqdn = "n32f.5gc.mnc001.mcc001.3gppnetwork.org".parse().unwrap();
    let reply = changed(&order, |answer| answer.sender_n32f_fqdn = Some(name.clone()));
    machine.answered(now, order.number, Ok(reply));
    assert_eq!(machine.established().unwrap().n32f_fqdn, name);
}

#[test]
fn another_capability_than_tls_is_a_clean_failure() {
    for chosen in ["PRINS", "NONE", "ALS"] {
        let (mut machine, order, now) = begun();
        let chosen = SecurityCapability::from(chosen);
        let reply = changed(&order, |answer| answer.selected_sec_capability = chosen.clone());
        machine.answered(now, order.number, Ok(reply));
        assert_eq!(*failure(&machine), Failure::Capability(chosen));
    }
}

#[test]
fn a_malformed_answer_is_a_clean_failure() {
    let long = vec![b'['; 1 << 20];
    for body in [&b""[..], b"{", b"[]", b"{\"sender\":1}", &long] {
        let (mut machine, order, now) = begun();
        let reply = VISITED.reply(StatusCode::OK, body.to_vec());
        machine.answered(now, order.number, Ok(reply));
        assert!(matches!(*failure(&machine), Failure::Answer(_)));
        assert!(machine.next().unwrap() > now);
    }
}

#[test]
fn a_refusal_states_the_reason_in_a_line_and_when_to_retry() {
    let (mut machine, order, now) = begun();
    let body = json!({"title": "a\nb", "cause": "NF_CONGESTION", "detail": "x".repeat(1 << 20)});
    let mut reply = VISITED.reply(StatusCode::SERVICE_UNAVAILABLE, body.to_string().into());
    reply.headers.insert(RETRY_AFTER, "30".parse().unwrap());
    machine.answered(now, order.number, Ok(reply));
    assert_eq!(machine.next(), Some(now + 30 * SECOND));
    let text = failure(&machine).to_string();
    assert!(text.starts_with("the peer refused N32-c with 503: NF_CONGESTION, a b, xxx"), "{text}");
    assert!(text.len() < 300);
    for (status, words) in [
        (
            StatusCode::MISDIRECTED_REQUEST,
            "the peer refused N32-c with 421, without a reason; check that its `address`",
        ),
        (
            StatusCode::FORBIDDEN,
            "the peer refused N32-c with 403, without a reason; its log has the reason",
        ),
    ] {
        let (mut machine, order, now) = begun();
        machine.answered(now, order.number, Ok(VISITED.reply(status, Vec::new())));
        let text = failure(&machine).to_string();
        assert!(text.starts_with(words), "{text}");
    }
}

#[test]
fn purposes_that_the_peer_rejects_are_none_of_the_association() {
    let roaming = || Some(vec![N32Purpose::Roaming.into()]);
    let rule = refused(|order| {
        changed(order, |answer| {
            answer.allowed_usage_purpose = None;
            answer.rejected_usage_purpose = roaming();
        })
    });
    assert_eq!(rule, Rule::Purpose);
    let rule = refused(|order| {
        changed(order, |answer| {
            answer.allowed_usage_purpose = Some(vec![N32Purpose::SmsInterconnect.into()]);
        })
    });
    assert_eq!(rule, Rule::Purpose);
    let now = Instant::now();
    let purposes = vec![N32Purpose::Roaming, N32Purpose::SmsInterconnect];
    let mut machine = HOME.machine(PeerSettings { purposes, ..VISITED.peer() }, now);
    let order = machine.begin(now).unwrap();
    let reply = changed(&order, |answer| {
        answer.allowed_usage_purpose = None;
        answer.rejected_usage_purpose = roaming();
    });
    machine.answered(now, order.number, Ok(reply));
    let agreed = machine.established().unwrap().purposes.clone();
    assert_eq!(agreed, Some(BTreeSet::from([N32Purpose::SmsInterconnect])));
}

fn redirection(location: &str) -> Reply {
    let mut reply = VISITED.reply(StatusCode::TEMPORARY_REDIRECT, b"{}".to_vec());
    reply.headers.insert(LOCATION, location.parse().unwrap());
    reply
}

#[test]
fn a_redirection_leads_to_another_sepp_of_the_peer() {
    let other: Fqdn = "sepp9.5gc.mnc001.mcc001.3gppnetwork.org".parse().unwrap();
    let location = format!("https://{other}:7443/n32c-handshake/v1/exchange-capability");
    let by_name = json!({"seppFqdnForDiscovery": other});
    let by_uri = json!({"targetSepp": format!("https://{other}")});
    let by_body =
        |body: Value| VISITED.reply(StatusCode::TEMPORARY_REDIRECT, body.to_string().into());
    for (reply, port) in
        [(redirection(&location), Some(7443)), (by_body(by_name), None), (by_body(by_uri), None)]
    {
        let (mut machine, order, now) = begun();
        let outcome = machine.answered(now, order.number, Ok(reply));
        let Outcome::Redirected(next) = outcome else { panic!("{outcome:?}") };
        assert_eq!(next.to, Target { fqdn: other.clone(), port });
        assert_eq!(next.request, order.request);
        // The other SEPP sends its own name; the association is with the configured peer.
        let mut reply = changed(&next, |answer| answer.sender = other.clone());
        reply.identity.fqdns = vec![other.clone()];
        assert_eq!(machine.answered(now, next.number, Ok(reply)), Outcome::Established);
        let association = machine.established().unwrap();
        assert_eq!(association.peer, VISITED.fqdn());
        assert_eq!(association.certificate.fqdns, std::slice::from_ref(&other));
    }
}

#[test]
fn a_redirection_leads_nowhere_else() {
    for location in [
        format!("https://{}/n32c-handshake/v1/exchange-capability", THIRD.name),
        "http://sepp9.5gc.mnc001.mcc001.3gppnetwork.org/".to_owned(),
        "https://192.0.2.1/".to_owned(),
        "https://[2001:db8::1]/".to_owned(),
        "https://sepp9.5gc.mnc001.mcc001.3gppnetwork.org.example/".to_owned(),
        format!("https://{}/", VISITED.name),
        "/n32c-handshake/v1/exchange-capability".to_owned(),
        "::".to_owned(),
    ] {
        let (mut machine, order, now) = begun();
        machine.answered(now, order.number, Ok(redirection(&location)));
        assert!(matches!(*failure(&machine), Failure::Redirection(_)), "{location}");
    }
    let (mut machine, order, now) = begun();
    let reply = VISITED.reply(StatusCode::TEMPORARY_REDIRECT, Vec::new());
    machine.answered(now, order.number, Ok(reply));
    assert!(matches!(*failure(&machine), Failure::Redirection(_)));
}

#[test]
fn redirections_end() {
    let (mut machine, mut order, now) = begun();
    let mut hops = 0;
    loop {
        let next = format!("https://sepp1{hops}.5gc.mnc001.mcc001.3gppnetwork.org/");
        let mut reply = redirection(&next);
        reply.identity.fqdns = vec![order.to.fqdn.clone()];
        match machine.answered(now, order.number, Ok(reply)) {
            Outcome::Redirected(next) => order = *next,
            outcome => break assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}"),
        }
        hops += 1;
    }
    assert_eq!(hops, 3);
}

#[test]
fn a_redirection_by_someone_else_is_none() {
    let rule = refused(|_| {
        let mut reply = redirection("https://sepp9.5gc.mnc001.mcc001.3gppnetwork.org/");
        reply.identity = THIRD.identity();
        reply
    });
    assert_eq!(rule, Rule::Sender);
}

#[test]
fn failures_are_tried_again_later_and_later() {
    let (mut machine, mut order, mut now) = begun();
    let mut waits = Vec::new();
    for _ in 0..12 {
        let error = Err(TransportError::TimedOut);
        assert!(matches!(machine.answered(now, order.number, error), Outcome::Failed(_)));
        let next = machine.next().unwrap();
        waits.push(next - now);
        assert!(machine.begin(now).is_none(), "too early");
        now = next;
        order = machine.begin(now).unwrap();
    }
    assert!(waits[0] <= SECOND && waits[11] >= 30 * SECOND && waits[11] <= 60 * SECOND);
}

#[test]
fn an_answer_that_comes_after_its_time_counts_no_more() {
    let (mut machine, order, now) = begun();
    let answer = VISITED.ok(&VISITED.answer(&order.request));
    machine.answered(now, order.number, Err(TransportError::TimedOut));
    assert_eq!(machine.answered(now, order.number, answer), Outcome::Stale);
    assert_eq!(machine.state().as_str(), "exception");
}
