//! What a peer sees of internal names, and how it reaches them.

use bytes::Bytes;
use http::Response;
use tessera_sepp::guard::{Guard, NoGuard, RequestSummary, RevealedTarget, Rule};
use tessera_sepp::names::PlmnSet;

use crate::message::{PEER, configuration, guard, hidden, passes, request, with};

/// Returns a local function's request, as the peer gets it.
fn outgoing(text: &str) -> (http::request::Parts, String) {
    let guard = guard("");
    let (mut parts, mut body) = request(text);
    let verdict = with(|context| guard.outgoing_request(context, &mut parts, Some(&mut body)));
    passes(verdict);
    (parts, String::from_utf8(body.to_vec()).unwrap())
}

/// Returns a local function's answer, as the peer gets it.
fn answered(asked: &str, headers: &[(&str, &str)], body: &str) -> (http::response::Parts, String) {
    let guard = guard("");
    let (question, _) = request(&format!("GET {asked}"));
    let mut answer = Response::builder().header("content-type", "application/json");
    for (name, value) in headers {
        answer = answer.header(*name, *value);
    }
    let (mut parts, ()) = answer.body(()).unwrap().into_parts();
    let mut body = Bytes::copy_from_slice(body.as_bytes());
    let verdict = with(|context| {
        guard.outgoing_response(context, RequestSummary::of(&question), &mut parts, Some(&mut body))
    });
    passes(verdict);
    (parts, String::from_utf8(body.to_vec()).unwrap())
}

#[test]
fn a_callback_to_an_address_comes_back_to_it() {
    let body = r#"{"x":1,"callbackReference":"http://10.45.0.5:7777/namf-callback/v1/sdm","plmnId":{"mcc":"999","mnc":"70"}}"#;
    let (_, sent) =
        outgoing(&format!("POST /nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions\n\n{body}"));
    assert!(!sent.contains("10.45.0.5") && !sent.contains("7777"), "{sent}");
    let name = hidden(&sent);
    assert_eq!(sent.replace(name, "10.45.0.5:7777"), body, "the rest is as it was");

    let guard = guard("");
    let back = format!("POST /namf-callback/v1/sdm\n3gpp-sbi-target-apiroot: http://{name}");
    let (mut parts, _) = request(&back);
    passes(with(|context| guard.incoming_request(context, &mut parts, None)));
    assert_eq!(parts.headers["3gpp-sbi-target-apiroot"], "http://10.45.0.5:7777");
    assert_eq!(parts.extensions.get(), Some(&RevealedTarget));

    // An answer that repeats the subscription has the function's own name again.
    let (question, _) = request("POST /nudm-sdm/v2/x");
    let mut echoed = Bytes::from(sent.clone());
    let answer = Response::builder()
        .header("content-type", "application/json")
        .header("content-length", sent.len());
    let (mut parts, ()) = answer.body(()).unwrap().into_parts();
    passes(with(|context| {
        guard.incoming_response(
            context,
            RequestSummary::of(&question),
            &mut parts,
            Some(&mut echoed),
        )
    }));
    assert_eq!(echoed, body);
    assert_eq!(parts.headers["content-length"], body.len().to_string());
}

#[test]
fn a_hidden_name_is_of_no_use_for_another_peer_or_as_a_callback() {
    let (_, sent) =
        outgoing("POST /nudm-sdm/v2/x/y\n\n{\"callbackReference\":\"http://10.45.0.5/\"}");
    let name = hidden(&sent);
    let more = "[peer.third]\nfqdn = \"sepp.third.org\"\nplmns = [\"208-93\"]\nanchor = \"third\"\naddress = [\"192.0.2.9:1\"]";
    let guard = guard(more);
    let third = "sepp.third.org".parse().unwrap();
    let (mut parts, _) =
        request(&format!("GET /nnrf-disc/v1/x\n3gpp-sbi-target-apiroot: http://{name}"));
    let refusal = with(|context| {
        let context = tessera_sepp::guard::Context { peer: &third, ..*context };
        guard.incoming_request(&context, &mut parts, None)
    });
    assert_eq!(refusal.unwrap_err().rule, Rule::Topology);
    let lie = format!(
        "POST /nudm-sdm/v2/x/y\n\n{{\"callbackReference\":\"http://{name}/nudm-uecm/v1\"}}"
    );
    let (mut parts, mut body) = request(&lie);
    let refusal = with(|context| guard.incoming_request(context, &mut parts, Some(&mut body)));
    assert_eq!(refusal.unwrap_err().rule, Rule::CallbackUri);
}

