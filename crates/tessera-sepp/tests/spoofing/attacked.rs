//! Messages that an attacker with a valid certificate once got past the rules.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::message::{guard, incoming, incoming_answer};

/// A local function that no peer may reach.
const OWN: &str = "http://udr.5gc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1/x";
const PEERS: &str = "http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x";

fn refuses(requests: &[String]) {
    let guard = guard("");
    let passed: Vec<_> = requests.iter().filter(|text| incoming(&guard, text).is_ok()).collect();
    assert!(passed.is_empty(), "{passed:#?}");
}

fn encoded(text: &str, times: u32) -> String {
    (0..times).fold(text.to_owned(), |text, _| {
        text.bytes().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "%{byte:02X}");
            out
        })
    })
}

/// evanphx's patches, which free5GC's NRF applies, count from the end of lists; cJSON's ignore case.
#[test]
fn a_patch_is_followed_as_its_receivers_follow_it() {
    let patch = |operations: String| {
        format!(
            "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n[{operations}]"
        )
    };
    let to = r#""path":"/nfStatusNotificationUri""#;
    let network = r#"{"mcc":"999","mnc":"70"}"#;
    let raw = r#""$serde_json::private::RawValue":"{""#;
    let add =
        |path: &str, value: &str| format!(r#"{{"op":"add","path":"{path}","value":{value}}},"#);
    let copy = |from: &str, to: &str| format!(r#"{{"op":"copy","from":"{from}",{to}}}"#);
    refuses(&[
        patch(add("/x", &format!(r#"{{{raw},"b":"{OWN}"}}"#)) + &copy("/x/b", to)),
        patch(add("/x", &format!(r#"{{{raw},"b":"10.0.0.1:80/x"}}"#)) + &copy("/x/b", to)),
        patch(
            add("/x", &format!(r#"{{{raw},"b":{network}}}"#))
                + &copy("/x/b", r#""path":"/reqPlmnList/0""#),
        ),
        patch(add("/x", &format!(r#"["{OWN}"]"#)) + &copy("/x/-1", to)),
        patch(add("/x", &format!(r#"["{OWN}"]"#)) + &copy("/x/+0", to)),
        patch(add("/x", &format!("[{network}]")) + &copy("/x/-1", r#""path":"/reqPlmnList/0""#)),
        patch(
            add("/x", &format!(r#"["{PEERS}"]"#))
                + &add("/x/-1", &format!(r#""{OWN}""#))
                + &copy("/x/0", to),
        ),
        patch(
            add("/DNN", &format!(r#""{PEERS}""#))
                + &add("/dnn", &format!(r#""{OWN}""#))
                + &copy("/DNN", to),
        ),
        patch(add("/x", &format!(r#"{{"a":"{OWN}"}}"#)) + &copy("/x/A", to)),
    ]);
}

/// open5gs decodes some parameters again, leniently.
#[test]
fn a_parameter_that_is_partly_encoded_twice_is_refused() {
    let guami = r#"{"plmnId":{"mcc":"208","mnc":"93"},"amfId":"020040"}"#;
    let asked = "GET /nnrf-disc/v1/nf-instances?target-nf-type=AMF&requester-nf-type=SMF";
    let form = "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
                grant_type=client_credentials&requesterSnssaiList=";
    refuses(&[
        format!("{asked}&guami={}%25", encoded(guami, 2)),
        format!("{asked}&guami=%25FF{}", encoded(guami, 2)),
        format!("{asked}&tai={}%2520%25", encoded(&guami.replace("amfId", "tac"), 2)),
        format!("{form}{}%25", encoded(guami, 2)),
    ]);
}

/// free5GC's NRF treats each atom of a complex query as a parameter, and its value as JSON text.
#[test]
fn atoms_of_a_complex_query_are_parameters() {
    let asked = |name: &str, value: &str| {
        let atom =
            format!(r#"{{"cnfUnits":[{{"cnfUnit":[{{"attr":"{name}","value":{value}}}]}}]}}"#);
        let asked = "GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM";
        format!("{asked}&complex-query={}", encoded(&atom, 1))
    };
    refuses(&[
        asked("requester-plmn-list", r#"[{"mcc":"999","mnc":"70"}]"#),
        asked("requester-plmn-list", r#""[{\"mcc\":\"208\",\"mnc\":\"93\"}]""#),
        asked("guami", r#""{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"},\"amfId\":\"020040\"}""#),
        asked("requester-nf-instance-fqdn", r#""amf.5gc.mnc070.mcc999.3gppnetwork.org""#),
    ]);
    let honest = asked("requester-plmn-list", r#"[{"mcc":"001","mnc":"01"}]"#);
    assert!(incoming(&guard(""), &honest).is_ok());
}

#[test]
fn an_answer_leads_into_its_senders_network() {
    let own = |before: &str, after: &str| format!("{before}{OWN}{after}");
    for (asked, header, body) in [
        (
            "/namf-comm/v1/ue-contexts/imsi-001010000000001/transfer",
            "",
            r#"{"ueContext":{"eventSubscriptionList":[{"eventNotifyUri":"http://10.0.0.1:8080/x"}]}}"#.to_owned(),
        ),
        (
            "/nnrf-nfm/v1/nf-instances/1",
            "",
            r#"{"defaultNotificationSubscriptions":[{"callbackUri":"http://10.0.0.1:8080/x"}]}"#.to_owned(),
        ),
        (
            "/nudm-sdm/v2/imsi-001010000000001/trace-data",
            "",
            r#"{"traceRef":"001-01-000001","traceReportingConsumerUri":"http://10.0.0.1/x"}"#.to_owned(),
        ),
        (
            "/nnssf-nsselection/v2/network-slice-information",
            "",
            own(r#"{"nsiInformation":{"nrfId":""#, r#"","nsiId":"1"}}"#),
        ),
        (
            "/nnssf-nsselection/v2/network-slice-information",
            "",
            r#"{"nsiInformation":{"nrfId":"10.0.0.1/nnrf-disc/v1","nsiId":"1"}}"#.to_owned(),
        ),
        ("/namf-evts/v1/subscriptions", "", own(r#"{"subscription":{},"subscriptionId":""#, r#""}"#)),
        (
            "/namf-evts/v1/subscriptions",
            "",
            r#"{"subscription":{},"subscriptionId":"10.0.0.1/v1/kv"}"#.to_owned(),
        ),
        (
            "/nnrf-disc/v1/nf-instances",
            "",
            r#"{"nfInstances":[{"scpInfo":{"scpDomainInfoList":{"a":{"scpFqdn":"udr.5gc.mnc070.mcc999.3gppnetwork.org"}}}}]}"#.to_owned(),
        ),
        ("/nudm-sdm/v2/x", "3gpp-sbi-nrf-uri: nnrf-disc: \"//10.0.0.1/x\"", String::new()),
    ] {
        let passed = incoming_answer(&guard(""), asked, header, &body);
        assert!(passed.is_err(), "{asked}: {header} {body}");
    }
}

#[test]
fn a_request_has_callbacks_and_subscribers_of_its_sender() {
    let root = "http://udr.5gc.mnc070.mcc999.3gppnetwork.org";
    refuses(&[
        format!(
            "PUT /namf-comm/v1/ue-contexts/imsi-001010000000001\n\n\
             {{\"ueContext\":{{\"updpSubscriptionData\":{{\"updpNotifyCallbackUri\":\"{OWN}\"}}}}}}"
        ),
        format!("POST /nsmf-pdusession/v1/pdu-sessions\n\n{{\"interPlmnApiRoot\":\"{root}\"}}"),
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"supiOrSuci\":\"suci-x-208-93-0-0-0-0mnc070.mcc999.3gppnetwork.org-0-0-0-1\"}"
            .into(),
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5gc.mnc93.mcc208.3gppnetwork.org.mnc001.mcc001\"}"
            .into(),
        "GET /nudm-sdm/v2/%20imsi-208930000000001/am-data".into(),
    ]);
}

/// Each list of changes could place 512 KiB: 255 kB of them took as long as 100 MB of JSON.
#[test]
fn all_lists_of_changes_of_a_message_have_few_copies_together() {
    let mut changes =
        vec![format!(r#"{{"op":"ADD","path":"/dnn","newValue":[{}]}}"#, vec!["1"; 450].join(","))];
    changes.extend((0..7).map(|_| r#"{"op":"COPY","from":"","path":"/dnn"}"#.to_owned()));
    let list = format!(r#"{{"profileChanges":[{}]}}"#, changes.join(","));
    let body = format!("[{}]", vec![list.clone(); 255_000 / (list.len() + 1)].join(","));
    let begun = Instant::now();
    let judged = incoming(&guard(""), &format!("POST /nnrf-nfm/v1/nf-status-notify\n\n{body}"));
    assert!(judged.is_err());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}
