//! JSON Patches and changes, judged where their values end.

use bytes::Bytes;
use tessera_sepp::guard::Rule;

use crate::ANY_MEMBER;
use crate::message::{OWN, guard, incoming, passes, request, rule, with};

#[test]
fn a_merge_patch_is_of_an_object() {
    let patch = |list: &str| {
        rule(&format!(
            "PATCH /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\
             content-type: application/merge-patch+json\n\n{list}"
        ))
    };
    assert_eq!([patch(r#"{"guami":null}"#), patch("[]")], [None, Some(Rule::Malformed)]);
}

#[test]
fn copies_of_copies_are_bounded() {
    let long = "x".repeat(100_000);
    let copy = r#"{"op":"copy","from":"/load","path":"/load"}"#;
    let copies = vec![copy; 20].join(",");
    let text = format!(
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{{\"op\":\"add\",\"path\":\"/load\",\"value\":\"{long}\"}},{copies}]"
    );
    assert_eq!(rule(&text), Some(Rule::Malformed));
}

#[test]
fn a_patch_is_judged_where_its_values_end() {
    let patch = |operations: &str| {
        rule(&format!(
            "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n[{operations}]"
        ))
    };
    let here = "http://amf.5gc.mnc001.mcc001.3gppnetwork.org/x";
    let add =
        |path: &str, value: &str| format!(r#"{{"op":"add","path":"{path}","value":{value}}}"#);
    let to = |op: &str, from: &str, path: &str| {
        format!(r#"{{"op":"{op}","from":"{from}","path":"{path}"}}"#)
    };
    let both = |uri: &str| format!("\"{uri}\"");
    assert_eq!(patch(&add("/nfStatusNotificationUri", &both(here))), None);
    assert_eq!(patch(&add("/nfStatusNotificationUri", &both(OWN))), Some(Rule::CallbackUri));
    for op in ["copy", "move"] {
        // What the patch placed, whole or in part, directly or through a third place.
        for (put, from) in [
            (add("/validityTime", &both(OWN)), "/validityTime"),
            (add("/load", &format!("{{\"priority\":{}}}", both(OWN))), "/load/priority"),
            (add("/load", &format!("[{}]", both(OWN))), "/load/0"),
            (add("/load/-", &both(OWN)), "/load/3"),
        ] {
            let direct = format!("{put},{}", to(op, from, "/nfStatusNotificationUri"));
            assert!(patch(&direct).is_some(), "{direct}");
            let by_third = format!(
                "{put},{},{}",
                to(op, from, "/locality"),
                to(op, "/locality", "/nfStatusNotificationUri")
            );
            assert!(patch(&by_third).is_some(), "{by_third}");
        }
        let whole =
            format!("{},{}", add("/load/mcc", "\"208\""), to(op, "/load", "/reqPlmnList/0"));
        assert!(patch(&whole).is_some(), "{whole}");
        let unseen = to(op, "/locality", "/nfStatusNotificationUri");
        assert_eq!(patch(&unseen), Some(Rule::Malformed));
        let posted = format!(
            "POST /nnrf-nfm/v1/subscriptions\ncontent-type: application/json-patch+json\n\n[{unseen}]"
        );
        assert_eq!(rule(&posted), Some(Rule::Malformed));
        assert_eq!(patch(&to(op, "/locality", "/load")), None);
        // It overwrites what the patch placed there.
        let covered = format!(
            "{},{},{}",
            add("/locality", &both(here)),
            to(op, "/load", "/locality"),
            to(op, "/locality", "/nfStatusNotificationUri")
        );
        assert_eq!(patch(&covered), Some(Rule::Malformed), "{covered}");
        let honest = format!(
            "{},{}",
            add("/locality", &both(here)),
            to(op, "/locality", "/nfStatusNotificationUri")
        );
        assert_eq!(patch(&honest), None);
        // An item of a list, and a member with another name than what the patch placed.
        let item = format!(
            "{},{}",
            add("/load", &format!("[{}]", both(here))),
            to(op, "/load/0", "/nfStatusNotificationUri")
        );
        assert_eq!(patch(&item), None);
        // The items after a removed one have other indices.
        let shifted = format!(
            "{},{{\"op\":\"remove\",\"path\":\"/load/0\"}},{}",
            add("/load/1", &format!("{{\"priority\":{}}}", both(here))),
            to(op, "/load/1/priority", "/nfStatusNotificationUri")
        );
        assert_eq!(patch(&shifted), Some(Rule::Malformed));
        let not_an_index = format!(
            "{},{}",
            add("/load", &format!("[{}]", both(here))),
            to(op, "/load/x", "/nfStatusNotificationUri")
        );
        assert_eq!(patch(&not_an_index), Some(Rule::Malformed));
        let member = format!(
            "{},{}",
            add("/load", &format!("{{\"priority\":{}}}", both(here))),
            to(op, "/load/priority", "/nfStatusNotificationUri")
        );
        assert_eq!(patch(&member), None);
        let beside = format!(
            "{},{},{}",
            add("/load/0", &both("http://nrf.5gc.mnc070.mcc999.3gppnetwork.org")),
            add("/load/x", &both(here)),
            to(op, "/load/x", "/nfStatusNotificationUri")
        );
        assert_eq!(patch(&beside), None);
    }
    for bad in [
        r#"{"op":"add","path":"nfStatus","value":1}"#,
        r#"{"op":"add","path":"/nfStatus/","value":1}"#,
        r#"{"op":"eval","path":"/nfStatus","value":1}"#,
        r#"{"op":"add","op":"copy","path":"/nfStatus","value":1}"#,
        r#"{"path":"/nfStatus","value":1}"#,
        r#"{"op":"add","value":1}"#,
        "1",
    ] {
        assert!(patch(bad).is_some(), "{bad}");
    }
    let many = vec![add("/load", "1"); 1_000].join(",");
    assert_eq!(patch(&many), Some(Rule::Malformed));
}

#[test]
fn changes_in_a_notification_are_judged_where_they_are() {
    let change = |path: &str| {
        rule(&format!(
            "POST /namf-callback/v1/x\n\n{{\"notifyItems\":[{{\"resourceId\":\"imsi-001010000000001\",\"changes\":[\
             {{\"newValue\":\"{OWN}\",\"op\":\"REPLACE\",\"path\":\"{path}\"}}]}}]}}"
        ))
    };
    assert_eq!(change("/callbackReference"), Some(Rule::CallbackUri));
}

#[test]
fn a_list_of_changes_is_judged_as_one_whatever_its_type() {
    let guard = guard("");
    let judged = |kind: &str, content: &str| {
        let (mut parts, _) =
            request("PATCH /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access");
        parts.headers.insert("content-type", kind.parse().unwrap());
        let mut body = Bytes::copy_from_slice(content.as_bytes());
        with(|context| guard.incoming_request(context, &mut parts, Some(&mut body)))
            .map_err(|refusal| refusal.rule)
    };
    let merge = "application/merge-patch+json";
    assert!(judged(merge, r#"{"purgeFlag":true}"#).is_ok());
    assert!(judged("application/json", r#"{"purgeFlag":true}"#).is_ok());
    let list = r#"[{"op":"copy","from":"/pei","path":"/guami"}]"#;
    assert_eq!(judged(merge, list).err(), Some(Rule::Malformed));
    assert_eq!(judged("application/json", list).err(), Some(Rule::Malformed));
}

#[test]
fn a_member_that_no_change_has_is_refused_from_a_peer_and_dropped_otherwise() {
    let text = "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
                [{\"op\":\"remove\",\"path\":\"/load\",\"noMember\":1}]";
    assert_eq!(rule(text), Some(Rule::UnknownMember));
    let (mut parts, mut body) = request(text);
    let guard = guard("");
    passes(with(|context| guard.outgoing_request(context, &mut parts, Some(&mut body))));
    assert_eq!(body, r#"[{"op":"remove","path":"/load"}]"#);
}

#[test]
fn a_pointer_has_no_sign_and_a_bounded_length() {
    let to = |pointer: &str| {
        rule(&format!(
            "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
             [{{\"op\":\"remove\",\"path\":\"{pointer}\"}}]"
        ))
    };
    let long = |len: usize| format!("/load/{}", "1".repeat(len - "/load/".len()));
    assert_eq!([to("/load/1"), to("/load/-"), to(&long(1024))], [None; 3]);
    // Some readers count `-1` from the end, and read `+0` as 0.
    for pointer in ["/load/-1", "/load/+0", &long(1025)] {
        assert_eq!(to(pointer), Some(Rule::Malformed), "{pointer}");
    }
}

/// One notification has the changes of several resources.
#[test]
fn lists_of_changes_follow_each_other() {
    let change = r#"{"op":"REPLACE","path":"/gpsis","newValue":["msisdn-1"]}"#;
    let item = |id: &str| format!(r#"{{"resourceId":"{id}","changes":[{change}]}}"#);
    passes(incoming(
        &guard(""),
        &format!(
            "POST /namf-callback/v1/sdm-notify\n\n{{\"notifyItems\":[{},{}]}}",
            item("am-data"),
            item("sm-data")
        ),
    ));
}

#[test]
fn a_value_with_a_name_of_the_parsers_own_can_not_be_followed() {
    let judged = incoming(
        &guard(ANY_MEMBER),
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"add\",\"path\":\"/load\",\"value\":{\"$serde_json::private::RawValue\":\"1\"}}]",
    );
    assert_eq!(judged.map_err(|refusal| refusal.rule).err(), Some(Rule::Malformed));
}

/// Go's encoding/json ignores case, and takes `Value` for the value.
#[test]
fn members_of_an_operation_have_their_own_spelling() {
    let changes = |operation: &str| {
        [
            format!("PATCH /nnrf-nfm/v1/subscriptions/1\n\n[{operation}]"),
            format!("POST /nnrf-nfm/v1/nf-status-notify\n\n{{\"profileChanges\":[{operation}]}}"),
        ]
    };
    for members in [
        r#""op":"replace","path":"/reqNfFqdn","Value":"x""#,
        r#""op":"replace","path":"/reqPlmnList","VALUE":[{"mcc":"999","mnc":"70"}]"#,
        r#""op":"copy","path":"/nfStatusNotificationUri","From":"/validityTime""#,
        r#""op":"REPLACE","path":"/fqdn","newvalue":"x""#,
        r#""op":"REPLACE","path":"/fqdn","new_Value":"x""#,
        r#""Op":"remove","op":"remove","path":"/fqdn""#,
        r#""op":"remove","path":"/locality","PATH":"/fqdn""#,
    ] {
        for text in changes(&format!("{{{members}}}")) {
            assert_eq!(rule(&text), Some(Rule::Malformed), "{members}");
        }
    }
}

/// They are left out of profiles, too.
#[test]
fn changes_of_addresses_are_left_out() {
    let change =
        |path: &str| format!(r#"{{"op":"REPLACE","path":"{path}","newValue":"10.0.0.9"}}"#);
    let (first, last) =
        (change("/ipv4Addresses/0"), change("/nfServices/0/ipEndPoints/0/ipv4Address"));
    let kept = r#"{"op":"REPLACE","path":"/load","newValue":5}"#;
    for (changes, expected) in [
        (format!("{first},{kept},{last}"), kept),
        (format!("{kept},{last},{first}"), kept),
        (first.clone(), ""),
    ] {
        let text =
            format!("POST /nnrf-nfm/v1/nf-status-notify\n\n{{\"profileChanges\":[{changes}]}}");
        let (mut parts, mut body) = request(&text);
        let guard = guard("");
        passes(with(|context| guard.incoming_request(context, &mut parts, Some(&mut body))));
        assert_eq!(body, format!("{{\"profileChanges\":[{expected}]}}"), "{changes}");
        let (mut parts, mut body) = request(&text);
        passes(with(|context| guard.outgoing_request(context, &mut parts, Some(&mut body))));
        assert_eq!(body, format!("{{\"profileChanges\":[{expected}]}}"), "{changes}");
        // A network that hides nothing shows its own.
        let (mut parts, mut body) = request(&text);
        let open = crate::message::guard("[peer.visited.guard]\nhide-topology = false");
        passes(with(|context| open.outgoing_request(context, &mut parts, Some(&mut body))));
        assert_eq!(body, format!("{{\"profileChanges\":[{changes}]}}"));
    }
    let copy = r#"{"op":"copy","path":"/locality","from":"/ipv4Addresses/0"}"#;
    let text = format!("PATCH /nnrf-nfm/v1/subscriptions/1\n\n[{copy}]");
    assert_eq!(rule(&text), Some(Rule::Target));
}

/// Where any network may be named.
#[test]
fn codes_of_networks_go_on_as_they_were() {
    for value in [r#"["70","71"]"#, "null", r#""70""#] {
        let text = format!(
            "PATCH /nnrf-nfm/v1/subscriptions/1\n\n\
             [{{\"op\":\"replace\",\"path\":\"/allowedPlmns/0/mnc\",\"value\":{value}}}]"
        );
        let (mut parts, mut body) = request(&text);
        let sent = body.clone();
        let guard = guard(ANY_MEMBER);
        passes(with(|it| guard.incoming_request(it, &mut parts, Some(&mut body))));
        assert_eq!(body, sent);
    }
}

/// serde_json replaces an object with this name by the text in it.
#[test]
fn a_complex_query_has_no_text_that_becomes_an_object() {
    let hidden = "x.hidden.5gc.mnc070.mcc999.3gppnetwork.org";
    let raw = r#"{"$serde_json::private::RawValue":"{\"attr\":\"requester-plmn-list\",\"value\":[{\"mcc\":\"999\",\"mnc\":\"70\"}]}"}"#;
    let atom = format!(r#"{{"attr":"target-nf-fqdn","value":"{hidden}"}}"#);
    let query = format!(r#"{{"cnfUnits":[{{"cnfUnit":[{raw},{atom}]}}]}}"#);
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let text = format!("GET /nnrf-disc/v1/nf-instances?complex-query={encoded}");
    let judged = incoming(&guard(ANY_MEMBER), &text).map_err(|refusal| refusal.rule);
    assert_eq!(judged, Err(Rule::Malformed));
}

#[test]
fn a_complex_query_has_no_other_within() {
    let inner = r#"{"cnfUnits":[]}"#;
    let atom = format!(r#"{{"attr":"complex-query","value":{inner}}}"#);
    let query = format!(r#"{{"cnfUnits":[{{"cnfUnit":[{atom}]}}]}}"#);
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let text = format!("GET /nnrf-disc/v1/nf-instances?complex-query={encoded}");
    assert_eq!(rule(&text), Some(Rule::Malformed));
}