/// A visited network receives callbacks from its guest's home: it serves, as before.
#[test]
fn a_home_network_that_calls_back_names_the_visited_one() {
    let guard = guard("");
    let text = "POST /nsmf-callback/v1/pdu-session-statuses/1\n\n{\"servingNetwork\":{\"mcc\":\"999\",\"mnc\":\"70\"}}";
    let (mut parts, mut body) = request(text);
    passes(with(|context| guard.incoming_request(context, &mut parts, Some(&mut body))));
}

#[test]
fn a_location_without_a_scheme_and_the_target_of_a_proxy_stay_inside() {
    let guard = guard("");
    let (question, _) = request("POST /nudm-sdm/v2/x/y");
    let judged = |name: &'static str, value: &str| {
        let (mut parts, ()) =
            Response::builder().header(name, value).body(()).unwrap().into_parts();
        let verdict = with(|context| {
            guard.outgoing_response(context, RequestSummary::of(&question), &mut parts, None)
        });
        (verdict.map_err(|refusal| refusal.rule), parts.headers.contains_key(name))
    };
    assert_eq!(judged("location", "//10.0.0.1/x").0, Err(Rule::Topology));
    let target = judged("3gpp-sbi-target-apiroot", "http://10.0.0.1:7777");
    assert_eq!(target, (Ok(Default::default()), false));
}

/// Only a local function's callback URI comes back: the peer chooses the path after a hidden name.
#[test]
fn a_hidden_name_in_an_answer_leads_to_no_own_function() {
    let (_, sent) =
        outgoing("POST /nudm-sdm/v2/x/y\n\n{\"callbackReference\":\"http://10.45.0.5/\"}");
    let name = hidden(&sent);
    let guard = guard("");
    let judged = |asked: &str, body: String| {
        let (question, _) = request(&format!("POST {asked}"));
        let answer = Response::builder().header("content-type", "application/json");
        let (mut parts, ()) = answer.body(()).unwrap().into_parts();
        let verdict = with(|context| {
            guard.incoming_response(
                context,
                RequestSummary::of(&question),
                &mut parts,
                Some(&mut Bytes::from(body)),
            )
        });
        verdict.err().map(|refusal| refusal.rule)
    };
    let asked = "/nausf-auth/v1/ue-authentications";
    let link = format!("{{\"_links\":{{\"5g-aka\":{{\"href\":\"http://{name}/nudr-dr/v2/x\"}}}}}}");
    assert_eq!(judged(asked, link), Some(Rule::CallbackUri));
    for member in ["fqdn", "interPlmnFqdn"] {
        let found = format!("{{\"nfInstances\":[{{\"{member}\":\"{name}\"}}]}}");
        assert_eq!(judged("/nnrf-disc/v1/nf-instances", found), Some(Rule::Target), "{member}");
    }
    let found = format!(
        "{{\"nfInstances\":[{{\"defaultNotificationSubscriptions\":[{{\"callbackUri\":\"http://{name}/\"}}]}}]}}"
    );
    assert_eq!(judged("/nnrf-disc/v1/nf-instances", found), Some(Rule::CallbackUri));
}

#[test]
fn headers_reveal_nothing_of_the_inside() {
    let (parts, _) = outgoing(
        "GET /nnrf-disc/v1/nf-instances\nvia: 2.0 scp1.internal\nuser-agent: AMF-7c1ad2c4 amf1.internal\n\
         3gpp-sbi-nf-peer-info: srcinst=7c1ad2c4\nx-forwarded-for: 10.0.0.1\naccept-encoding: gzip\naccept: application/json",
    );
    let names: Vec<_> = parts.headers.keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(parts.headers.contains_key("accept"));
    assert_eq!(parts.headers["user-agent"], "AMF");

    let link = r#"{"authType":"5G_AKA","_links":{"5g-aka":{"href":"http:\/\/10.0.0.7:7777\/nausf-auth\/v1\/ue-authentications\/1"}}}"#;
    let headers = [
        ("server", "Open5GS v2.8.0"),
        ("via", "2.0 scp1.internal"),
        (
            "location",
            "http://ausf1.5gc.mnc070.mcc999.3gppnetwork.org:7777/nausf-auth/v1/ue-authentications/1",
        ),
    ];
    let (parts, body) = answered("/nausf-auth/v1/ue-authentications", &headers, link);
    assert!(!parts.headers.contains_key("server") && !parts.headers.contains_key("via"));
    let location = parts.headers["location"].to_str().unwrap();
    assert!(
        location.ends_with(".3gppnetwork.org/nausf-auth/v1/ue-authentications/1"),
        "{location}"
    );
    assert!(!location.contains("ausf1") && !location.contains("7777"), "{location}");
    assert!(!body.contains("10.0.0.7"), "behind escapes too: {body}");
    hidden(&body);
}

