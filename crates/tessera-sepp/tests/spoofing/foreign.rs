//! Findings of other suites: JSONTestSuite, the URLs of Web Platform Tests, and samples that follow 3GPP's OpenAPI
//! files of releases 18 and 19.

use bytes::Bytes;
use tessera_sepp::guard::Rule;

use crate::message::{guard, incoming_answer, passes, request, rule, with};

#[test]
fn a_uri_in_a_query_a_form_or_a_discovery_is_judged_as_it_goes_on() {
    for host in ["nrf.5gc.mnc070.mcc999.3gppnetwork.org", "amf.5gc.mnc001.mcc001.3gppnetwork.org"] {
        for letter in ["2F", "3F", "23", "2f..", "252F"] {
            let uri = format!("http%3A%2F%2F{host}%25{letter}%4010.0.0.1%3A6379%2Fx");
            let plain = format!("http://{host}%{letter}@10.0.0.1:6379/x");
            for text in [
                format!("GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM&hnrf-uri={uri}"),
                format!("GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-discovery-hnrf-uri: {plain}"),
                format!(
                    "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
                     grant_type=client_credentials&hnrfAccessTokenUri={uri}"
                ),
            ] {
                assert_eq!(rule(&text), Some(Rule::CallbackUri), "{text}");
            }
        }
    }
}

#[test]
fn a_uri_in_a_binding_is_judged_as_it_goes_on() {
    for letter in ["2F", "3F", "23"] {
        let uri = format!("http://amf.5gc.mnc001.mcc001.3gppnetwork.org%{letter}@10.0.0.1/");
        let text = format!(
            "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/smf-registrations/1\n\n\
             {{\"smfBindingInfo\":\"bl=nf-set; callback-uri-prefix={uri}\"}}"
        );
        assert_eq!(rule(&text), Some(Rule::CallbackUri), "{text}");
    }
}

#[test]
fn a_number_goes_on_as_the_same_number() {
    for number in ["12.917521550408111", "81.755950977325256", "-1.3003775543722663e+23"] {
        let (mut parts, mut body) =
            request(&format!("POST /nnrf-nfm/v1/subscriptions\n\n[{number}]"));
        passes(with(|it| guard("").incoming_request(it, &mut parts, Some(&mut body))));
        let sent = std::str::from_utf8(&body).unwrap().trim_matches(['[', ']']);
        let bits = |text: &str| text.parse::<f64>().unwrap().to_bits();
        assert_eq!(bits(sent), bits(number), "{number} became {sent}");
    }
}

#[test]
fn names_in_a_map_of_maps_are_data() {
    for (asked, body) in [
        (
            "/nudm-sdm/v2/imsi-001010000000001/sm-data",
            r#"[{"singleNssai":{"sst":1},"expectedUeBehaviourData":{"internet":{"/communicationDurationTime":{"validityTime":"2026-11-24T16:00:00Z"}}}}]"#,
        ),
        (
            "/nnrf-disc/v1/nf-instances",
            r#"{"nfInstances":[{"nrfInfo":{"servedUdrInfoList":{"4ec8ac0b-265e-4165-86e9-e0735e6ce308":{"0":{"groupId":"g"}}}}}]}"#,
        ),
    ] {
        assert_eq!(incoming_answer(&guard(""), asked, "", body).unwrap(), body);
    }
    let features = "%7B%22nudm-sdm%22%3A%7B%226088%22%3A%5B%7B%22featureName%22%3A%22f%22%2C%22featureVersion%22%3A%221%22%7D%5D%7D%7D";
    let asked =
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM&preferred-vendor-specific-features=";
    assert_eq!(rule(&format!("{asked}{features}")), None);
}

/// TS 23.003 §19.4; and device servers have their providers' names (TS 29.571, `EcsServerAddr`).
#[test]
fn names_of_other_protocols_are_in_other_domains() {
    let text = "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/smf-registrations/1\n\n\
                {\"pgwFqdn\":\"topon.s5-pgw.node.epc.mnc001.mcc001.3gppnetwork.org\"}";
    assert_eq!(rule(text), None);
    assert_eq!(rule(&text.replace("mcc001", "mcc208")), Some(Rule::PlmnInJson));
    let body = r#"{"ecsServerAddr":{"ecsFqdnList":["ecs.edge.example.com"]}}"#;
    let asked = "/nudm-sdm/v2/imsi-001010000000001/sm-data";
    assert_eq!(incoming_answer(&guard(""), asked, "", body).unwrap(), body);
}

/// TS 29.522, `NetworkDescription`.
#[test]
fn one_country_may_have_several_network_codes() {
    let text = "POST /npcf-ue-policy-control/v1/policies\n\n\
                {\"uePolReq\":\"\",\"visitedNetDescs\":[{\"mcc\":\"001\",\"mncs\":[\"01\"]}]}";
    assert_eq!(rule(text), None);
}

/// TS 29.510 §6.1.6.2.16.
#[test]
fn an_identifier_of_a_subscription_may_have_a_colon() {
    let body = r#"{"subscriptionId":"99970-x3Lf57A:nid=000007ed9d5:1"}"#;
    let answer = incoming_answer(&guard(""), "/nnrf-nfm/v1/subscriptions", "", body);
    assert_eq!(answer.unwrap(), body);
}

/// TS 29.518, `AmfUpdateEventSubscriptionItem`.
#[test]
fn a_change_keeps_what_its_api_adds() {
    let apis = guard("guard = { apis = [\"namf-evts\"] }");
    let (mut parts, _) = request("PATCH /namf-evts/v1/subscriptions/1");
    parts.headers.insert("content-type", "application/json-patch+json".parse().unwrap());
    let text = r#"[{"op":"add","path":"/eventList/-","value":{"type":"LOCATION_REPORT"},"excludeSupiList":["imsi-999700000000001"]}]"#;
    let mut body = Bytes::from_static(text.as_bytes());
    passes(with(|it| apis.incoming_request(it, &mut parts, Some(&mut body))));
    assert_eq!(body, text);
}

#[test]
fn json_behind_what_a_reader_may_skip_is_refused() {
    for start in ["%EF%BB%BF", "%0B", "%C2%A0"] {
        for json in ["%5B%22imsi-208930000000001%22%5D", "%22imsi-208930000000001%22", "%7B%7D"] {
            let text = format!("GET /nudm-sdm/v2/x?supis={start}{json}");
            assert_eq!(rule(&text), Some(Rule::Malformed), "{text}");
        }
    }
}
