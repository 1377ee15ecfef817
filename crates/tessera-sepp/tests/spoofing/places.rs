//! Places that a network function connects to, and networks and subscribers where no rule looked: found by an attacker
//! with a valid certificate.

use tessera_sepp::guard::Rule;

use crate::ANY_MEMBER;
use crate::corpus::{Case, case};
use crate::message::{guard, incoming, incoming_answer};

pub const REQUESTS: &[Case] = &[
    case(
        "an address in a name of an own network",
        Rule::Target,
        "POST /nnrf-nfm/v1/subscriptions\n\n{\"nfStatusNotificationUri\":\"https://udm.5gc.mnc001.mcc001.3gppnetwork.org/x\",\
         \"reqNfFqdn\":\"10.0.0.1/mnc001.mcc001\"}",
    ),
    case(
        "the peer's codes below another domain",
        Rule::Target,
        "POST /nnrf-nfm/v1/subscriptions\n\n{\"reqNfFqdn\":\"x.mnc001.mcc001.attacker.example\"}",
    ),
    case(
        "profiles of the own network",
        Rule::Api,
        "DELETE /nnrf-nfm/v1/nf-instances/7c1ad2c4-0000-4000-8000-000000000001",
    ),
    case(
        "where a PCF notifies instead",
        Rule::Target,
        "POST /npcf-ue-policy-control/v1/policies\n\n{\"altNotifFqdns\":[\"redis\"]}",
    ),
    case(
        "where a PCF notifies, in the own network",
        Rule::CallbackUri,
        "POST /npcf-ue-policy-control/v1/policies\n\n\
         {\"notificationUri\":\"https://udr.5gc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1\"}",
    ),
    case(
        "a location service called back in the own network",
        Rule::CallbackUri,
        "POST /namf-comm/v1/ue-contexts/x/n1-n2-messages\n\n\
         {\"hgmlcCallBackURI\":\"http://udr.5gc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1\"}",
    ),
    case(
        "the binding of a header leads into the own network",
        Rule::CallbackUri,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-binding: bl=nf-instance; \
         callback-uri-prefix=http%3A%2F%2Fudr.5gc.mnc070.mcc999.3gppnetwork.org%2Fnudr-dr",
    ),
    case(
        "the binding of a member leads to an address",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/x/y\n\n{\"bindingInfo\":\"bl=nf-instance; callback-uri-prefix=http%3A%2F%2F10.0.0.1%3A80\"}",
    ),
    case(
        "an NRF in a header that is another function",
        Rule::CallbackUri,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-nrf-uri: nnrf-disc: http://udr.5gc.mnc070.mcc999.3gppnetwork.org:6379/x",
    ),
    case(
        "keys of a token at an address",
        Rule::CallbackUri,
        // {"alg":"ES256","x5u":"http://10.0.0.1:2379/v3/kv"}
        "GET /nudm-sdm/v2/x\n3gpp-sbi-client-credentials: \
         eyJhbGciOiJFUzI1NiIsIng1dSI6Imh0dHA6Ly8xMC4wLjAuMToyMzc5L3YzL2t2In0.e30.c2ln",
    ),
    // Networks.
    case(
        "a set of functions of a third network",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?target-nf-set-id=set1.udmset.5gc.mnc093.mcc208",
    ),
    case(
        "a set of functions in a header",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-producer-id: nfinst=1; nfset=set1.udmset.5gc.mnc093.mcc208",
    ),
    case(
        "a data network of a third operator",
        Rule::PlmnInJson,
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n{\"dnn\":\"internet.mnc093.mcc208.gprs\"}",
    ),
    case(
        "codes of a network within another serving network's name",
        Rule::Malformed,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5G:XXX093.XXX208.3gppnetwork.org.mnc001.mcc001\"}",
    ),
    case(
        "half of a network in a change",
        Rule::PlmnInJson,
        "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\n\
         content-type: application/json-patch+json\n\n[{\"op\":\"replace\",\"path\":\"/guami/plmnId/mcc\",\"value\":\"001\"}]",
    ),
    case(
        "a map's name that is a member elsewhere",
        Rule::PlmnInJson,
        "POST /nudm-ee/v1/imsi-999700000000001/ee-subscriptions\n\n\
         {\"monitoringConfigurations\":{\"sorInfo\":{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}}}",
    ),
    case(
        "a map's name that is a member elsewhere, in a change",
        Rule::PlmnInJson,
        "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"add\",\"path\":\"/monitoringConfigurations/sorInfo\",\"value\":{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}}]",
    ),
    case(
        "a subscriber of a third network in a URI",
        Rule::UeIdentity,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n\
         {\"monitoredResourceUris\":[\"http://udm.5gc.mnc070.mcc999.3gppnetwork.org/nudm-sdm/v2/imsi-208930000000001/x\"]}",
    ),
    case(
        "one change that is no list",
        Rule::Malformed,
        "POST /nnrf-nfm/v1/nf-status-notify\n\n{\"profileChanges\":{\"op\":\"ADD\",\"path\":\"/x\",\"newValue\":1}}",
    ),
    case(
        "two addresses of keys in one token",
        Rule::Malformed,
        // {"alg":"ES256","jku":"https://k.5gc.mnc001.mcc001.3gppnetwork.org/", and the same once more}
        "GET /nudm-sdm/v2/x\n3gpp-sbi-client-credentials: eyJhbGciOiJFUzI1NiIsImprdSI6Imh0dHBzOi8vay41Z2MubW5jMDAxLm1jYzAwMS4zZ3BwbmV0d29yay5vcmcvIiwiamt1IjoiaHR0cHM6Ly9rLjVnYy5tbmMwMDEubWNjMDAxLjNncHBuZXR3b3JrLm9yZy8ifQ.e30.c2ln",
    ),
    case(
        "a claim outside of a token",
        Rule::PlmnInJson,
        "POST /nudm-sdm/v2/x/y\n\n{\"iss\":{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}}",
    ),
    case(
        "changes in a part of several",
        Rule::CallbackUri,
        "PATCH /namf-callback/v1/x\ncontent-type: multipart/related; boundary=b\n\n--b\r\ncontent-type: application/json\r\n\r\n\
         [{\"op\":\"add\",\"path\":\"/callbackUri\",\"value\":\"https://udr.5gc.mnc070.mcc999.3gppnetwork.org/x\"}]\r\n\
         --b\r\ncontent-type: application/vnd.3gpp.5gnas\r\n\r\n\x7e\r\n--b--",
    ),
    case(
        "changes within a change",
        Rule::Malformed,
        "POST /nnrf-nfm/v1/nf-status-notify\n\n{\"profileChanges\":[{\"op\":\"ADD\",\"path\":\"/x\",\
         \"newValue\":{\"profileChanges\":[{\"op\":\"ADD\",\"path\":\"/y\",\"newValue\":1}]}}]}",
    ),
    // Subscribers.
    case(
        "a subscriber of two networks in a path",
        Rule::UeIdentity,
        "GET /nudm-sdm/v2/nai-1@mnc070.mcc999.nai.5gc.mnc093.mcc208.3gppnetwork.org/am-data",
    ),
    case(
        "a subscriber of a line in a path",
        Rule::UeIdentity,
        "GET /nudm-sdm/v2/gci-abc@5gc.mnc093.mcc208.3gppnetwork.org/am-data",
    ),
    case(
        "an external identifier in a path",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/extid-a@5gc.mnc093.mcc208.3gppnetwork.org/id-translation-result",
    ),
    case(
        "a concealed subscriber with codes behind the realm",
        Rule::UeIdentity,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"supiOrSuci\":\"suci-1-foreign.example-0000-0-0-mnc070.mcc999\"}",
    ),
    case(
        "a subscriber in a header",
        Rule::UeIdentity,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-correlation-info: imsi-208930000000001",
    ),
    case(
        "a parameter that is a URI before it is decoded once more",
        Rule::CallbackUri,
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM&\
         hnrf-uri=http%3A%2F%2Fnrf.5gc.mnc001.mcc001.3gppnetwork.org%252Fx%4010.0.0.1%2F",
    ),
    case(
        "a header of a discovery that is a URI before it is decoded",
        Rule::CallbackUri,
        "GET /nudm-sdm/v2/x\n3gpp-sbi-discovery-hnrf-uri: http://nrf.5gc.mnc001.mcc001.3gppnetwork.org%2Fx@10.0.0.1/",
    ),
    case(
        "the binding of a member with a comma in front of the host",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/x/y\n\n\
         {\"bindingInfo\":\"bl=nf-instance; callback-uri-prefix=http://udm.5gc.mnc001.mcc001.3gppnetwork.org,@10.0.0.1/x\"}",
    ),
    case(
        "the binding of a member with an encoded slash in front of the host",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/x/y\n\n\
         {\"bindingInfo\":\"bl=nf-instance; callback-uri-prefix=http://udm.5gc.mnc001.mcc001.3gppnetwork.org%2Fx@10.0.0.1/\"}",
    ),
    case(
        "several networks of a third country",
        Rule::PlmnInJson,
        "POST /npcf-ue-policy-control/v1/policies\n\n{\"visitedNetDescs\":[{\"mcc\":\"001\",\"mncs\":[\"01\",\"02\"]}]}",
    ),
    case(
        "a subscriber in a member of a change",
        Rule::UeIdentity,
        "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"remove\",\"path\":\"/x\",\"excludeSupiList\":[\"imsi-208930000000001\"]}]",
    ),
    case(
        "a URI among several network codes",
        Rule::CallbackUri,
        "POST /npcf-ue-policy-control/v1/policies\n\n\
         {\"newGuami\":{\"mcc\":\"208\",\"mncs\":[{\"notificationUri\":\"http://10.0.0.1/x\"}]}}",
    ),
    case(
        "a reference that has a host behind another scheme",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/x/y\n\n{\"resourceId\":\"urn://10.0.0.1/x\"}",
    ),
    case(
        "a copy of a member whose name was put in another case",
        Rule::CallbackUri,
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"add\",\"path\":\"/load\",\"value\":{\"Priority\":\"https://nrf.5gc.mnc070.mcc999.3gppnetwork.org/x\"}},\
         {\"op\":\"copy\",\"from\":\"/load/priority\",\"path\":\"/nfStatusNotificationUri\"}]",
    ),
    case(
        "a copy of one of two members that differ in case",
        Rule::CallbackUri,
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"add\",\"path\":\"/locality\",\"value\":\"https://nrf.5gc.mnc001.mcc001.3gppnetwork.org/x\"},\
         {\"op\":\"add\",\"path\":\"/LOCALITY\",\"value\":\"https://nrf.5gc.mnc070.mcc999.3gppnetwork.org/x\"},\
         {\"op\":\"copy\",\"from\":\"/locality\",\"path\":\"/nfStatusNotificationUri\"}]",
    ),
    case(
        "a copy from a place of which only a test has a value",
        Rule::Malformed,
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"test\",\"path\":\"/locality\",\"value\":\"https://nrf.5gc.mnc001.mcc001.3gppnetwork.org/x\"},\
         {\"op\":\"copy\",\"from\":\"/locality\",\"path\":\"/nfStatusNotificationUri\"}]",
    ),
    case(
        "a copy from a member that its place doesn't have",
        Rule::Malformed,
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{\"op\":\"add\",\"path\":\"/load\",\"value\":{\"priority\":1}},\
         {\"op\":\"copy\",\"from\":\"/load/capacity\",\"path\":\"/nfStatusNotificationUri\"}]",
    ),
];

pub const ANSWERS: &[(&str, Option<Rule>, &str, &str, &str)] = &[
    (
        "found function with a name of no network",
        Some(Rule::Target),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"fqdn":"localhost"}]}"#,
    ),
    (
        "found function with an address in front of its name",
        Some(Rule::Target),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"nfServices":[{"fqdn":"10.0.0.1?udm.5gc.mnc001.mcc001.3gppnetwork.org"}]}]}"#,
    ),
    (
        "found function whose path begins with a host",
        Some(Rule::Target),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"nfServices":[{"fqdn":"udm.5gc.mnc001.mcc001.3gppnetwork.org","apiPrefix":"@10.0.0.1:6379/x"}]}]}"#,
    ),
    (
        "found function whose path climbs",
        Some(Rule::Target),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"nfServices":[{"apiPrefix":"/../../nudr-dr/v2"}]}]}"#,
    ),
    (
        "found function that wants notifications in the own network",
        Some(Rule::CallbackUri),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"defaultNotificationSubscriptions":[{"callbackUri":"http://10.0.0.1/"}]}]}"#,
    ),
    (
        "another subscriber than the home's",
        Some(Rule::UeIdentity),
        "/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation",
        "",
        r#"{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-208930000000001"}"#,
    ),
    (
        "the asking network's own subscriber",
        Some(Rule::UeIdentity),
        "/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation",
        "",
        r#"{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-999700000000001"}"#,
    ),
    (
        "the home's subscriber",
        None,
        "/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation",
        "",
        r#"{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-001010000000001"}"#,
    ),
    (
        "network that an answer asserts",
        Some(Rule::PlmnInHeader),
        "/nudm-sdm/v2/x",
        "3gpp-sbi-asserted-plmn-id: 208-93",
        "",
    ),
    (
        "peer info of a third",
        Some(Rule::PlmnInHeader),
        "/nudm-sdm/v2/x",
        "3gpp-sbi-nf-peer-info: srcsepp=sepp.5gc.mnc093.mcc208.3gppnetwork.org",
        "",
    ),
    (
        "binding to an address",
        Some(Rule::CallbackUri),
        "/nudm-sdm/v2/x",
        "3gpp-sbi-binding: bl=nf-instance; apiroot=//10.0.0.1/",
        "",
    ),
];

