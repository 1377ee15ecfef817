//! URIs that a function follows, keeps or quotes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use tessera_sepp::guard::{RequestSummary, Rule};

use crate::message::{
    OWN, guard, hidden, incoming, incoming_answer, outgoing, outgoing_answer, passes, request, with,
};

/// An answer is judged by the service in the path that was asked; the peer chooses that path by `href`, `location` or
/// `apiPrefix`.
#[test]
fn a_peer_does_not_choose_the_rules_of_its_answer() {
    let guard = guard("");
    // An authentication: the AMF takes the subscriber from the last answer.
    let confirm = "/x/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation";
    let link = format!(
        r#"{{"authType":"5G_AKA","_links":{{"5g-aka":{{"href":"http://ausf.5gc.mnc001.mcc001.3gppnetwork.org{confirm}"}}}}}}"#
    );
    assert!(incoming_answer(&guard, "/nausf-auth/v1/ue-authentications", "", &link).is_ok());
    // The AMF follows the link.
    passes(outgoing(
        &guard,
        &format!(
            "PUT {confirm}\n3gpp-sbi-target-apiroot: http://ausf.5gc.mnc001.mcc001.3gppnetwork.org\n\n{{\"resStar\":\"00\"}}"
        ),
    ));
    let success = r#"{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-208930000000001"}"#;
    let judged = |asked: &str, body: &str| {
        incoming_answer(&guard, asked, "", body).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(judged(&confirm[2..], success), Err(Rule::UeIdentity));
    let mut passed = Vec::new();
    if judged(confirm, success).is_ok() {
        passed.push(success);
    }
    // A discovery: the NRF redirects it (TS 29.510 §5.3.2.2.3).
    let search = "/x/nnrf-disc/v1/nf-instances";
    let (question, _) = request("GET /nnrf-disc/v1/nf-instances");
    let (mut parts, ()) = http::Response::builder()
        .status(307)
        .header("location", format!("http://nrf.5gc.mnc001.mcc001.3gppnetwork.org{search}"))
        .body(())
        .unwrap()
        .into_parts();
    let redirected = with(|it| {
        guard.incoming_response(
            it,
            RequestSummary::of(&question),
            &mut parts,
            Some(&mut Bytes::new()),
        )
    });
    passes(redirected);
    for found in [
        r#"{"validityPeriod":60,"nfInstances":[{"nfType":"UDM","fqdn":"udr.5gc.mnc070.mcc999.3gppnetwork.org","plmnList":[{"mcc":"999","mnc":"70"}]}]}"#,
        r#"{"validityPeriod":60,"nfInstances":[{"nfType":"UDM","fqdn":"udm.5gc.mnc093.mcc208.3gppnetwork.org","amfInfo":{"guamiList":[{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"020040"}]}}]}"#,
        r#"{"validityPeriod":60,"nfInstances":[{"nfType":"UDM","anyMember":1}]}"#,
    ] {
        assert!(judged(&search[2..], found).is_err(), "{found}");
        if judged(search, found).is_ok() {
            passed.push(found);
        }
    }
    assert!(passed.is_empty(), "{passed:#?}");
}

#[test]
fn a_link_is_of_the_service_that_was_asked() {
    let guard = guard("");
    for (path, rule) in [
        ("/nausf-auth/v1/x", None),
        ("/north/nausf-auth/v1/x", None),
        ("/nsmf-pdusession/v1/x", Some(Rule::CallbackUri)),
        ("/x", Some(Rule::CallbackUri)),
    ] {
        let uri = format!("http://ausf.5gc.mnc001.mcc001.3gppnetwork.org{path}");
        let link = format!(r#"{{"_links":{{"5g-aka":{{"href":"{uri}"}}}}}}"#);
        for (header, body) in [
            (String::new(), &*link),
            (format!("location: {uri}"), ""),
            (format!("location: {path}"), ""),
            (format!("content-location: {uri}"), ""),
        ] {
            let asked = "/nausf-auth/v1/ue-authentications";
            let judged = incoming_answer(&guard, asked, &header, body);
            assert_eq!(judged.err().map(|refusal| refusal.rule), rule, "{header} {body}");
        }
    }
}

/// What is asked at `nrfId` is a discovery, whose answer names the functions of the peer alone.
#[test]
fn a_link_to_another_service_leads_to_the_one_for_which_it_is_followed() {
    let guard = guard("");
    let judged = |asked: &str, header: &str, body: &str| {
        incoming_answer(&guard, asked, header, body).err().map(|refusal| refusal.rule)
    };
    let host = "http://nrf.5gc.mnc001.mcc001.3gppnetwork.org";
    let slices = "/nnssf-nsselection/v2/network-slice-information";
    for (path, rule) in [
        ("/nnrf-disc/v1", None),
        ("/north/nnrf-disc/v1", None),
        ("/", None),
        ("/nudm-sdm/v2", Some(Rule::CallbackUri)),
        ("/nnrf-disc/v1/nudm-sdm/v2", Some(Rule::CallbackUri)),
        ("/x", None),
    ] {
        let slice = format!(r#"{{"nsiInformation":{{"nrfId":"{host}{path}","nsiId":"1"}}}}"#);
        assert_eq!(judged(slices, "", &slice), rule, "{slice}");
        let header = format!("3gpp-sbi-nrf-uri: nnrf-disc: \"{host}{path}\"");
        assert_eq!(judged(slices, &header, "{}"), rule, "{header}");
        let found = format!(r#"{{"nfInstanceList":{{"1":{{"nrfDiscApiUri":"{host}{path}"}}}}}}"#);
        assert_eq!(judged("/nnrf-disc/v1/nf-instances", "", &found), rule, "{found}");
    }
    let header = format!("3gpp-sbi-nrf-uri: nnrf-oauth2: \"{host}/oauth2/token\"");
    assert_eq!(judged(slices, &header, "{}"), None);
    // A link of no known meaning leads to the service that was asked, or to none.
    let other = |path: &str| judged(slices, "", &format!(r#"{{"acsUrl":"{host}{path}"}}"#));
    assert_eq!(other("/x"), None);
    assert_eq!(other("/nnssf-nsselection/v2/x"), None);
    assert_eq!(other("/nudm-sdm/v2"), Some(Rule::CallbackUri));
}

#[test]
fn an_answer_of_no_known_service_has_functions_of_the_peer_alone() {
    for name in ["udr.5gc.mnc070.mcc999", "smf.5gc.mnc093.mcc208"] {
        let found = format!(r#"{{"nfInstances":[{{"fqdn":"{name}.3gppnetwork.org"}}]}}"#);
        assert!(incoming_answer(&guard(""), "/x/nf-instances", "", &found).is_err(), "{found}");
    }
}

/// A function appends the API's path.
#[test]
fn an_api_root_has_no_query_and_no_service() {
    let guard = guard("");
    let judged = |path: &str| {
        let root = format!("http://ausf.5gc.mnc001.mcc001.3gppnetwork.org{path}");
        let found = format!(r#"{{"nfInstances":[{{"interPlmnApiRoot":"{root}"}}]}}"#);
        let judged = incoming_answer(&guard, "/nnrf-disc/v1/nf-instances", "", &found);
        judged.err().map(|refusal| refusal.rule)
    };
    for path in ["", "/", "/north", "/north/"] {
        assert_eq!(judged(path), None, "{path}");
    }
    for path in
        ["/nsmf-pdusession/v1?", "/nsmf-pdusession/v1", "/north?", "/north#", "/north/../x", "?x"]
    {
        assert_eq!(judged(path), Some(Rule::CallbackUri), "{path}");
    }
}

#[test]
fn an_apis_version_is_one_segment_of_its_path() {
    let guard = guard("");
    let judged = |version: &str| {
        let found = format!(
            r#"{{"nfInstances":[{{"nfServices":[{{"versions":[{{"apiVersionInUri":"{version}"}}]}}]}}]}}"#
        );
        let judged = incoming_answer(&guard, "/nnrf-disc/v1/nf-instances", "", &found);
        judged.err().map(|refusal| refusal.rule)
    };
    assert_eq!(judged("v1"), None);
    for version in ["v1/../../nsmf-pdusession/v1", "..", "v1/x", "v1?", "v1#", "", "v1%2Fx"] {
        assert_eq!(judged(version), Some(Rule::Target), "{version}");
    }
}

/// A function follows it to a profile (TS 29.510 §6.1.6.2.17).
#[test]
fn every_answer_of_an_nrf_has_functions_of_the_sender_alone() {
    let own = "http://udr.5gc.mnc070.mcc999.3gppnetwork.org";
    let root = format!(r#"{{"nfServices":[{{"interPlmnApiRoot":"{own}"}}]}}"#);
    let callback =
        format!(r#"{{"defaultNotificationSubscriptions":[{{"callbackUri":"{own}/x"}}]}}"#);
    for path in ["/nnrf-disc/v1/nf-instances", "/nnrf-nfm/v1/nf-instances/1", "/x/nf-instances/1"] {
        for profile in [&root, &callback] {
            for hides in [true, false] {
                let guard = guard(&format!("[peer.visited.guard]\nhide-topology = {hides}"));
                let judged = incoming_answer(&guard, path, "", profile);
                let rule = judged.err().map(|refusal| refusal.rule);
                assert_eq!(rule, Some(Rule::CallbackUri), "{path} {profile} {hides}");
            }
        }
    }
}

/// A function appends such a text to a path, and its client removes the segments.
#[test]
fn no_text_of_a_peer_leads_out_of_a_path() {
    let guard = guard("");
    let rule = |value: &str| {
        let body = format!(r#"{{"nfInstanceId":"{value}"}}"#);
        incoming_answer(&guard, "/nnrf-disc/v1/x", "", &body).err().map(|refusal| refusal.rule)
    };
    for value in ["../../nudm-sdm/v2/x", "..", "x/..", "x/%2e%2E/y", "x%2f..%2fy", "..\\\\x", "..?"]
    {
        assert_eq!(rule(value), Some(Rule::Malformed), "{value}");
    }
    for value in ["a..b", "...", "1.2", "x/...", "and so on..", "100%"] {
        assert_eq!(rule(value), None, "{value}");
    }
    let searched = |id: &str| {
        let body = format!(r#"{{"searchId":"{id}"}}"#);
        incoming_answer(&guard, "/nnrf-disc/v1/x", "", &body).err().map(|refusal| refusal.rule)
    };
    assert_eq!(searched("5"), None);
    assert_eq!(searched("5/../../nudm-sdm/v2/x"), Some(Rule::Target));
}

/// A local function's callback left as a hidden name, unless everyone knows its name.
#[test]
fn a_callback_in_an_answer_leads_to_no_clear_name_that_is_hidden() {
    let guard = guard("");
    let judged = |host: &str, path: &str| {
        let uri = format!("http://{host}.5gc.mnc070.mcc999.3gppnetwork.org:8080{path}");
        let context = format!(
            r#"{{"ueContext":{{"eventSubscriptionList":[{{"eventNotifyUri":"{uri}"}}]}}}}"#
        );
        let asked = "/namf-comm/v1/ue-contexts/imsi-001010000000001/transfer";
        incoming_answer(&guard, asked, "", &context).err().map(|refusal| refusal.rule)
    };
    for (host, path) in [
        ("oam", "/admin/shutdown"),
        ("oam", "/namf-callback/v1/x"),
        ("nrf", "/nnrf-nfm/v1/nf-instances/1"),
    ] {
        assert_eq!(judged(host, path), Some(Rule::CallbackUri), "{host} {path}");
    }
    assert_eq!(judged("nrf", "/nnrf-nfm/v1/nf-status-notify"), None);
}

/// Requests of `namf-comm` may name any subscriber.
#[test]
fn a_service_behind_another_chooses_no_rules() {
    let guard = guard("[peer.visited.guard]\napis = [\"north\", \"namf-comm\"]");
    let asked = |path: &str| {
        let text = format!("POST {path}\n\n{{\"supi\":\"imsi-208930000000001\"}}");
        incoming(&guard, &text).err().map(|refusal| refusal.rule)
    };
    assert_eq!(asked("/namf-comm/v1/x"), None);
    assert_eq!(asked("/north/namf-comm/v1/x"), Some(Rule::UeIdentity));
}

#[test]
fn a_path_of_two_services_is_not_asked() {
    let asked = |path: &str| {
        let target = "3gpp-sbi-target-apiroot: http://ausf.5gc.mnc001.mcc001.3gppnetwork.org";
        outgoing(&guard(""), &format!("GET {path}\n{target}")).err().map(|refusal| refusal.rule)
    };
    assert_eq!(asked("/north/nausf-auth/v1/x"), None);
    assert_eq!(asked("/nsmf-pdusession/v1/nausf-auth/v1/x"), Some(Rule::Malformed));
}

#[test]
fn an_answer_of_no_known_service_names_subscribers_of_both_ends_alone() {
    let answered = |supi: &str| {
        let body = format!(r#"{{"supi":"{supi}"}}"#);
        let judged = incoming_answer(&guard(""), "/x/v1", "", &body);
        judged.err().map(|refusal| refusal.rule)
    };
    assert_eq!(answered("imsi-001010000000001"), None);
    assert_eq!(answered("imsi-999700000000001"), None);
    assert_eq!(answered("imsi-208930000000001"), Some(Rule::UeIdentity));
}

#[test]
fn any_uri_in_json_leads_to_no_service_that_the_peer_may_not_ask() {
    let guard = guard("");
    let own = OWN;
    let post = |member: &str| {
        let text = format!(
            "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{{\"{member}\":\"{own}\"}}"
        );
        incoming(&guard, &text).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(post("monitoredResourceUris"), Err(Rule::CallbackUri));
    assert_eq!(post("dnn"), Err(Rule::CallbackUri));
}

/// A function that parses it by the URL standard repeats it in a form that gets a hidden name.
#[test]
fn an_answer_has_no_uri_with_an_address_in_any_spelling() {
    let guard = guard("");
    let judge = |uri: &str| {
        let body = serde_json::json!({ "dnn": uri }).to_string();
        incoming_answer(&guard, "/nudm-sdm/v2/x", "", &body).map_err(|refusal| refusal.rule)
    };
    assert_eq!(judge("http://10.0.0.1:6379/x"), Err(Rule::CallbackUri));
    let mut passed = Vec::new();
    for uri in [
        "http:\\\\10.0.0.1:6379/x",
        "http:10.0.0.1:6379/x",
        " http://10.0.0.1:6379/x",
        "http://a@10.0.0.1:6379/x",
        "http://10.1:6379/x",
        "http://0x0a000001:6379/x",
        "http://10.0.0.1:6379/x'",
        "http://10.0.0.1:06379/x",
    ] {
        let read = url::Url::parse(uri).unwrap();
        assert_eq!((read.host_str(), read.port()), (Some("10.0.0.1"), Some(6379)), "{uri}");
        if judge(uri).is_ok() {
            passed.push(uri);
        }
    }
    assert!(passed.is_empty(), "{passed:#?}");
}

#[test]
fn a_key_in_a_list_of_a_tokens_header_is_in_the_senders_network_too() {
    let judge = |header: &str| {
        let [header, claims] = [header, "{}"].map(|part| URL_SAFE_NO_PAD.encode(part));
        let text = format!("GET /nudm-sdm/v2/x\nauthorization: Bearer {header}.{claims}.c2ln");
        incoming(&guard(""), &text).map(drop).map_err(|refusal| refusal.rule)
    };
    let key = r#"{"kty":"EC","x5u":"gopher://10.0.0.1:6379/_INFO"}"#;
    assert_eq!(judge(&format!(r#"{{"jwk":{key}}}"#)), Err(Rule::CallbackUri));
    assert!(judge(&format!(r#"{{"jwks":{{"keys":[{key}]}}}}"#)).is_err());
}

#[test]
fn the_prefix_of_a_callback_is_a_plain_path_in_every_header() {
    let guard = guard("");
    let judge = |header: &str| {
        let text = format!("GET /nudm-sdm/v2/x\n3gpp-sbi-{header}");
        incoming(&guard, &text).map(drop).map_err(|refusal| refusal.rule)
    };
    let prefix = "callback-uri-prefix=/../../nudr-dr/v1";
    assert!(judge(&format!("routing-binding: bl=nf-instance; nfinst=1; {prefix}")).is_err());
    assert!(judge(&format!("request-info: retrans=true; {prefix}")).is_err());
}

/// TS 29.500 §5.2.3.2.20: `intraPlmnCallbackRoot` has the function's own address.
#[test]
fn the_callback_roots_of_a_local_function_are_hidden() {
    let guard = guard("");
    let header = "3gpp-sbi-consumer-info";
    let value = "service=Nudm_SDM; apiversion=(2); intraPlmnCallbackRoot=\"http://10.45.0.5:7777\"; \
                 interPlmnCallbackRoot=\"http://amf7.dc3.5gc.mnc070.mcc999.3gppnetwork.org:7777\"";
    let text = format!("GET /nudm-sdm/v2/imsi-001010000000001/am-data\n{header}: {value}");
    let (mut parts, mut body) = request(&text);
    let judged = with(|it| guard.outgoing_request(it, &mut parts, Some(&mut body)));
    let sent = parts.headers.get(header).map(|value| value.to_str().unwrap());
    let shows = |sent: &str| sent.contains("10.45.0.5") || sent.contains("dc3");
    passes(judged);
    let sent = sent.unwrap_or_default();
    assert!(!shows(sent) && sent.matches(".hidden.").count() == 2, "{sent}");
}

/// A function may quote what it refuses.
#[test]
fn a_peer_does_not_learn_the_meaning_of_a_hidden_name() {
    let guard = guard("");
    let inner = "http://smf7.dc3.5gc.mnc070.mcc999.3gppnetwork.org:7777/x";
    let body = format!(r#"{{"callbackReference":"{inner}"}}"#);
    let sent = outgoing_answer(&guard, "/nudm-sdm/v2/x", "", &body).unwrap();
    assert!(!sent.contains("smf7"));
    let name = hidden(&sent);
    // In a member that no function calls.
    let (mut parts, mut asked) = request(&format!(
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{{\"dnn\":\"http://{name}/x\"}}"
    ));
    let judged = with(|it| guard.incoming_request(it, &mut parts, Some(&mut asked)));
    if judged.is_err() {
        return;
    }
    let asked = String::from_utf8(asked.to_vec()).unwrap();
    let dnn = asked.split('"').nth(3).unwrap();
    let detail = serde_json::json!({ "cause": "MANDATORY_IE_INCORRECT", "detail": format!("invalid dnn '{dnn}'") });
    let back = outgoing_answer(&guard, "/nudm-sdm/v2/x", "", &detail.to_string());
    assert!(!back.as_ref().is_ok_and(|back| back.contains("smf7")), "{back:?}");
}

/// A value that can't be read can't be hidden, and is removed.
#[test]
fn a_callback_root_that_can_be_read_in_two_ways_is_not_shown() {
    for root in ["http:\\\\10.45.0.5:7777", "http:10.45.0.5:7777", "http://a@10.45.0.5:7777"] {
        let text = format!(
            "GET /nudm-sdm/v2/imsi-001010000000001/am-data\n3gpp-sbi-consumer-info: intraPlmnCallbackRoot={root}"
        );
        let (mut parts, mut body) = request(&text);
        let judged = with(|it| guard("").outgoing_request(it, &mut parts, Some(&mut body)));
        let shown = parts.headers.get("3gpp-sbi-consumer-info");
        assert!(judged.is_err() || shown.is_none(), "{root}: {shown:?}");
    }
}

/// The path of a callback is its receiver's choice.
#[test]
fn a_callback_may_be_redirected_to_any_path() {
    let location = "location: http://amf2.5gc.mnc001.mcc001.3gppnetwork.org/x/1";
    let judged = |asked: &str| {
        incoming_answer(&guard(""), asked, location, "").err().map(|refusal| refusal.rule)
    };
    assert_eq!(judged("/namf-callback/v1/x"), None);
    assert_eq!(judged("/nudm-sdm/v2/x"), Some(Rule::CallbackUri));
}

/// A function may join scheme, `://` and host.
#[test]
fn the_scheme_of_a_service_is_a_word() {
    let rule = |scheme: &str| {
        let found = format!(r#"{{"nfInstances":[{{"nfServices":[{{"scheme":"{scheme}"}}]}}]}}"#);
        let judged = incoming_answer(&guard(""), "/nnrf-disc/v1/nf-instances", "", &found);
        judged.err().map(|refusal| refusal.rule)
    };
    assert_eq!(rule("http"), None);
    let uri = "http://ausf.5gc.mnc001.mcc001.3gppnetwork.org/nsmf-pdusession/v1?x=";
    assert_eq!(rule(uri), Some(Rule::CallbackUri));
}
