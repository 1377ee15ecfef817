//! Names in forms that a check could miss: of maps, of sets, without their kind, in references.

use tessera_sepp::guard::Rule;

use crate::message::{
    OWN, guard, incoming, incoming_answer, outgoing_answer, passes, request, rule, with,
};

const INNER: &str = "smf7.dc3.5gc.mnc070.mcc999.3gppnetwork.org";

/// An entry of a map may be called `mcc`; what is below it is still judged as members.
#[test]
fn an_unknown_member_below_a_map_key_named_mcc_is_refused() {
    for name in ["x", "mcc", "mnc", "mncs"] {
        let body = format!(
            r#"{{"nfInstances":[{{"nfServiceList":{{"{name}":{{"serviceApiRoot":"10.0.0.1:80"}}}}}}]}}"#
        );
        let judged = incoming_answer(&guard(""), "/nnrf-disc/v1/nf-instances", "", &body);
        assert_eq!(judged.map_err(|refusal| refusal.rule), Err(Rule::UnknownMember), "{name}");
    }
}

/// In a map `tai` is data, and doesn't make `plmnId` anything but the serving network.
#[test]
fn a_map_key_named_like_a_member_allows_no_other_network() {
    for name in ["x", "tai", "homePlmnId", "ueLocation"] {
        let text = format!(
            "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/smf-registrations/1\n\n\
             {{\"dnnConfigurations\":{{\"{name}\":{{\"plmnId\":{{\"mcc\":\"999\",\"mnc\":\"70\"}}}}}}}}"
        );
        assert_eq!(rule(&text), Some(Rule::PlmnInJson), "{name}");
    }
}

