//! Queries, patches, parts and names that lead one reader elsewhere than another, or never end.

use std::fmt::Write;

use tessera_sepp::guard::Rule;

use crate::message::{guard, incoming, incoming_answer, outgoing, passes, request, with};

const OWN: &str = "http://udr.5gc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1/x";
const PEERS: &str = "http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x";

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "%{byte:02X}");
        out
    })
}

fn refuses(requests: &[String]) {
    let guard = guard("");
    let passed: Vec<_> = requests.iter().filter(|text| incoming(&guard, text).is_ok()).collect();
    assert!(passed.is_empty(), "{passed:#?}");
}

fn patch(operations: &str) -> String {
    format!(
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n[{operations}]"
    )
}

fn nested(depth: usize) -> String {
    (0..depth)
        .fold("1".to_owned(), |value, _| format!(r#"{{"attr":"complexQuery","value":{value}}}"#))
}

/// Each level would double the work: 60 levels, 3 kB, would never end.
#[test]
fn a_complex_query_has_no_other_in_it() {
    let query = nested(60);
    let mut asked = vec![
        format!("GET /nnrf-disc/v1/nf-instances?complexQuery={}", encoded(&query)),
        format!("GET /nudr-dr/v1/not-allowed?complex-query={}", encoded(&query)),
        format!("GET /nudm-sdm/v2/x\n3gpp-sbi-discovery-complex-query: {query}"),
    ];
    // Its name and its value encoded once more.
    let again = nested(2).replace("complexQuery", "complexQuer%79");
    asked.push(format!("GET /nnrf-disc/v1/nf-instances?complexQuery={}", encoded(&again)));
    refuses(&asked);
    let header = format!("3gpp-sbi-discovery-complex-query: {query}");
    assert!(incoming_answer(&guard(""), "/nudm-sdm/v2/x", &header, "").is_err());
}

/// It ends even if the rule only logs.
#[test]
fn a_nested_complex_query_ends_where_its_rule_only_logs() {
    let guard = guard("[guard]\nlog-only = [\"malformed\", \"unknown-member\"]");
    let text = format!("GET /nnrf-disc/v1/nf-instances?complexQuery={}", encoded(&nested(24)));
    drop(incoming(&guard, &text));
}

/// serde_json rejects a form feed, but `trim_ascii_start` strips it.
#[test]
fn atoms_behind_a_form_feed_are_parameters() {
    let asked =
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF&complex-query";
    let atom = |name: &str, value: &str| {
        format!(r#""cnfUnits":[{{"cnfUnit":[{{"attr":"{name}","value":{value}}}]}}]}}"#)
    };
    let raw = r#""dnnConfigurations":{"$serde_json::private::RawValue":"{"},"#;
    let mut all = Vec::new();
    for (name, value) in [
        ("requester-plmn-list", r#"[{"mcc":"999","mnc":"70"}]"#),
        ("requester-nf-instance-fqdn", r#""amf.5gc.mnc070.mcc999.3gppnetwork.org""#),
        ("guami", r#""{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"},\"amfId\":\"020040\"}""#),
    ] {
        all.push(format!("{asked}=%0C%7B{}", encoded(&atom(name, value))));
        all.push(format!(
            "{asked}=%250C{}",
            encoded(&encoded(&format!("{{{}", atom(name, value))))
        ));
        all.push(format!("{asked}=%7B{}", encoded(&format!("{raw}{}", atom(name, value)))));
    }
    refuses(&all);
}

/// Most receivers respect case: a value that the patch placed under another spelling doesn't determine what the copy
/// reads.
#[test]
fn a_copy_from_another_spelling_is_from_an_unseen_place() {
    let put = |value: &str| format!(r#"{{"op":"add","path":"/LOCALITY","value":{value}}}"#);
    let to =
        |op: &str, path: &str| format!(r#"{{"op":"{op}","from":"/locality","path":"{path}"}}"#);
    let uri = format!("\"{PEERS}\"");
    refuses(&[
        patch(&format!("{},{}", put(&uri), to("copy", "/nfStatusNotificationUri"))),
        patch(&format!("{},{}", put(&uri), to("move", "/nfStatusNotificationUri"))),
        patch(&format!("{},{}", put(r#"{"mcc":"001","mnc":"01"}"#), to("copy", "/reqPlmnList/0"))),
        format!(
            "POST /nnrf-nfm/v1/nf-status-notify\n\n{{\"event\":\"NF_PROFILE_CHANGED\",\"nfInstanceUri\":\"{PEERS}\",\"profileChanges\":[\
             {{\"op\":\"ADD\",\"path\":\"/LOCALITY\",\"newValue\":\"amf.5gc.mnc001.mcc001.3gppnetwork.org\"}},\
             {{\"op\":\"MOVE\",\"from\":\"/locality\",\"path\":\"/fqdn\"}}]}}"
        ),
    ]);
}

/// It would be compared with each name of a map.
#[test]
fn a_pointer_is_no_longer_than_any_of_an_api() {
    let copy = |len: usize| {
        let from = "z".repeat(len);
        let put = r#"{"op":"add","path":"/dnnConfigurations","value":{"zz":1}}"#;
        patch(&format!(
            r#"{put},{{"op":"copy","from":"/dnnConfigurations/{from}","path":"/load"}}"#
        ))
    };
    refuses(&[copy(1024), copy(100_000)]);
}

#[test]
fn codes_go_on_as_they_were_read() {
    let body = r#"{"requesterPlmnList":[{"mcc":"001","mncs":["01","01"]}]}"#;
    let (mut parts, mut sent) =
        request(&format!("POST /nnrf-nfm/v1/subscriptions\n\n{}", body.replace(',', " , ")));
    let guard = guard("");
    passes(with(|it| guard.incoming_request(it, &mut parts, Some(&mut sent))));
    assert_eq!(sent, body);
}

#[test]
fn a_copy_is_judged_by_what_was_put_where_it_comes_from_alone() {
    let uri = format!("\"{PEERS}\"");
    passes(incoming(
        &guard(""),
        &patch(&format!(
            r#"{{"op":"add","path":"/load","value":5}},
               {{"op":"add","path":"/nfStatusNotificationUri","value":{uri}}},
               {{"op":"copy","from":"/nfStatusNotificationUri","path":"/nfInstanceUri"}}"#
        )),
    ));
}

#[test]
fn mncs_other_than_a_list_of_texts_are_malformed() {
    let guard = guard("");
    let asked = |mncs: &str| {
        let body = format!(r#"{{"newGuami":{{"plmnId":{{"mcc":"001","mncs":{mncs}}}}}}}"#);
        let text = format!("POST /npcf-ue-policy-control/v1/policies\n\n{body}");
        incoming(&guard, &text).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(asked(r#"["01","02"]"#), Ok(()));
    let deep = (0..70).fold("[]".to_owned(), |value, _| format!(r#"{{"mncs":{value}}}"#));
    assert_eq!(asked(&deep), Err(Rule::JsonDepth));
    let sides = |mncs: &str| {
        let body = format!(r#"{{"requesterPlmnList":[{{"mcc":"001","mncs":{mncs}}}]}}"#);
        let text = format!("POST /nnrf-nfm/v1/subscriptions\n\n{body}");
        incoming(&guard, &text).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(sides(r#"["01"]"#), Ok(()));
    assert_eq!(sides(r#"["01","93"]"#), Err(Rule::PlmnInJson));
    for list in ["[]", "[1]", "\"01\"", "{}", "null", r#"["01",["01"]]"#] {
        assert_eq!(sides(list), Err(Rule::Malformed), "{list}");
    }
}

/// cJSON_Parse stops at the end of the value, whatever follows.
#[test]
fn json_in_a_binary_part_is_found_whatever_its_first_name() {
    let part = |content: &str| {
        format!(
            "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=b\n\n\
             --b\r\ncontent-type: application/json\r\n\r\n{{}}\r\n--b\r\n\
             content-type: application/vnd.3gpp.ngap\r\ncontent-id: n2\r\n\r\n{content}\r\n--b--\r\n"
        )
    };
    refuses(&[
        part("{\"\":0,\"supi\":\"imsi-208930000000001\"}\u{1}"),
        part("{\"\\\"\":0,\"supi\":\"imsi-208930000000001\"}\u{1}"),
        part("{\"\u{e9}\":0,\"supi\":\"imsi-208930000000001\"}\u{1}"),
        part("[\"imsi-208930000000001\"]\u{1}"),
    ]);
}

/// Hosts without a scheme, as curl accepts them.
#[test]
fn a_reference_begins_with_no_host() {
    let guard = guard("");
    let passed = |text: &&str| {
        let body = format!(r#"{{"nsiInformation":{{"nrfId":"{text}","nsiId":"1"}}}}"#);
        incoming_answer(&guard, "/nnssf-nsselection/v2/network-slice-information", "", &body)
            .is_ok()
    };
    let all = [
        "127.1:80/nnrf-disc/v1",
        "2130706433/x",
        "0x0a000001/x",
        "10.0.0.1./x",
        "%31%30.0.0.1/x",
        "10.0.0.1%2Fx",
        "@10.0.0.1/x",
        "0@10.0.0.1:6379/x",
        "1:x@10.0.0.1:6379/x",
        "1://10.0.0.1/x",
        "udr.5gc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1",
    ];
    let passed: Vec<_> = all.iter().filter(|text| passed(text)).collect();
    assert!(passed.is_empty(), "{passed:#?}");
}

/// `uris` skips headers without a letter and colon, and URIs in the middle of a token.
#[test]
fn a_host_in_a_header_is_found() {
    let guard = guard("");
    let all = [
        "3gpp-sbi-routing-binding: bl=nf-set; callback-uri-prefix=ftp.example/x",
        "3gpp-sbi-oci: x=\"//10.0.0.1/x\"",
        "www-authenticate: Bearer realm=\"//10.0.0.1/x\"",
        "3gpp-sbi-binding: bl=nf-set; x=\"//10.0.0.1/x\"",
        "3gpp-sbi-nrf-uri: nnrf-disc:http:/10.0.0.1/x",
        "3gpp-sbi-nrf-uri: nnrf-disc: 10.0.0.1:8080/x",
        "3gpp-sbi-oci: Callback-Uri:http:/10.0.0.1/x",
        "3gpp-sbi-oci: \"a\"&http:10.0.0.1/x",
        "3gpp-sbi-nrf-uri: nnrf-disc: \"ftp:10.0.0.1/x\"",
    ];
    let passed: Vec<_> = all
        .iter()
        .filter(|head| incoming_answer(&guard, "/nudm-sdm/v2/x", head, "").is_ok())
        .collect();
    let tab = incoming(
        &guard,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n3gpp-sbi-correlation-info: x\timsi-208930000000001",
    );
    assert!(passed.is_empty() && tab.is_err(), "{passed:#?} {tab:?}");
}

/// A telescopic name represents a function of any peer.
#[test]
fn a_peer_has_no_use_for_a_telescopic_name() {
    let domain = "sepp1.5gc.mnc070.mcc999.3gppnetwork.org";
    let guard = guard(&format!("[sbi]\ntelescopic-domain = \"{domain}\""));
    for member in ["hsmfPduSessionUri", "nrfUri", "smContextRef"] {
        let text = format!(
            "POST /nsmf-pdusession/v1/pdu-sessions\n\n{{\"{member}\":\"http://smf-n208093.{domain}/x\"}}"
        );
        assert_eq!(incoming(&guard, &text).unwrap_err().rule, Rule::CallbackUri, "{member}");
    }
    let text = format!("POST /nnrf-nfm/v1/subscriptions\n\n{{\"fqdn\":\"amf-n208093.{domain}\"}}");
    assert_eq!(incoming(&guard, &text).unwrap_err().rule, Rule::Target);
}

/// Two types whose lists of changes are judged as plain JSON.
#[test]
fn a_json_patch_sent_as_another_json_type_is_refused() {
    let list = format!(r#"[{{"op":"add","path":"/nfStatusNotificationUri","value":"{OWN}"}}]"#);
    refuses(&["problem+json", "3gppHal+json"].map(|kind| {
        format!("PATCH /nsmf-callback/v1/x\ncontent-type: application/{kind}\n\n{list}")
    }));
}

/// Returns what a local function sends, as the peer gets it.
fn sent(text: &str) -> String {
    let guard = guard("");
    let (mut parts, mut body) = request(text);
    let verdict = with(|it| guard.outgoing_request(it, &mut parts, Some(&mut body)));
    drop(verdict.unwrap());
    String::from_utf8(body.to_vec()).unwrap()
}

/// A peer chooses the path of its callback, and so the service by which the notification is judged.
#[test]
fn profiles_are_hidden_at_any_path_that_a_peer_chose() {
    let profile = r#"{"nfProfile":{"ipv4Addresses":["10.0.0.7"],"nfServices":[{"ipEndPoints":[{"ipv4Address":"10.0.0.7","port":7777}]}]}}"#;
    for path in [
        "/x",
        "/nnrf-nfm/v1/nf-status-notify",
        "/namf-callback/v1/x",
        "/nudm-sdm/v2/x",
        "/nausf-auth/v1/x",
    ] {
        let subscribe = format!(
            "POST /nnrf-nfm/v1/subscriptions\n\n{{\"nfStatusNotificationUri\":\"http://smf.5gc.mnc001.mcc001.3gppnetwork.org{path}\"}}"
        );
        assert!(incoming(&guard(""), &subscribe).is_ok(), "{path}");
        let sent = sent(&format!("POST {path}\n\n{profile}"));
        assert!(!sent.contains("10.0.0.7"), "{path}: {sent}");
    }
}

/// A peer's text isn't part of the line's message, where nothing would quote it.
#[test]
fn text_from_a_peer_adds_no_fields_to_a_log_line() {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tessera_proxy::logging::{self, LogFormat, LogOptions, tracing};
    use tessera_sepp::n32c::association::{Event, Failure, Observer as _};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let events = tessera_sepp::events::Events::new(tessera_sepp::metrics::Metrics::unregistered());
    let lines = Lines::default();
    let (log, subscriber) =
        logging::log_to(lines.clone(), LogOptions::new(LogFormat::Text)).unwrap();
    let peer = crate::message::PEER.parse().unwrap();
    let detail = "x event=refused rule=plmn-in-json peer=sepp.third.org \u{202e}".to_owned();
    let failure =
        Failure::Refused { status: http::StatusCode::FORBIDDEN, detail, retry_after: None };
    tracing::subscriber::with_default(subscriber, || {
        events.on(&Event::Failed { peer: &peer, failure: &failure });
    });
    log.finish();
    let line = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    // Quoted text is a value.
    let fields: String = line.split('"').step_by(2).collect();
    assert!(fields.contains(" event=n32c_failed") && !fields.contains("event=refused"), "{line}");
    assert!(!line.contains('\u{202e}'), "{line}");
}

#[test]
fn a_network_id_has_nothing_in_front_of_it() {
    let asked = |id: &str| {
        let text = format!("GET /nudm-sdm/v2/x\n3gpp-sbi-originating-network-id: {id}");
        incoming(&guard(""), &text).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(asked("001-01"), Ok(()));
    assert_eq!(asked("x.mnc001.mcc001-999-70"), Err(Rule::Malformed));
    let info = "GET /nudm-sdm/v2/x\n3gpp-sbi-nf-peer-info: dst=1 srcsepp=sepp.5gc.mnc070.mcc999.3gppnetwork.org";
    assert_eq!(incoming(&guard(""), info).unwrap_err().rule, Rule::PlmnInHeader);
}

/// A name that only looks like a callback's must lead to the sender, in a query and in a patch.
#[test]
fn a_callback_by_its_name_alone_is_of_the_sender() {
    let guard = guard("[guard]\nlog-only = [\"unknown-member\"]");
    let rule = |text: &str| incoming(&guard, text).err().map(|refusal| refusal.rule);
    let query = |uri: &str| format!("GET /nudm-sdm/v2/x?x2NotifyUri={}", encoded(uri));
    assert_eq!(rule(&query(PEERS)), None);
    assert_eq!(rule(&query(OWN)), Some(Rule::CallbackUri));
    let put =
        |uri: &str| patch(&format!(r#"{{"op":"add","path":"/x2NotifyUri","value":"{uri}"}}"#));
    assert_eq!(rule(&put(PEERS)), None);
    assert_eq!(rule(&put(OWN)), Some(Rule::CallbackUri));
}

#[test]
fn a_text_below_a_network_is_no_network() {
    let guard = guard("[guard]\nlog-only = [\"unknown-member\"]");
    let body = r#"{"requesterPlmn":{"mcc":"001","mnc":"01","vendorX":"some words"}}"#;
    let judged = incoming(&guard, &format!("POST /nnrf-nfm/v1/subscriptions\n\n{body}"));
    assert_eq!(judged.unwrap().logged.len(), 1);
}

/// A map's name makes no map of its value.
#[test]
fn a_member_below_the_name_of_a_map_in_a_map_is_known_or_refused() {
    let asked = |name: &str| {
        let body = format!(r#"{{"dnnConfigurations":{{"{name}":{{"secretMember":1}}}}}}"#);
        incoming(&guard(""), &format!("POST /nnrf-nfm/v1/subscriptions\n\n{body}"))
    };
    for name in ["internet", "dnnConfigurations"] {
        assert_eq!(asked(name).unwrap_err().rule, Rule::UnknownMember, "{name}");
    }
}

#[test]
fn a_key_in_a_token_is_in_the_senders_network_too() {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let header = r#"{"jwk":{"kty":"EC","x5u":"gopher://10.0.0.1:6379/_INFO"}}"#;
    let [header, claims] = [header, "{}"].map(|part| URL_SAFE_NO_PAD.encode(part));
    let text = format!("GET /nudm-sdm/v2/x\nauthorization: Bearer {header}.{claims}.c2ln");
    assert_eq!(incoming(&guard(""), &text).unwrap_err().rule, Rule::CallbackUri);
    let header = URL_SAFE_NO_PAD.encode(r#"{"zz9":"udm.5gc.mnc093.mcc208.3gppnetwork.org"}"#);
    let text = format!("GET /nudm-sdm/v2/x\nauthorization: Bearer {header}.{claims}.c2ln");
    let refusal = incoming(&guard(""), &text).unwrap_err();
    assert_eq!((refusal.rule, refusal.field), (Rule::PlmnInToken, "JOSE header"));
}

#[test]
fn an_own_function_names_its_places_as_it_likes() {
    let guard = guard("");
    for header in ["nrf-uri: nnrf-disc: http://10.0.0.1/x", "oci: x=\"//10.0.0.1/x\""] {
        passes(outgoing(&guard, &format!("GET /nudm-sdm/v2/x\n3gpp-sbi-{header}")));
    }
}