/// In any spelling that a case-insensitive reader accepts.
#[test]
fn no_address_of_the_peers_inside_is_left() {
    let guard = guard(ANY_MEMBER);
    for body in [
        r#"{"nfInstances":[{"nfServices":[{"ipEndPoints":[{"IPV4ADDRESS":"10.0.0.1","port":80}]}]}]}"#,
        r#"{"nfInstances":[{"scpInfo":{"scpDomainInfoList":{"d":{"scpIpEndPoints":[{"ipv4Address":"10.0.0.1","port":80}]}}}}]}"#,
        r#"{"nfInstances":[{"gmIpv4Addresses":["10.0.0.1"],"altNotifIpv4Addrs":["10.0.0.1"]}]}"#,
        r#"{"nfInstances":[{"ipEndPoints":[{"port":{"ipEndPoints":[{"ipv4Address":"10.0.0.1"}]}}]}]}"#,
    ] {
        let left = incoming_answer(&guard, "/nnrf-disc/v1/nf-instances", "", body);
        assert!(left.is_ok_and(|left| !left.contains("10.0.0.1")), "{body}");
    }
}

/// If a local function repeated the name, it would be hidden, and hidden names are always reachable.
#[test]
fn a_request_names_only_what_the_peer_may_reach() {
    const ALL: &str = "";
    const SOME: &str = "[sbi]\nallowed-targets = [\"nrf.5gc.mnc070.mcc999.3gppnetwork.org\"]";
    let judged = |targets: &str, host: &str| {
        let body = format!(
            "{{\"monitoredResourceUris\":[\"http://{host}.5gc.mnc070.mcc999.3gppnetwork.org/nudm-sdm/v2/x\"]}}"
        );
        incoming(
            &guard(targets),
            &format!("POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{body}"),
        )
        .err()
        .map(|refusal| refusal.rule)
    };
    assert_eq!([judged(ALL, "udr"), judged(SOME, "nrf")], [None, None]);
    assert_eq!(judged(SOME, "udr"), Some(Rule::Target));
}