#[test]
fn found_functions_have_names_and_no_addresses() {
    let profile = r#"{"nfInstances":[{"nfInstanceId":"a","nfType":"AUSF","plmnList":[{"mcc":"999","mnc":"70"}],
        "ipv4Addresses":["10.0.0.7"],"interPlmnFqdn":"ausf.5gc.mnc070.mcc999.3gppnetwork.org",
        "nfServices":[{"serviceName":"nausf-auth","ipEndPoints":[{"ipv4Address":"10.0.0.7","port":7777}]}]},
        {"fqdn":"udm1.5gc.mnc070.mcc999.3gppnetwork.org"}]}"#;
    let (_, body) = answered("/nnrf-disc/v1/nf-instances", &[], profile);
    let value: serde_json::Value = serde_json::from_str(&body).unwrap();
    let [found, other] = [0, 1].map(|index| value["nfInstances"][index].clone());
    assert!(!body.contains("10.0.0.7") && !body.contains("udm1"), "{body}");
    assert_eq!(found["interPlmnFqdn"], "ausf.5gc.mnc070.mcc999.3gppnetwork.org");
    assert_eq!(found["nfServices"][0]["ipEndPoints"][0]["port"], 7777);
    let name = found["nfServices"][0]["fqdn"].as_str().unwrap();
    assert!(other["fqdn"].as_str().unwrap().contains(".hidden."));

    let guard = guard("");
    let (mut parts, _) =
        request(&format!("GET /nausf-auth/v1/x\n3gpp-sbi-target-apiroot: http://{name}:7777"));
    passes(with(|context| guard.incoming_request(context, &mut parts, None)));
    assert_eq!(parts.headers["3gpp-sbi-target-apiroot"], "http://10.0.0.7:7777");
}

/// A path that the function's server decodes is the same service.
#[test]
fn an_encoded_service_hides_addresses_too() {
    let profile = r#"{"nfInstances":[{"nfInstanceId":"a","ipv4Addresses":["10.0.0.7"]}]}"#;
    let (_, body) = answered("/nnrf%2Ddisc/v1/nf-instances", &[], profile);
    assert!(!body.contains("10.0.0.7"), "{body}");
    hidden(&body);
}

#[test]
fn a_second_location_does_not_pass_as_it_is() {
    let guard = guard("");
    let (question, _) = request("POST /nudm-sdm/v2/x/y");
    let answer = Response::builder()
        .header("location", "http://10.0.0.7/nudm-sdm/v2/x/y/1")
        .header("location", "http://10.0.0.8/nudm-sdm/v2/x/y/1");
    let (mut parts, ()) = answer.body(()).unwrap().into_parts();
    let judged = with(|context| {
        guard.outgoing_response(context, RequestSummary::of(&question), &mut parts, None)
    });
    assert_eq!(judged.unwrap_err().rule, Rule::Topology);
}

/// A local function follows redirections: they must not lead where the peer itself can't go.
#[test]
fn a_peer_redirects_into_its_own_network_alone() {
    let guard = guard("");
    let (question, _) = request("POST /nudm-sdm/v2/x/y");
    let judged = |status: u16, location: &str| {
        let answer = Response::builder().status(status).header("location", location);
        let (mut parts, ()) = answer.body(()).unwrap().into_parts();
        with(|context| {
            guard.incoming_response(context, RequestSummary::of(&question), &mut parts, None)
        })
    };
    for location in [
        "http://nrf.5gc.mnc070.mcc999.3gppnetwork.org/nnrf-nfm/v1/nf-instances/a",
        "http://nrf.5gc.mnc093.mcc208.3gppnetwork.org/x",
        "http://10.0.0.1:2379/v3/kv/put",
        "https://[::1]/",
        "http://etcd.internal/",
        "http://udm.5gc.mnc001.mcc001.3gppnetwork.org@etcd.internal/",
        "//etcd.internal/x",
        "/\\etcd.internal/x",
        "etcd",
    ] {
        for status in [301, 302, 303, 307, 308] {
            let refusal = judged(status, location).unwrap_err();
            assert_eq!(refusal.rule, Rule::CallbackUri, "{status} {location}");
        }
    }
    for location in
        ["http://udm2.5gc.mnc001.mcc001.3gppnetwork.org/nudm-sdm/v2/x/y", "/nudm-sdm/v2/x"]
    {
        passes(judged(307, location));
    }
}

