//! Identifiers in which a network or a subscriber is named by more than a member of its own.

use tessera_sepp::guard::Rule;

use crate::message::{guard, guard_of, incoming, incoming_answer, outgoing};

const UDM: &str = "http://udm.5gc.mnc001.mcc001.3gppnetwork.org";

/// The path of a place names a subscriber as that of a URI in JSON does.
#[test]
fn a_place_names_no_third_networks_subscriber() {
    let guard = guard("");
    let asked = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions";
    let path = |id: &str| format!("/nudm-sdm/v2/{id}/sdm-subscriptions/1");
    let mut passed = Vec::new();
    for id in [
        "imsi-208930000000001",
        "suci-0-208-93-0000-0-0-0000000001",
        "nai-x@nai.5gc.mnc093.mcc208.3gppnetwork.org",
    ] {
        // The same URI in JSON.
        let body = format!(r#"{{"monitoredResourceUris":["{UDM}{}"]}}"#, path(id));
        let json = incoming_answer(&guard, asked, "", &body).map_err(|refusal| refusal.rule);
        assert_eq!(json, Err(Rule::UeIdentity), "{id}");
        for header in [
            format!("location: {UDM}{}", path(id)),
            format!("location: {}", path(id)),
            format!("content-location: {UDM}{}", path(id)),
        ] {
            if incoming_answer(&guard, asked, &header, "").is_ok() {
                passed.push(header);
            }
        }
    }
    assert!(passed.is_empty(), "{passed:#?}");
}

/// TS 29.510 §6.1.3.5, §5.2.2.5.6: a subscription at another network's NRF begins with its codes, and an NRF passes
/// changes of it on to that network.
#[test]
fn a_subscription_of_a_third_network_is_seen() {
    let guard = guard("");
    let mut passed = Vec::new();
    for text in [
        "DELETE /nnrf-nfm/v1/subscriptions/20893-abc",
        "DELETE /nnrf-nfm/v1/subscriptions/20893-x3Lf57A:nid=00000000001:abc",
        "PATCH /nnrf-nfm/v1/subscriptions/20893-abc\ncontent-type: application/json-patch+json\n\n[{\"op\":\"replace\",\"path\":\"/validityTime\",\"value\":\"2026-12-01T00:00:00Z\"}]",
        "POST /nnrf-nfm/v1/nf-status-notify\n\n{\"event\":\"NF_REGISTERED\",\"nfInstanceUri\":\"http://nrf.5gc.mnc001.mcc001.3gppnetwork.org/nnrf-nfm/v1/nf-instances/1\",\"subscriptionContext\":{\"subscriptionId\":\"20893-abc\"}}",
    ] {
        if incoming(&guard, text).is_ok() {
            passed.push(text);
        }
    }
    let asked = "/nnrf-nfm/v1/subscriptions";
    let body = r#"{"nfStatusNotificationUri":"http://amf.5gc.mnc070.mcc999.3gppnetwork.org/x","subscriptionId":"20893-abc"}"#;
    if incoming_answer(&guard, asked, "", body).is_ok() {
        passed.push(body);
    }
    let header = "location: http://nrf.5gc.mnc001.mcc001.3gppnetwork.org/nnrf-nfm/v1/subscriptions/20893-abc";
    if incoming_answer(&guard, asked, header, "").is_ok() {
        passed.push(header);
    }
    assert!(passed.is_empty(), "{passed:#?}");
}

/// TS 29.571: OffloadIdentifier, MdtAlignmentInfo.
#[test]
fn identifiers_that_begin_with_codes_are_judged_by_their_type() {
    let guard = guard("");
    let post = |body: &str| {
        let text = format!("POST /nsmf-pdusession/v1/pdu-sessions\n\n{body}");
        incoming(&guard, &text).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(post(r#"{"offloadIds":["208-93-00000001"]}"#), Err(Rule::PlmnInJson));
    let passed: Vec<_> = [
        r#"{"storedOffloadIds":["208-93-00000001"]}"#,
        r#"{"vplmnOffloadingInfoList":[{"offloadIdentifier":"208-93-00000001"}]}"#,
        r#"{"mdtAlignmentInfo":"208-93-abcdef-0001"}"#,
    ]
    .into_iter()
    .filter(|body| post(body).is_ok())
    .collect();
    assert!(passed.is_empty(), "{passed:#?}");
    assert_eq!(post(r#"{"offloadIds":["x"]}"#), Err(Rule::Malformed));
    assert_eq!(post(r#"{"groupId":"x"}"#), Ok(()), "another text in some APIs");
    assert_eq!(post(r#"{"groupId":"0a1b2c3d-208-93-ab"}"#), Err(Rule::PlmnInJson));
    let answered = incoming_answer(&guard, "/nsmf-pdusession/v1/x", "", r#"{"offloadIds":["x"]}"#);
    assert!(answered.is_ok(), "where any network may be named");
}

/// TS 29.500 §5.2.3.2.6: the binding of an AMF's context has its `guami`.
#[test]
fn the_guami_of_a_binding_is_of_either_end() {
    let guard = guard("");
    let passed: Vec<_> = ["guami=20893020040", "guami=208-93-020040"]
        .into_iter()
        .filter(|guami| {
            let text = format!(
                "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n3gpp-sbi-binding: bl=nf-set; \
                 nfset=set1.region1.amfset.5gc.mnc001.mcc001; {guami}"
            );
            incoming(&guard, &text).is_ok()
        })
        .collect();
    assert!(passed.is_empty(), "{passed:#?}");
    let answered = |guami: &str| {
        let header = format!("3gpp-sbi-binding: bl=nf-set; guami={guami}");
        let judged = incoming_answer(&guard, "/nudm-sdm/v2/x", &header, "");
        judged.err().map(|refusal| refusal.rule)
    };
    for guami in ["00101020040", "001-01-020040", "99970020040", "x"] {
        assert_eq!(answered(guami), None, "{guami}");
    }
    for guami in ["20893020040", "208-93-020040"] {
        assert_eq!(answered(guami), Some(Rule::PlmnInHeader), "{guami}");
    }
}

/// TS 29.571: the pattern of `5gPrukId` has `mnc[0-9]{2,3}`.
#[test]
fn a_name_with_two_digits_of_network_code_is_seen() {
    let guard = guard("");
    let post = |mnc: &str| {
        let text = format!(
            "POST /nausf-auth/v1/prose-authentications\n\n\
             {{\"5gPrukId\":\"rid1.pid1@prose-cp.5gc.mnc{mnc}.mcc208.3gppnetwork.org\"}}"
        );
        incoming(&guard, &text).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(post("093"), Err(Rule::PlmnInJson));
    assert!(post("93").is_err());
}

/// TS 29.500 §6.10.8.2: `server` names who refused.
#[test]
fn no_header_of_an_answer_names_another_network() {
    let guard = guard("");
    let passed: Vec<_> = [
        "server: SEPP-sepp1.5gc.mnc070.mcc999.3gppnetwork.org",
        "server: SEPP-sepp.5gc.mnc093.mcc208.3gppnetwork.org",
        "via: 2.0 SEPP-sepp.5gc.mnc093.mcc208.3gppnetwork.org",
        "www-authenticate: Bearer realm=\"nrf.5gc.mnc093.mcc208.3gppnetwork.org\"",
    ]
    .into_iter()
    .filter(|header| incoming_answer(&guard, "/nudm-sdm/v2/x", header, "").is_ok())
    .collect();
    assert!(passed.is_empty(), "{passed:#?}");
}

/// open5gs takes what follows the first hyphen for an IMSI, whatever precedes it.
#[test]
fn a_subscriber_in_an_answer_has_a_form_of_3gpp() {
    let guard = guard("");
    let rule = |supi: &str| {
        let asked = "/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation";
        let body =
            serde_json::json!({ "authResult": "AUTHENTICATION_SUCCESS", "supi": supi }).to_string();
        incoming_answer(&guard, asked, "", &body).err().map(|refusal| refusal.rule)
    };
    for supi in ["imsi-001010000000001", "nai-001010000000001", "nai-x@example.org", "gci-5"] {
        assert_eq!(rule(supi), None, "{supi}");
    }
    for supi in [
        "imsi-208930000000001",
        "xmsi-208930000000001",
        " imsi-208930000000001",
        "\timsi-208930000000001",
        "supi:imsi-208930000000001",
        "imsi:208930000000001",
        "208930000000001",
        " imsi-999700000000001",
        "nai-208930000000001",
        "gci-208930000000001",
        "gli-208930000000001",
    ] {
        assert_eq!(rule(supi), Some(Rule::UeIdentity), "{supi}");
    }
}

#[test]
fn names_in_a_header_are_judged_decoded_too() {
    for header in [
        "binding: bl=nf-set; nfset=set1.region1.amfset.5gc.mnc093%2Emcc208",
        "oci: Overload-Reduction-Metric: 100%; SEPP-FQDN: sepp.5gc.mnc070%2emcc999.3gppnetwork.org",
        "oci: Overload-Reduction-Metric: 100%; x=http%3A%2F%2F10.0.0.1",
    ] {
        let text = format!("GET /nudm-sdm/v2/x\n3gpp-sbi-{header}");
        assert!(incoming(&guard(""), &text).is_err(), "{header}");
    }
}

/// Servers that decode before they split read another path.
#[test]
fn a_path_has_no_encoded_question_mark_or_number_sign() {
    let guard =
        guard("[peer.visited.guard]\napis = [\"nudm-sdm: GET /nudm-sdm/v2/{supi}/am-data\"]");
    let rule = |path: &str| {
        let text = format!("GET /nudm-sdm/v2/imsi-999700000000001{path}");
        incoming(&guard, &text).err().map(|refusal| refusal.rule)
    };
    assert_eq!(rule("/am-data"), None);
    assert_eq!(rule("%3Fdataset-names=AM&x=/am-data"), Some(Rule::Malformed));
    assert_eq!(rule("%23/am-data"), Some(Rule::Malformed));
}

/// They stand for a third network's function.
#[test]
fn telescopic_names_are_those_of_local_functions() {
    let guard = guard("[sbi]\ntelescopic-domain = \"sbi.5gc.mnc070.mcc999.3gppnetwork.org\"");
    let name = "nrf-n208093.sbi.5gc.mnc070.mcc999.3gppnetwork.org";
    for member in ["subscriptionId", "dnn", "nfSetId"] {
        for start in ["", "http://", "x="] {
            let text = format!(
                "POST /nsmf-pdusession/v1/pdu-sessions\n\n{{\"{member}\":\"{start}{name}/x\"}}"
            );
            assert!(incoming(&guard, &text).is_err(), "{text}");
        }
    }
    for header in ["producer-id: nfinst=1; fqdn=", "binding: bl=nf-set; nfset=set1."] {
        let header = format!("3gpp-sbi-{header}{name}");
        let judged = incoming_answer(&guard, "/nudm-sdm/v2/x", &header, "{}");
        assert!(judged.is_err(), "{header}");
    }
}

/// A function asks its own network for what such a reference names, as for an absolute one.
#[test]
fn a_relative_reference_leads_to_no_service_that_the_peer_may_not_ask() {
    let rule = |reference: &str| {
        let text = format!(
            "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{{\"monitoredResourceUris\":[\"{reference}\"]}}"
        );
        incoming(&guard(""), &text).err().map(|refusal| refusal.rule)
    };
    for reference in
        ["imsi-999700000000001/am-data", "/nudm-sdm/v2/imsi-999700000000001/am-data", "nrf-sub-1"]
    {
        assert_eq!(rule(reference), None, "{reference}");
    }
    let hidden = "gopher%3A%2F%2F10.0.0.1/x";
    for reference in
        ["/nudr-dr/v1/x", "nudr-dr/v1/x", "../../nudr-dr/v1/x", "/x/../nudr-dr/v1", hidden]
    {
        assert_eq!(rule(reference), Some(Rule::CallbackUri), "{reference}");
    }
    let answer = format!(r#"{{"monitoredResourceUris":["{hidden}"]}}"#);
    let judged = incoming_answer(&guard(""), "/nudm-sdm/v2/x", "", &answer);
    assert_eq!(judged.err().map(|refusal| refusal.rule), Some(Rule::CallbackUri));
}

/// open5gs has the callbacks of a UDM at `namf-callback`, and finds the subscriber by the path or `resourceId`.
#[test]
fn a_peer_reports_about_its_own_subscribers_at_every_callback() {
    let rule = |service: &str, subscriber: &str| {
        let guard = guard("[peer.visited.guard]\napis = [\"namf-callback\", \"nsmf-callback\"]");
        let text = format!(
            "POST /{service}/v1/{subscriber}/dereg-notify\n\n{{\"deregReason\":\"SUBSCRIPTION_WITHDRAWN\",\"accessType\":\"3GPP_ACCESS\"}}"
        );
        let by_path = incoming(&guard, &text).err().map(|refusal| refusal.rule);
        let text = format!(
            "POST /{service}/v1/x\n\n{{\"notifyItems\":[{{\"resourceId\":\"{subscriber}/am-data\"}}]}}"
        );
        assert_eq!(incoming(&guard, &text).err().map(|refusal| refusal.rule), by_path);
        by_path
    };
    for service in ["namf-callback", "nsmf-callback"] {
        assert_eq!(rule(service, "imsi-001010000000001"), None, "{service}");
        assert_eq!(rule(service, "imsi-999700000000001"), Some(Rule::UeIdentity), "{service}");
        assert_eq!(rule(service, "imsi-208930000000001"), Some(Rule::UeIdentity), "{service}");
    }
}

/// Without it an NRF takes the peer's function for a local one.
#[test]
fn a_peer_names_its_network_where_an_nrf_compares_it() {
    let rule = |text: &str| incoming(&guard(""), text).err().map(|refusal| refusal.rule);
    let plmn = "%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D";
    let search = "GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF";
    assert_eq!(rule(search), Some(Rule::PlmnInQuery));
    assert!(outgoing(&guard(""), search).is_ok(), "its NRF asks its own network");
    assert_eq!(rule(&format!("{search}&requester-plmn-list=%5B{plmn}%5D")), None);
    let token = "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
                 grant_type=client_credentials&nfType=AMF&scope=nudm-sdm";
    assert_eq!(rule(token), Some(Rule::PlmnInTokenRequest));
    assert_eq!(rule(&format!("{token}&requesterPlmn={plmn}")), None);
}

/// TS 23.501 §4.2.4, TS 33.501 §6.1.3, §6.14, §6.15.
#[test]
fn by_default_a_peer_asks_for_what_roaming_needs_alone() {
    let rule = |request: &str| {
        let text = format!("{request}\n\n{{}}");
        incoming(&guard_of(""), &text).err().map(|refusal| refusal.rule)
    };
    let udm = "imsi-999700000000001";
    for (request, expected) in [
        (format!("POST /nudm-ueau/v1/{udm}/security-information/generate-auth-data"), Rule::Api),
        (format!("POST /nausf-sorprotection/v1/{udm}/ue-sor"), Rule::Api),
        (format!("POST /nausf-upuprotection/v1/{udm}/ue-upu"), Rule::Api),
        ("POST /nsmf-pdusession/v1/sm-contexts".to_owned(), Rule::Api),
        (format!("POST /namf-comm/v1/ue-contexts/{udm}/n1-n2-messages"), Rule::Api),
        (format!("POST /namf-comm/v1/ue-contexts/{udm}/release"), Rule::Api),
        ("POST /nudm-ee/v1/anyUE/ee-subscriptions".to_owned(), Rule::Api),
    ] {
        assert_eq!(rule(&request), Some(expected), "{request}");
    }
    for request in [
        format!("PUT /nudm-uecm/v1/{udm}/registrations/amf-3gpp-access"),
        "POST /nsmf-pdusession/v1/pdu-sessions".to_owned(),
        "POST /nsmf-pdusession/v1/vsmf-pdu-sessions/1/modify".to_owned(),
        format!("POST /namf-comm/v1/ue-contexts/{udm}/transfer"),
    ] {
        assert_eq!(rule(&request), None, "{request}");
    }
}

#[test]
fn a_uri_in_a_header_names_no_third_networks_subscriber() {
    let judged = |subscriber: &str| {
        let header = format!("3gpp-sbi-producer-id: a={UDM}/nudm-sdm/v2/{subscriber}/am-data");
        let judged = incoming_answer(&guard(""), "/nudm-sdm/v2/x", &header, "");
        judged.err().map(|refusal| refusal.rule)
    };
    assert_eq!(judged("imsi-001010000000001"), None);
    assert_eq!(judged("imsi-208930000000001"), Some(Rule::UeIdentity));
}

#[test]
fn a_third_networks_subscription_is_seen_in_an_answer_of_no_known_service() {
    let judged = |asked: &str| {
        let body = r#"{"subscriptionId":"20893-abc"}"#;
        incoming_answer(&guard(""), asked, "", body).err().map(|refusal| refusal.rule)
    };
    assert_eq!(judged("/x/subscriptions"), Some(Rule::PlmnInJson));
    assert_eq!(judged("/nudm-sdm/v2/x"), None, "its own identifiers have any form");
    let apis = guard("[peer.visited.guard]\napis = [\"namf-comm\"]");
    assert!(incoming(&apis, "DELETE /namf-comm/v1/subscriptions/20893-abc").is_ok());
}

/// TS 29.571 §5.3.2: the digits of a group's service precede its network.
#[test]
fn a_group_is_of_the_network_behind_its_service() {
    let rule = |group: &str| {
        let text = format!(
            "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{{\"internalGroupIds\":[\"{group}\"]}}"
        );
        incoming(&guard(""), &text).err().map(|refusal| refusal.rule)
    };
    assert_eq!(rule("0a1b2c3d-001-01-ab"), None);
    assert_eq!(rule("0a1b2c3d-208-93-ab"), Some(Rule::PlmnInJson));
}

/// TS 29.522, `NetworkDescription`.
#[test]
fn a_country_alone_is_that_of_an_end() {
    let rule = |mcc: &str| {
        let text = format!(
            "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{{\"visitedNetDescs\":[{{\"mcc\":\"{mcc}\"}}]}}"
        );
        incoming(&guard(""), &text).err().map(|refusal| refusal.rule)
    };
    assert_eq!(rule("001"), None);
    assert_eq!(rule("208"), Some(Rule::Malformed));
}
