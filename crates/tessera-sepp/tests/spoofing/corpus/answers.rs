//! Answers of a peer.

use tessera_sepp::guard::Rule;

/// What it is, the rule, the path of the request, a header of the answer, and its body.
pub const ANSWERS: &[(&str, Option<Rule>, &str, &str, &str)] = &[
    (
        "found functions",
        None,
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"validityPeriod":30,"nfInstances":[{"nfInstanceId":"a","nfType":"AUSF","plmnList":[{"mcc":"001","mnc":"01"}],
           "fqdn":"ausf.5gc.mnc001.mcc001.3gppnetwork.org","allowedPlmns":[{"mcc":"208","mnc":"93"}]}]}"#,
    ),
    (
        "found functions of the asking network",
        Some(Rule::PlmnInJson),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"plmnList":[{"mcc":"999","mnc":"70"}]}]}"#,
    ),
    (
        "found functions with a third's name",
        Some(Rule::PlmnInJson),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"plmnList":[{"mcc":"001","mnc":"01"}],"fqdn":"udm.5gc.mnc093.mcc208.3gppnetwork.org"}]}"#,
    ),
    (
        "found AMF of a third",
        Some(Rule::PlmnInJson),
        "/nnrf-disc/v1/nf-instances",
        "",
        r#"{"nfInstances":[{"amfInfo":{"guamiList":[{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"020040"}]}}]}"#,
    ),
    (
        "steering to third networks",
        None,
        "/nudm-sdm/v2/imsi-1/am-data",
        "",
        r#"{"sorInfo":{"steeringContainer":[{"plmnId":{"mcc":"208","mnc":"93"}}]},"gpsis":["msisdn-491"]}"#,
    ),
    (
        "sessions in third networks",
        None,
        "/nudm-sdm/v2/imsi-1/ue-context-in-smf-data",
        "",
        r#"{"pduSessions":{"5":{"plmnId":{"mcc":"208","mnc":"93"}}}}"#,
    ),
    (
        "PRINS' block",
        Some(Rule::EncBlockIndex),
        "/nudm-sdm/v2/x",
        "",
        r#"{"a":[{"encBlockIndex":1}]}"#,
    ),
    ("broken JSON", Some(Rule::Malformed), "/nudm-sdm/v2/x", "", r#"{"a":[}"#),
    (
        "link to a third network",
        Some(Rule::CallbackUri),
        "/nausf-auth/v1/ue-authentications",
        "",
        r#"{"_links":{"5g-aka":{"href":"http://ausf.5gc.mnc093.mcc208.3gppnetwork.org/x"}}}"#,
    ),
    (
        "link of the peer",
        None,
        "/nausf-auth/v1/ue-authentications",
        "location: http://ausf.5gc.mnc001.mcc001.3gppnetwork.org/nausf-auth/v1/ue-authentications/1",
        r#"{"_links":{"5g-aka":{"href":"http://ausf.5gc.mnc001.mcc001.3gppnetwork.org/x/nausf-auth/v1/ue-authentications/1"}}}"#,
    ),
    (
        "header of a third network",
        Some(Rule::PlmnInHeader),
        "/nudm-sdm/v2/x",
        "3gpp-sbi-originating-network-id: 208-93",
        "",
    ),
    (
        "location that is unclear",
        Some(Rule::CallbackUri),
        "/nudm-sdm/v2/x",
        "location: http://a@b/",
        "",
    ),
    (
        "token for a third",
        Some(Rule::PlmnInToken),
        "/oauth2/token",
        "",
        r#"{"access_token":"eyJhbGciOiJFUzI1NiJ9.eyJjb25zdW1lclBsbW5JZCI6eyJtY2MiOiIyMDgiLCJtbmMiOiI5MyJ9fQ.c2ln"}"#,
    ),
];