/// TS 29.531, `NsiInformation`: `nrfId` is the URI of an NRF, and its reader follows it. In ProblemDetails it is a name.
#[test]
fn the_nrf_of_a_slice_is_a_uri() {
    for place in
        ["nrf.core.svc.cluster.local/x", "ip6-localhost/x", "2130706433", "0x7f000001", "1a.b:80/x"]
    {
        let body = format!(r#"{{"nsiInformation":{{"nrfId":"{place}","nsiId":"1"}}}}"#);
        let asked = "/nnssf-nsselection/v2/network-slice-information";
        let judged = incoming_answer(&guard(""), asked, "", &body);
        assert_eq!(judged.map_err(|refusal| refusal.rule), Err(Rule::Target), "{place}");
    }
}

/// With `hide-topology`, which is the default.
#[test]
fn names_in_a_complex_query_are_hidden() {
    let query = format!(
        r#"{{"cnfUnits":[{{"cnfUnit":[{{"attr":"requester-nf-instance-fqdn","value":"{INNER}"}}]}}]}}"#
    );
    let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let text = format!("GET /nnrf-disc/v1/nf-instances?complexQuery={query}");
    let (mut parts, mut body) = request(&text);
    let guard = guard("");
    let judged = with(|context| guard.outgoing_request(context, &mut parts, Some(&mut body)));
    assert!(judged.is_ok(), "{judged:?}");
    let query = parts.uri.query().unwrap();
    assert!(!query.contains("smf7"), "{query}");
    let query = percent_decoded(query);
    let (start, rest) = query.split_once(".hidden.5gc.mnc070.mcc999.3gppnetwork.org").unwrap();
    assert!(start.starts_with(r#"complexQuery={"cnfUnits":[{"cnfUnit":[{"attr":"requester-nf-instance-fqdn","value":""#), "{query}");
    assert_eq!(rest, r#""}]}]}"#);
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut digit = || char::from(bytes.next().unwrap()).to_digit(16).unwrap() as u8;
        out.push(if byte == b'%' { digit() << 4 | digit() } else { byte });
    }
    String::from_utf8(out).unwrap()
}

/// A reference that is a host, and a URI that readers would read differently.
#[test]
fn no_form_of_a_local_name_is_shown() {
    for body in [
        format!(r#"{{"nrfId":"{INNER}"}}"#),
        format!(r#"{{"resourceId":"{INNER}/x"}}"#),
        format!(r#"{{"locality":"http://{INNER}:8080/a b"}}"#),
        format!(r#"{{"locality":"http://{INNER}:8080/'"}}"#),
    ] {
        let left = outgoing_answer(&guard(""), "/nudm-sdm/v2/x", "", &body);
        assert!(!left.as_ref().is_ok_and(|left| left.contains("smf7")), "{left:?}");
    }
}

/// Load and overload are of the sender's functions (TS 29.500 §6.3, §6.4).
#[test]
fn a_peer_reports_no_load_of_local_sets() {
    for name in ["oci", "lci"] {
        let value = "Timestamp: \"Tue, 04 Feb 2020 08:49:37 GMT\"; Period-of-Validity: 75s; \
                     Overload-Reduction-Metric: 100%; NF-Set: set1.amfset.5gc.mnc070.mcc999";
        let header = format!("3gpp-sbi-{name}: {value}");
        let judged = incoming_answer(&guard(""), "/nudm-sdm/v2/x", &header, "");
        assert_eq!(judged.map_err(|refusal| refusal.rule), Err(Rule::PlmnInHeader), "{name}");
    }
}

/// A local function would ask another one for what `apis` refuses to the peer.
#[test]
fn no_uri_leads_to_a_service_that_the_peer_may_not_ask() {
    for (asked, name) in [
        ("POST /nnrf-nfm/v1/nf-status-notify", "nfInstanceUri"),
        ("POST /namf-callback/v1/x", "n1n2MsgDataUri"),
        ("POST /nsmf-callback/v1/x", "newSmfPduSessionUri"),
        ("POST /nsmf-pdusession/v1/pdu-sessions", "nrfAccessTokenUri"),
    ] {
        assert!(rule(&format!("{asked}\n\n{{\"{name}\":\"{OWN}\"}}")).is_some(), "{name}");
    }
}

/// TS 29.510: the query parameter `imsi` has digits alone; TS 29.571: so has a member of `QoeTarget`.
#[test]
fn an_imsi_without_its_kind_is_a_subscriber() {
    for text in [
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=HSS&requester-nf-type=AMF&imsi=208930000000001",
        "POST /namf-comm/v1/ue-contexts/x/relocate\n\n{\"traceData\":{\"traceRef\":\"20893-abcdef\"}}",
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n{\"offloadIds\":[\"208-93-00000001\"]}",
    ] {
        assert!(rule(text).is_some(), "{text}");
    }
}

/// As `guami`, whatever the member's name.
#[test]
fn every_amf_of_a_profile_is_the_senders() {
    for member in ["backupInfoAmfFailure", "backupInfoAmfRemoval", "guamis"] {
        let amf = r#"{"plmnId":{"mcc":"999","mnc":"70"},"amfId":"cafe00"}"#;
        let body = format!(r#"{{"nfInstances":[{{"amfInfo":{{"{member}":[{amf}]}}}}]}}"#);
        let judged = incoming_answer(&guard(""), "/nnrf-disc/v1/nf-instances", "", &body);
        assert_eq!(judged.map_err(|refusal| refusal.rule), Err(Rule::PlmnInJson), "{member}");
    }
}

/// A peer's profiles are of no set of the local network.
#[test]
fn a_peers_function_is_in_no_local_set() {
    let body = r#"{"nfInstances":[{"nfType":"UDM","fqdn":"udm.5gc.mnc001.mcc001.3gppnetwork.org","nfSetIdList":["set1.udmset.5gc.mnc070.mcc999"]}]}"#;
    let judged = incoming_answer(&guard(""), "/nnrf-disc/v1/nf-instances", "", body);
    assert_eq!(judged.map_err(|refusal| refusal.rule), Err(Rule::PlmnInJson));
}

/// Readers dial what they take for a host, with or without a scheme.
#[test]
fn a_reference_has_no_user_and_is_not_this_machine() {
    for reference in ["0@evil.lan/x", "localhost/x", "LOCALHOST"] {
        let text =
            format!("POST /nudm-sdm/v2/x/y\n\n{{\"monitoredResourceUris\":[\"{reference}\"]}}");
        assert_eq!(rule(&text), Some(Rule::CallbackUri), "{reference}");
    }
}

#[test]
fn a_name_names_one_network_and_a_function_that_the_peer_may_reach() {
    let two = "smf.mnc070.mcc999.5gc.mnc001.mcc001.3gppnetwork.org";
    assert_eq!(
        rule(&format!("POST /nudm-sdm/v2/x/y\n\n{{\"fqdn\":\"{two}\"}}")),
        Some(Rule::PlmnInJson)
    );
    let some = "[sbi]\nallowed-targets = [\"nrf.5gc.mnc070.mcc999.3gppnetwork.org\"]";
    let sought = |name: &str| {
        let text = format!(
            "GET /nnrf-disc/v1/nf-instances?target-nf-fqdn={name}.5gc.mnc070.mcc999.3gppnetwork.org"
        );
        incoming(&guard(some), &text).err().map(|refusal| refusal.rule)
    };
    assert_eq!([sought("nrf"), sought("udr")], [None, Some(Rule::Target)]);
}

#[test]
fn half_a_plmn_id_or_a_complex_query_that_is_not_json_is_malformed() {
    for query in
        ["mcc=999&mnc=70", "mncs=70", "complex-query=attr", "complex_query=attr", "complexQuery=x"]
    {
        let text = format!("GET /nnrf-disc/v1/nf-instances?{query}");
        assert_eq!(rule(&text), Some(Rule::Malformed), "{query}");
    }
}

#[test]
fn a_percent_sign_in_a_uri_begins_two_hexadecimal_digits() {
    for path in ["%zz", "%4", "%4g", "%"] {
        let uri = format!("http://amf.5gc.mnc001.mcc001.3gppnetwork.org/{path}");
        let text = format!("POST /nudm-sdm/v2/x/y\n\n{{\"callbackReference\":\"{uri}\"}}");
        assert_eq!(rule(&text), Some(Rule::CallbackUri), "{path}");
    }
}

/// The body goes on as it was read.
#[test]
fn a_content_encoding_that_means_nothing_is_not_forwarded() {
    let text = "POST /nudm-sdm/v2/x/y\ncontent-encoding: identity\n\n{\"vendorId\":\"1\"}";
    let (mut parts, mut body) = request(text);
    let guard = guard("");
    let judged = with(|context| guard.incoming_request(context, &mut parts, Some(&mut body)));
    assert!(judged.is_err() || !parts.headers.contains_key("content-encoding"), "{judged:?}");
}

#[test]
fn a_number_alone_is_an_identifier_and_before_a_path_a_host() {
    let of = |reference: &str| {
        rule(&format!("POST /nudm-sdm/v2/x/y\n\n{{\"monitoredResourceUris\":[\"{reference}\"]}}"))
    };
    assert_eq!([of("2130706433"), of("2130706433/x")], [None, Some(Rule::CallbackUri)]);
}

#[test]
fn a_reference_beginning_with_the_codes_of_an_end_passes() {
    for begun in ["00101-abcdef", "99970-abcdef"] {
        let text = format!(
            "POST /namf-comm/v1/ue-contexts/x/relocate\n\n{{\"traceData\":{{\"traceRef\":\"{begun}\"}}}}"
        );
        assert_eq!(rule(&text), None, "{begun}");
    }
}

/// A text for people may mention a URI that isn't one, without a local name.
#[test]
fn a_text_that_is_no_uri_passes_where_nothing_in_it_is_hidden() {
    let open = guard("[peer.visited.guard]\nhide-topology = false");
    let own = format!(r#"{{"locality":"http://{INNER}:8080/a b"}}"#);
    assert_eq!(outgoing_answer(&open, "/nudm-sdm/v2/x", "", &own).as_deref(), Ok(&*own));
    let none = r#"{"locality":"http: none"}"#;
    assert_eq!(outgoing_answer(&guard(""), "/nudm-sdm/v2/x", "", none).as_deref(), Ok(none));
}

/// Some readers take the codes in front, others the domain.
#[test]
fn a_network_has_one_name() {
    let ids = [
        "208-93.mnc001.mcc001",
        "20893.mnc001.mcc001",
        "208-93_mnc001.mcc001",
        "00101-20893",
        "00101-",
        "001-01-",
        "001-01-0123456789ab",
    ];
    for id in ids {
        for header in ["originating-network-id", "asserted-plmn-id"] {
            let text = format!("GET /nudm-sdm/v2/x\n3gpp-sbi-{header}: {id}");
            assert_eq!(rule(&text), Some(Rule::Malformed), "{header}: {id}");
        }
        for member in ["servingNetworkName", "reqPlmnList"] {
            let text = format!("POST /nnrf-nfm/v1/subscriptions\n\n{{\"{member}\":\"{id}\"}}");
            assert_eq!(rule(&text), Some(Rule::Malformed), "{member}: {id}");
        }
    }
    for id in ["001-01", "001-01-7ed9d5b3ec6"] {
        let text = format!("GET /nudm-sdm/v2/x\n3gpp-sbi-originating-network-id: {id}");
        assert_eq!(rule(&text), None, "{id}");
    }
    // The reference of a trace begins with its network's codes.
    for (reference, refused) in [
        ("00101-abcdef", None),
        ("20893-abcdef", Some(Rule::PlmnInJson)),
        ("00101-", Some(Rule::Malformed)),
        ("x00101-20893", Some(Rule::Malformed)),
    ] {
        let body = format!("{{\"traceData\":{{\"traceRef\":\"{reference}\"}}}}");
        assert_eq!(
            rule(&format!("POST /namf-comm/v1/ue-contexts/x\n\n{body}")),
            refused,
            "{reference}"
        );
    }
}

#[test]
fn a_subscriber_is_seen_in_every_form() {
    for (member, value) in [
        ("supi", "nai-x@nai.5gc.mnc93.mcc208.3gppnetwork.org"),
        ("supi", "suci-1-MNC093.MCC208-0-0-0-1"),
        ("dnn", " imsi-208930000000001"),
        ("dnn", "imsi-208930000000001"),
    ] {
        let text = format!("POST /nsmf-pdusession/v1/x\n\n{{\"{member}\":\"{value}\"}}");
        assert_eq!(rule(&text), Some(Rule::UeIdentity), "{member}: {value}");
    }
    let header = "3gpp-sbi-correlation-info: imsi%2D208930000000001";
    assert_eq!(rule(&format!("GET /nsmf-pdusession/v1/x\n{header}")), Some(Rule::UeIdentity));
}

#[test]
fn parameters_of_a_header_lead_to_its_sender() {
    for header in [
        "consumer-info: nudm-sdm; callback-uri-prefix=10.0.0.1:80/x",
        "consumer-info: nudm-sdm; interPlmnCallbackRoot=http://10.0.0.1:80",
        "binding: bl=nf-set; callback-uri-prefix=10.0.0.1:80/x",
        "nrf-uri-callback: nnrf-disc: \"10.0.0.1/x\"",
    ] {
        let text = format!("GET /nudm-sdm/v2/x\n3gpp-sbi-{header}");
        assert_eq!(rule(&text), Some(Rule::CallbackUri), "{header}");
    }
    let body = r#"{"smfBinding":"bl=nf-set; callback-uri-prefix=10.0.0.1:80/x"}"#;
    let judged = rule(&format!("POST /nsmf-pdusession/v1/x\n\n{body}"));
    assert_eq!(judged, Some(Rule::CallbackUri));
}

/// A compressed answer could not be judged.
#[test]
fn a_request_asks_for_no_compression() {
    let (mut parts, _) = request("GET /nudm-sdm/v2/x\naccept-encoding: gzip");
    passes(with(|context| guard("").incoming_request(context, &mut parts, None)));
    assert!(parts.headers.is_empty(), "{:?}", parts.headers);
}

/// TS 23.003 §28.7: the realm, and the home realm in front of a `!`.
#[test]
fn a_realm_names_one_network_in_every_place() {
    for (identity, is_known) in [
        ("nai-u@nai.5gc.mnc070.mcc999.3gppnetwork.org", true),
        ("nai-john.mccain@nai.5gc.mnc070.mcc999.3gppnetwork.org", true),
        ("nai-5gc.mnc093.mcc208.3gppnetwork.org!u@5gc.mnc070.mcc999.3gppnetwork.org", false),
        ("nai-u@nai.5gc.mnc93.mcc208.3gppnetwork.org", false),
        ("gci-x@5gc.mnc93.mcc208.3gppnetwork.org", false),
        ("nai-u@x.mcc208.mnc070.mcc999.3gppnetwork.org", false),
        ("nai-u@5gc.mnc070.mcc9990.3gppnetwork.org", false),
    ] {
        for text in [
            format!("GET /nudm-sdm/v2/{identity}/am-data"),
            format!("POST /nsmf-pdusession/v1/x\n\n{{\"supi\":\"{identity}\"}}"),
        ] {
            let expected = (!is_known).then_some(Rule::UeIdentity);
            assert_eq!(rule(&text), expected, "{text}");
        }
    }
}