#[test]
fn public_names_and_those_of_others_stay() {
    let body = r#"{"a":"http://nrf.5gc.mnc070.mcc999.3gppnetwork.org/x","b":"http://sepp1.5gc.mnc070.mcc999.3gppnetwork.org","c":"http://smf.5gc.mnc001.mcc001.3gppnetwork.org/y"}"#;
    let (_, sent) = outgoing(&format!("POST /nsmf-pdusession/v1/pdu-sessions\n\n{body}"));
    assert_eq!(sent, body);
}

#[test]
fn without_hiding_nothing_changes() {
    let guard = guard("[peer.visited.guard]\nhide-topology = false");
    let text =
        "POST /nudm-sdm/v2/x/y\nvia: 2.0 scp\n\n{\"callbackReference\":\"http://10.45.0.5/\"}";
    let (mut parts, mut body) = request(text);
    let before = body.clone();
    passes(with(|context| guard.outgoing_request(context, &mut parts, Some(&mut body))));
    assert_eq!((body, parts.headers["via"].to_str().unwrap()), (before, "2.0 scp"));
}

#[test]
fn own_functions_stay_with_their_network_too() {
    let guard = guard("");
    for (text, rule) in [
        ("GET /nnrf-disc/v1/x\n3gpp-sbi-originating-network-id: 001-01", Rule::PlmnInHeader),
        (
            "GET /nnrf-disc/v1/x\n3gpp-sbi-target-apiroot: http://nrf.5gc.mnc093.mcc208.3gppnetwork.org",
            Rule::Target,
        ),
        (
            "POST /nausf-auth/v1/x\n\n{\"servingNetworkName\":\"5G:mnc001.mcc001.3gppnetwork.org\"}",
            Rule::PlmnInJson,
        ),
        ("GET /nudm-sdm/v2/imsi-208930000000001/am-data", Rule::UeIdentity),
    ] {
        let (mut parts, mut body) = request(text);
        let verdict = with(|context| guard.outgoing_request(context, &mut parts, Some(&mut body)));
        assert_eq!(verdict.unwrap_err().rule, rule, "{PEER}: {text}");
    }
}

#[test]
fn each_name_in_a_list_of_a_query_is_hidden() {
    let own = "amf.5gc.mnc070.mcc999.3gppnetwork.org";
    for list in [own.to_owned(), format!("{own},{own}")] {
        let (parts, _) =
            outgoing(&format!("GET /nnrf-disc/v1/nf-instances?requester-nf-instance-fqdn={list}"));
        let query = parts.uri.query().unwrap();
        assert!(!query.contains(own), "{query}");
    }
}

#[test]
fn an_end_point_keeps_its_port_and_protocol_alone() {
    let (_, sent) = answered(
        "/nnrf-disc/v1/nf-instances",
        &[],
        r#"{"nfServices":[{"ipEndPoints":[{"ipv4Address":"10.0.0.1","port":7777,"transport":"TCP","x":"10.0.0.1"},{"port":"10.0.0.1","transport":7}]}]}"#,
    );
    assert!(sent.contains(r#""ipEndPoints":[{"port":7777,"transport":"TCP"}]"#), "{sent}");
}

/// `user-agent` begins with the type of the function (TS 29.500 §5.2.2.2).
#[test]
fn of_a_user_agent_the_type_of_the_function_is_left() {
    for (agent, left) in [("AMF-amf1.internal", Some("AMF")), ("/amf1.internal", None)] {
        let (parts, _) = outgoing(&format!("GET /nudm-sdm/v2/x\nuser-agent: {agent}"));
        let sent = parts.headers.get("user-agent").map(|it| it.to_str().unwrap());
        assert_eq!(sent, left, "{agent}");
    }
}

#[test]
fn a_guard_needs_a_network_and_a_long_secret() {
    let mut configuration = configuration("");
    let built = |configuration: &_, secret| Guard::new(configuration, secret).err();
    assert_eq!(built(&configuration, b"fifteen letters"), Some(NoGuard::Secret));
    assert_eq!(built(&configuration, b"sixteen letters!"), None);
    configuration.local.fqdn = "sepp.example".parse().unwrap();
    configuration.local.plmns = PlmnSet::default();
    assert_eq!(built(&configuration, b"sixteen letters!"), Some(NoGuard::Networks));
}
