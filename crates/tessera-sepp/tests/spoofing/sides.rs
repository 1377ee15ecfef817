//! Whose networks and functions a place may name: one end's, both ends', or any.

use tessera_sepp::guard::Rule;

use crate::ANY_MEMBER;
use crate::corpus::{Case, case};
use crate::message::{
    guard, incoming, incoming_answer, outgoing, outgoing_answer, passes, request, with,
};

pub const REQUESTS: &[Case] = &[
    case(
        "a subscriber without the kind of its number",
        Rule::UeIdentity,
        "POST /nudm-sdm/v2/x/y\n\n{\"supi\":\"208930000000001\"}",
    ),
    case(
        "a sender's SEPP that is the receiver's",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-nf-peer-info: srcsepp=sepp.5gc.mnc070.mcc999.3gppnetwork.org",
    ),
    case(
        "a receiver's SEPP that is the sender's",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-nf-peer-info: dstsepp=sepp.5gc.mnc001.mcc001.3gppnetwork.org",
    ),
    case(
        "an address in a header of 3GPP's",
        Rule::CallbackUri,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-message-priority: http://10.0.0.1/x",
    ),
    case(
        "a token for a third network, for a proxy",
        Rule::PlmnInToken,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-access-token: Bearer \
         eyJhbGciOiJFUzI1NiJ9.eyJjb25zdW1lclBsbW5JZCI6eyJtY2MiOiIyMDgiLCJtbmMiOiI5MyJ9fQ.c2ln",
    ),
    case(
        "a subscription at an NRF for the receiver's AMF",
        Rule::PlmnInJson,
        "POST /nnrf-nfm/v1/subscriptions\n\n{\"guami\":{\"plmnId\":{\"mcc\":\"999\",\"mnc\":\"70\"}}}",
    ),
    case(
        "the receiver's AMF asks, in a query",
        Rule::PlmnInQuery,
        "GET /nudm-sdm/v2/x?guami=%7B%22plmnId%22:%7B%22mcc%22:%22999%22,%22mnc%22:%2270%22%7D%7D",
    ),
];

pub const ANSWERS: &[(&str, Option<Rule>, &str, &str, &str)] = &[
    (
        "a found function below a prefix",
        None,
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"nfServices":[{"apiPrefix":"/north-1"}]}]}"#,
    ),
    (
        "a context that stays at the own SMF",
        None,
        "/namf-comm/v1/ue-contexts/x",
        "",
        r#"{"hsmfPduSessionUri":"http://smf.5gc.mnc070.mcc999.3gppnetwork.org/nsmf-pdusession/v1/x"}"#,
    ),
    (
        "a session at the own SMF",
        Some(Rule::CallbackUri),
        "/nsmf-pdusession/v1/pdu-sessions",
        "",
        r#"{"hsmfPduSessionUri":"http://smf.5gc.mnc070.mcc999.3gppnetwork.org/x"}"#,
    ),
    (
        "an address to call back, where own ones are hidden",
        Some(Rule::CallbackUri),
        "/nudm-sdm/v2/x/sdm-subscriptions",
        "",
        r#"{"callbackReference":"http://10.45.0.5:7777/namf-callback/v1/sdm"}"#,
    ),
    ("a word that begins as a URI does", None, "/nudm-sdm/v2/x", "", r#"{"vendorId":"http: no"}"#),
    (
        "an address that a function could repeat",
        Some(Rule::CallbackUri),
        "/nudm-sdm/v2/x",
        "",
        r#"{"vendorId":"http://10.0.0.1/"}"#,
    ),
    (
        "an address to call",
        Some(Rule::CallbackUri),
        "/nudm-sdm/v2/x",
        "",
        r#"{"href":"http://10.0.0.1/"}"#,
    ),
    ("a place without a path", Some(Rule::CallbackUri), "/nudm-sdm/v2/x", "location: ?x", ""),
    (
        "a place with a third's in its query",
        Some(Rule::CallbackUri),
        "/nudm-sdm/v2/x",
        "location: https://udm.5gc.mnc001.mcc001.3gppnetwork.org/x?to=http://udm.example/",
        "",
    ),
];

#[test]
fn an_own_function_may_send_what_a_peer_may_not() {
    let guard = guard("[peer.visited.guard]\nhide-topology = false");
    passes(outgoing(
        &guard,
        "POST /nudm-sdm/v2/imsi-001010000000001/x\n\n{\"vendorId\":\"http: no\"}",
    ));
    passes(outgoing(
        &guard,
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"add\",\"path\":\"/nfProfile/ipv4Addresses\",\"value\":[\"10.0.0.1\"]}]",
    ));
    let body = r#"{"href":"http://10.0.0.1/"}"#;
    assert_eq!(outgoing_answer(&guard, "/nudm-sdm/v2/x", "", body).as_deref(), Ok(body));
    let refused = incoming_answer(&guard, "/nudm-sdm/v2/x", "", body);
    assert_eq!(refused.unwrap_err().rule, Rule::CallbackUri);
}

/// A reader of parts must not find other text than the judged one.
#[test]
fn a_part_goes_on_as_it_was_read() {
    let guard = guard(ANY_MEMBER);
    let (mut parts, mut body) = request(
        "POST /namf-comm/v1/ue-contexts/x/n1-n2-messages\ncontent-type: multipart/related; boundary=b\n\n\
         --b\r\ncontent-type: application/json; charset=utf-8\r\n\r\n{\"x\" : \"\\u0041\"}\r\n--b--",
    );
    passes(with(|context| guard.incoming_request(context, &mut parts, Some(&mut body))));
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.contains("\r\n\r\n{\"x\":\"A\"}\r\n"), "{body}");
    assert!(body.to_lowercase().contains("content-type: application/json\r\n"), "{body}");
}