/// Copies of all placed values, under long pointers, would take gigabytes.
#[test]
fn a_pointer_has_few_tokens() {
    let judged = |tokens: usize| {
        let path = "/1".repeat(tokens);
        let copy = r#"{"op":"copy","from":"","path":"/x"}"#;
        let copies = [copy; 7].join(",");
        let text = format!(
            "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\ncontent-type: application/json-patch+json\n\n\
             [{{\"op\":\"add\",\"path\":\"{path}\",\"value\":1}},{copies}]"
        );
        incoming(&guard(ANY_MEMBER), &text).err().map(|refusal| refusal.rule)
    };
    assert_eq!([judged(24), judged(33)], [None, Some(Rule::Malformed)]);
    assert_eq!(judged(130_000), Some(Rule::Malformed));
}

/// What a log-only rule lets pass is still judged by the others.
#[test]
fn a_rule_that_only_logs_hides_nothing_from_other_rules() {
    let lie = "{\"guami\":{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}}";
    let judged = |log_only: &str, text: &str| {
        let guard = guard(&format!("[guard]\nlog-only = [\"unknown-member\", \"{log_only}\"]"));
        incoming(&guard, text).err().map(|refusal| refusal.rule)
    };
    let typed =
        format!("POST /nudm-sdm/v2/x/y\ncontent-type: application/merge-patch+json\n\n{lie}");
    assert_eq!(judged("content-type", &typed), Some(Rule::PlmnInJson));
    let parts = format!(
        "POST /namf-comm/v1/ue-contexts/x/n1-n2-messages\ncontent-type: multipart/related; boundary=b\n\n\
         --b\r\ncontent-type: text/plain\r\n\r\nx\r\n--b\r\ncontent-type: application/json\r\n\r\n{lie}\r\n--b--"
    );
    assert_eq!(judged("content-type", &parts), Some(Rule::PlmnInJson));
    for code in ["1", "true", "[\"208\"]", "{\"x\":1}", "1.5", "-1"] {
        let text =
            format!("POST /nudm-sdm/v2/x/y\n\n{{\"plmnId\":{{\"mcc\":{code}}},{}", &lie[1..]);
        assert_eq!(judged("enc-block-index", &text), Some(Rule::Malformed), "{code}");
        assert_eq!(judged("malformed", &text), Some(Rule::PlmnInJson), "{code}");
    }
    // A value in the place of a code is judged like any other.
    let subscriber = "POST /nudm-sdm/v2/x/y\n\n{\"plmnId\":{\"mcc\":[\"imsi-208930000000001\"]}}";
    assert_eq!(judged("malformed", subscriber), Some(Rule::UeIdentity));
    let limited = |log_only: &str| {
        let guard = guard(&format!(
            "[peer.visited.guard]\nrate = {{ requests = 2, requests-per-service = 1 }}\n[guard]\nlog-only = [{log_only}]"
        ));
        [(); 3].map(|()| incoming(&guard, "GET /nudm-sdm/v2/x").err().map(|refusal| refusal.rule))
    };
    assert_eq!(limited(""), [None, Some(Rule::RateOfService), Some(Rule::RateOfService)]);
    assert_eq!(limited("\"rate-of-service\""), [None, None, Some(Rule::Rate)]);
}

/// Each copy searches all placed values: a short list of changes must not be long to judge.
#[test]
fn a_list_of_changes_has_few_copies() {
    let copy = r#"{"op":"copy","from":"/dnn/0/0","path":"/dnai"}"#;
    let judged = |copies: usize| {
        let body =
            [r#"{"op":"add","path":"/dnn","value":[[]]}"#].into_iter().chain(vec![copy; copies]);
        let body = body.collect::<Vec<_>>().join(",");
        let text = format!(
            "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\ncontent-type: application/json-patch+json\n\n[{body}]"
        );
        incoming(&guard(""), &text).err().map(|refusal| refusal.rule)
    };
    assert_eq!([judged(64), judged(65)], [None, Some(Rule::Malformed)]);
}
