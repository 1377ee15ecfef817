//! Identifiers in which a network or a subscriber is named by more than a member of its own.

use tessera_sepp::guard::Rule;

use crate::message::{guard, incoming, incoming_answer};

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