#[test]
fn a_refusal_reports_the_senders_network_as_the_allowed_one() {
    let judged = incoming(
        &guard(ANY_MEMBER),
        "GET /nudm-sdm/v2/x\n3gpp-sbi-nrf-uri: nnrf-disc: http://udr.5gc.mnc070.mcc999.3gppnetwork.org/x",
    );
    assert_eq!(judged.unwrap_err().allowed.to_string(), "001-01");
}

/// The path may be one that a peer chose for its notifications.
#[test]
fn addresses_are_hidden_whatever_the_path() {
    let guard = guard("");
    let body = r#"{"ipv4Addresses":["10.0.0.1"]}"#;
    for asked in ["/nnrf-disc/v1/nf-instances", "/notified", "/nsmf-pdusession/v1/pdu-sessions"] {
        let left = outgoing_answer(&guard, asked, "", body).unwrap();
        assert!(!left.contains("10.0.0.1") && left.contains("\"fqdn\""), "{asked}: {left}");
    }
    let named = r#"{"fqdn":"udm1.5gc.mnc070.mcc999.3gppnetwork.org","ipv4Addresses":["10.0.0.1"]}"#;
    let left = outgoing_answer(&guard, "/nnrf-disc/v1/nf-instances", "", named).unwrap();
    assert_eq!((left.matches("fqdn").count(), left.contains("10.0.0.1")), (1, false), "{left}");
}

/// A value that a list of changes places is kept until its end.
#[test]
fn a_json_patch_with_large_or_deep_values_is_malformed() {
    let judged = |changes: &[String]| {
        let changes = changes.join(",");
        let text = format!(
            "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\ncontent-type: application/json-patch+json\n\n[{changes}]"
        );
        incoming(&guard(ANY_MEMBER), &text).err().map(|refusal| refusal.rule)
    };
    let put = |len: usize| {
        let value = "x".repeat(len);
        vec![format!(r#"{{"op":"add","path":"/dnn","value":"{value}"}}"#); 2]
    };
    assert_eq!([judged(&put(250_000)), judged(&put(270_000))], [None, Some(Rule::Malformed)]);
    let copied = |tokens: usize| {
        let (deep, to) = ("/a".repeat(20), "/b".repeat(tokens));
        judged(&[
            format!(r#"{{"op":"add","path":"{deep}","value":1}}"#),
            format!(r#"{{"op":"copy","from":"/a","path":"{to}"}}"#),
        ])
    };
    assert_eq!([copied(13), copied(20)], [None, Some(Rule::Malformed)]);
}

#[test]
fn a_body_without_a_type_is_looked_into_where_types_are_only_logged() {
    let guard = guard("[guard]\nlog-only = [\"content-type\"]");
    let of = |kind: &'static str| {
        let value = http::HeaderValue::from_static(kind);
        http::HeaderMap::from_iter([(http::header::CONTENT_TYPE, value)])
    };
    assert!(guard.inspects(&http::HeaderMap::new()) && guard.inspects(&of("application/json")));
    assert!(!guard.inspects(&of("text/plain")));
}

#[test]
fn an_own_functions_callback_comes_back_where_nothing_is_hidden() {
    let guard = guard("[peer.visited.guard]\nhide-topology = false");
    let body = r#"{"callbackReference":"http://10.45.0.5:7777/namf-callback/v1/sdm"}"#;
    let answered = incoming_answer(&guard, "/nudm-sdm/v2/x/sdm-subscriptions", "", body);
    assert_eq!(answered.unwrap(), body);
}

/// The peer would take them for what the home network asserts.
#[test]
fn an_own_functions_answer_names_no_third_network_in_its_headers() {
    let guard = guard("");
    for header in [
        "3gpp-sbi-originating-network-id: 208-93",
        "3gpp-sbi-producer-id: nfinst=1; nfset=set1.udmset.5gc.mnc093.mcc208",
        "3gpp-sbi-binding: bl=nf-set; nfset=set1.udmset.5gc.mnc093.mcc208.3gppnetwork.org",
    ] {
        let refused = outgoing_answer(&guard, "/nudm-sdm/v2/x", header, "").unwrap_err();
        assert_eq!(refused.rule, Rule::PlmnInHeader, "{header}");
        assert_eq!(Some(refused.field), header.split(':').next(), "{header}");
    }
}

#[test]
fn an_scp_in_nf_peer_info_may_belong_to_either_network() {
    for network in ["mnc001.mcc001", "mnc070.mcc999"] {
        passes(incoming(
            &guard(""),
            &format!(
                "GET /nudm-sdm/v2/x\n3gpp-sbi-nf-peer-info: scp=scp.5gc.{network}.3gppnetwork.org"
            ),
        ));
    }
}

/// A home network reports about its own subscribers, at a visited network's function.
#[test]
fn a_notification_of_a_udm_is_about_its_senders_subscribers() {
    let report = |supi: &str| {
        format!(
            "POST /nudm-callback/v1/{supi}/sdm\n\n{{\"notifyItems\":[{{\"resourceId\":\"{supi}/am-data\",\
             \"changes\":[{{\"op\":\"REPLACE\",\"path\":\"/rfspIndex\",\"newValue\":2}}]}}]}}"
        )
    };
    let guard = guard("");
    let own = "imsi-999700000000001";
    let judged = outgoing(&guard, &report(own));
    passes(judged);
    passes(incoming(&guard, &report("imsi-001010000000001")));
    for refused in
        [incoming(&guard, &report(own)), incoming(&guard, &report("imsi-208930000000001"))]
    {
        assert_eq!(refused.unwrap_err().rule, Rule::UeIdentity);
    }
}
