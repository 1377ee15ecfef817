//! What receivers may read differently than the guard: each has one reading, or is refused.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Response};
use tessera_sepp::guard::{Passage, RequestSummary, Rule};

use crate::message::{OWN, guard, incoming, passes, request, rule, with};

/// Returns the forwarded path, query and body, without hiding.
fn sent(text: &str) -> (String, String) {
    let guard = guard("");
    let (mut parts, mut body) = request(text);
    passes(with(|context| guard.incoming_request(context, &mut parts, Some(&mut body))));
    (parts.uri.to_string(), String::from_utf8(body.into()).unwrap())
}

#[test]
fn each_api_takes_its_own_types_alone() {
    for kind in [
        "application/x-www-form-urlencoded",
        "text/plain",
        "application/json-patch+json",
        "application/json; charset=utf-16",
        "application/jsonx",
        "",
    ] {
        let text = format!(
            "POST /nnrf-disc/v1/x\ncontent-type: {kind}\n\n{{\"requesterPlmnList\":[{{\"mcc\":\"999\",\"mnc\":\"70\"}}]}}"
        );
        assert_eq!(rule(&text), Some(Rule::ContentType), "{kind}");
    }
    let form = "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded; a=b\n\n\
                grant_type=client_credentials&scope=a%20b+c;d&targetNfType=UDM";
    let (_, body) = sent(form);
    assert_eq!(body, "grant_type=client_credentials&scope=a%20b%20c%3Bd&targetNfType=UDM");
    assert_eq!(rule("POST /oauth2/token\n\n{}"), Some(Rule::ContentType));
}

#[test]
fn a_body_goes_on_as_it_was_read() {
    for (body, expected) in [
        (
            r#" { "nf\u0054ype" : "A\u004dF\n" , "priority":1.50 } "#,
            r#"{"nfType":"AMF\n","priority":1.5}"#,
        ),
        (
            "[1e2,-0.0,18446744073709551615,9007199254740993]",
            "[100.0,-0.0,18446744073709551615,9007199254740993]",
        ),
        ("[18446744073709551616]", "[1.8446744073709552e+19]"),
        (
            "[\"\\u00e4\\ud83d\\ude00\\/\",{},[],null,true]",
            "[\"\u{e4}\u{1f600}/\",{},[],null,true]",
        ),
    ] {
        assert_eq!(sent(&format!("POST /nnrf-nfm/v1/subscriptions\n\n{body}")).1, expected);
    }
    for body in [
        "{\"requesterPlmnList\\u0000\":[{\"mcc\":\"999\",\"mnc\":\"70\"}]}",
        "{\"nfType\":\"AMF\\u0000x\"}",
        "\u{feff}{}",
        "{}\0",
        "{}x",
        "{}{}",
        "[1,]",
        "{\"nfType\":1,}",
        "// x\n{}",
        "['a']",
        "[NaN]",
        "[1e999]",
        "[01]",
        "[\"\\ud800\"]",
        "[\"a\tb\"]",
        "{\"nfType\":\"AMF\",\"nfType\":\"SMF\"}",
        "{\"nfType\":\"AMF\",\"NFTYPE\":\"SMF\"}",
        "{\"\u{17f}upi\":\"imsi-999700000000002\",\"supi\":\"imsi-999700000000001\"}",
    ] {
        let text = format!("POST /nnrf-nfm/v1/subscriptions\n\n{body}");
        assert_eq!(rule(&text), Some(Rule::Malformed), "{body:?}");
    }
}

#[test]
fn a_body_that_comes_as_it_would_go_on_is_not_copied() {
    let guard = guard("");
    let is_copied = |body: &str| {
        let text = format!("POST /nnrf-nfm/v1/subscriptions\n\n{body}");
        let (mut parts, mut body) = request(&text);
        let before = body.as_ptr();
        passes(with(|context| guard.incoming_request(context, &mut parts, Some(&mut body))));
        body.as_ptr() != before
    };
    for body in [
        r#"{"nfType":"AMF","priority":1}"#,
        r#"[{"nfType":"AMF"},[],{},null,true,-1,1.5,"a\nb"]"#,
        r#"{"plmnId":{"mcc":"001","mnc":"01"},"requesterPlmnList":[{"mcc":"001","mnc":"01"}]}"#,
    ] {
        assert!(!is_copied(body), "{body}");
        // White space in one place is enough.
        assert!(is_copied(&format!("{body} ")), "{body}");
    }
}

#[test]
fn the_request_line_goes_on_as_it_was_read() {
    let (uri, _) = sent(
        "GET /nnrf-disc/v1/%6ef-instances?target-nf-type=U%44M&snssais=%5B%7B%22sst%22:%201%7D%5D&service-names=a,b+c;d",
    );
    assert_eq!(
        uri,
        "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&snssais=%5B%7B%22sst%22:1%7D%5D&service-names=a,b%20c%3Bd"
    );
    for query in [
        "target-nf-type%00=UDM",
        "tai=%EF%BB%BF%7B%22plmnId%22:%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%7D",
        "tai=%01%7B%22plmnId%22:%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%7D",
        "tai=x%7B%22plmnId%22:%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%7D",
    ] {
        assert_eq!(rule(&format!("GET /nnrf-disc/v1/x?{query}")), Some(Rule::Malformed), "{query}");
    }
}

#[test]
fn a_network_has_its_codes_once_however_their_names_are_written() {
    for twice in ["m-cc", "M_CC", "mcc", "m_nc"] {
        let text = format!(
            "POST /nnrf-nfm/v1/subscriptions\n\n{{\"reqPlmnList\":[{{\"mcc\":\"999\",\"mnc\":\"70\",\"{twice}\":\"001\"}}]}}"
        );
        assert_eq!(rule(&text), Some(Rule::Malformed), "{twice}");
    }
}

#[test]
fn addresses_of_a_peers_functions_do_not_go_on() {
    let guard = guard("");
    let (question, _) = request("GET /nnrf-disc/v1/nf-instances");
    let answer = Response::builder().header("content-type", "application/json");
    let (mut parts, ()) = answer.body(()).unwrap().into_parts();
    let mut body = Bytes::from_static(
        br#"{"nfInstances":[{"fqdn":"udm.5gc.mnc001.mcc001.3gppnetwork.org","ipv4Addresses":["10.0.0.1"],
            "nfServices":[{"ipEndPoints":[{"ipv4Address":"10.0.0.1","port":80}]}]}]}"#,
    );
    passes(with(|context| {
        guard.incoming_response(context, RequestSummary::of(&question), &mut parts, Some(&mut body))
    }));
    let expected = r#"{"nfInstances":[{"fqdn":"udm.5gc.mnc001.mcc001.3gppnetwork.org","nfServices":[{"ipEndPoints":[{"port":80}]}]}]}"#;
    assert_eq!(body, expected);
}

#[test]
fn methods_are_those_of_3gpp() {
    for method in ["TRACE", "get", "CONNECT", "PROPFIND", "POST2"] {
        let guard = guard("[peer.visited.guard]\napis = [\"nudm-sdm\"]");
        let (mut parts, _) = request("GET /nudm-sdm/v2/imsi-999700000000001/am-data");
        parts.method = Method::from_bytes(method.as_bytes()).unwrap();
        let judged = with(|context| guard.incoming_request(context, &mut parts, None));
        let refusal = judged.unwrap_err();
        assert_eq!((refusal.rule, &*refusal.claimed), (Rule::Api, method));
    }
}

#[test]
fn a_refused_service_is_named_and_cut() {
    let claimed = |path: &str| incoming(&guard(""), &format!("GET {path}")).unwrap_err().claimed;
    assert_eq!(&*claimed("/nudr-dr/v1/subscription-data"), "GET nudr-dr");
    assert_eq!(&*claimed("/%6eudr-dr/v1/x"), "GET nudr-dr");
    assert_eq!(claimed(&format!("/{}", "x".repeat(5_000))).len(), 120);
}

#[test]
fn a_uri_that_is_not_plainly_absolute_http_is_refused() {
    let subscribe = |uri: &str| {
        let uri = serde_json::to_string(uri).unwrap();
        rule(&format!("POST /nnrf-nfm/v1/subscriptions\n\n{{\"nfStatusNotificationUri\":{uri}}}"))
    };
    assert_eq!(subscribe("http://amf.5gc.mnc001.mcc001.3gppnetwork.org:7777/a/b?c=d"), None);
    for uri in [
        "10.0.0.1:8080/x",
        "http:/10.0.0.1/x",
        "http:10.0.0.1/x",
        "http:\\\\10.0.0.1/x",
        "ht\ttp://10.0.0.1/x",
        "ftp://10.0.0.1/x",
        "gopher://10.0.0.1:6379/_INFO",
        "dict://10.0.0.1/x",
        "file:///etc/passwd",
        "unix:/run/x",
        "nrf.5gc.mnc070.mcc999.3gppnetwork.org",
        "//10.0.0.1/x",
        "/x",
        "",
        "http://amf.5gc.mnc001.mcc001.3gppnetwork.org@10.0.0.1/",
        "http://10.0.0.1#.5gc.mnc001.mcc001.3gppnetwork.org/",
        "http://amf.5gc.mnc001.mcc001.3gppnetwork.org/../x",
        OWN,
    ] {
        assert_eq!(subscribe(uri), Some(Rule::CallbackUri), "{uri}");
    }
    // URIs of other members, in lists and in objects.
    for body in [
        r#"{"monitoredResourceUris":["http:/10.0.0.1/"]}"#,
        r#"{"callbackReference":1}"#,
        r#"{"hSmfUri":["file:///x"]}"#,
        r#"{"x2NotifyUri":"file:///x"}"#,
        r#"{"note":"http:\\\\10.0.0.1/"}"#,
        r#"{"type":"file:///x"}"#,
        r#"{"instance":"http:/10.0.0.1"}"#,
        r#"{"resourceId":"//10.0.0.1/x"}"#,
    ] {
        let guard = guard("[guard]\nlog-only = [\"unknown-member\"]");
        let text = format!("POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{body}");
        let refusal = incoming(&guard, &text).unwrap_err();
        assert!(matches!(refusal.rule, Rule::CallbackUri | Rule::Malformed), "{body}: {refusal}");
    }
}

#[test]
fn members_that_no_api_has_are_refused_or_logged() {
    let text = "POST /nnrf-nfm/v1/subscriptions\n\n{\"reqPlmnSecret\":1}";
    let refusal = incoming(&guard(""), text).unwrap_err();
    assert_eq!((refusal.rule, &*refusal.claimed), (Rule::UnknownMember, "reqPlmnSecret"));
    let lenient = guard("[guard]\nlog-only = [\"unknown-member\"]");
    assert_eq!(incoming(&lenient, text).unwrap().logged, [refusal]);
    assert_eq!(rule("GET /nnrf-disc/v1/nf-instances?target-secret=1"), Some(Rule::UnknownMember));
    // Names that are data, and an API that an operator added.
    let map = "POST /nudm-sdm/v2/x\n\n{\"dnnConfigurations\":{\"internet\":{\"iwkEpsInd\":true}}}";
    assert_eq!(rule(map), None);
    assert_eq!(rule(&map.replace("iwkEpsInd", "iwkEps2")), Some(Rule::UnknownMember));
    let added = guard("[peer.visited.guard]\napis = [\"nown-api\"]");
    passes(incoming(&added, "POST /nown-api/v1/x\n\n{\"some\":1}"));
}

#[test]
fn a_subscriber_at_an_nrf_is_of_the_senders_network() {
    for member in [
        r#""reqPlmnList":[{"mcc":"999","mnc":"70"}]"#,
        r#""reqSnpnList":[{"mcc":"999","mnc":"70","nid":"000007ed9d5"}]"#,
        r#""reqPerPlmnSnssais":[{"plmnId":{"mcc":"999","mnc":"70"},"sNssaiList":[]}]"#,
        r#""reqNfFqdn":"amf.5gc.mnc070.mcc999.3gppnetwork.org""#,
    ] {
        let text = format!("POST /nnrf-nfm/v1/subscriptions\n\n{{{member}}}");
        assert_eq!(rule(&text), Some(Rule::PlmnInJson), "{member}");
    }
}

#[test]
fn headers_that_servers_read_as_others_dont_pass() {
    let judged = |name: &str| {
        let guard = guard("");
        let (mut parts, _) = request("GET /nudm-sdm/v2/imsi-999700000000001/am-data");
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        parts.headers.insert(name.clone(), HeaderValue::from_static("208-93"));
        let judged = with(|context| guard.incoming_request(context, &mut parts, None));
        judged.map(|_| parts.headers.contains_key(name)).map_err(|refusal| refusal.rule)
    };
    for name in ["3gpp_sbi_originating_network_id", "3gpp-sbi-asserted_plmn_id", "content_type"] {
        assert_eq!(judged(name), Err(Rule::Malformed), "{name}");
    }
    for name in [
        "x_http_method_override",
        "x-http-method-override",
        "http-method-override",
        "ssl-client-cert",
        "x-ssl-client-verify",
        "x-forwarded-host",
        "alt-svc",
        "x-anything",
    ] {
        assert_eq!(judged(name), Ok(false), "{name}");
    }
    assert_eq!(judged("if-none-match"), Ok(true));
}

#[test]
fn a_peers_answer_leads_into_its_own_network() {
    let guard = guard("");
    let judged = |status: u16, name: &'static str, value: &str| {
        let (question, _) = request("POST /nudm-uecm/v1/x");
        let answer = Response::builder().status(status).header(name, value).body(()).unwrap();
        let (mut parts, ()) = answer.into_parts();
        let judged = with(|context| {
            guard.incoming_response(context, RequestSummary::of(&question), &mut parts, None)
        });
        judged.map(|_| parts.headers.contains_key(name)).map_err(|refusal| refusal.rule)
    };
    let here = "http://udm.5gc.mnc001.mcc001.3gppnetwork.org/nudm-uecm/v1/x";
    for status in [200, 201, 204, 303, 308, 404] {
        for name in ["location", "content-location"] {
            for uri in [OWN, "http://10.0.0.1:8080/x", "//10.0.0.1/x", "file:///x", "a:b"] {
                assert_eq!(judged(status, name, uri), Err(Rule::CallbackUri), "{status} {uri}");
            }
            assert_eq!(judged(status, name, here), Ok(true));
            assert_eq!(judged(status, name, "/nudm-uecm/v1/x"), Ok(true));
        }
    }
    for (name, around) in [
        ("3gpp-sbi-target-apiroot", ""),
        ("3gpp-sbi-binding", "bl=nf-instance; uriApiRoot="),
        ("3gpp-sbi-producer-id", "nfinst=1; a="),
        ("www-authenticate", "Bearer realm="),
    ] {
        let quote = if around.is_empty() { "" } else { "\"" };
        let ask = |uri: &str| judged(201, name, &format!("{around}{quote}{uri}{quote}"));
        assert_eq!(ask(OWN), Err(Rule::CallbackUri), "{name}");
        assert_eq!(ask("http%3A%2F%2F10.0.0.1%2F"), Err(Rule::CallbackUri), "{name}");
        assert_eq!(ask(here), Ok(true), "{name}");
    }
    assert_eq!(judged(200, "alt-svc", "h2=\"10.0.0.1:80\""), Ok(false));
    for (name, value) in [
        ("3gpp-sbi-target-apiroot", "//10.0.0.1/x"),
        ("3gpp-sbi-target-apiroot", "gopher://10.0.0.1:6379/_INFO"),
        ("3gpp-sbi-binding", "bl=nf-instance; uri=file:///etc/passwd"),
        ("3gpp-sbi-binding", "bl=nf-instance; callback-uri-prefix=[fd00::1]/x"),
        ("3gpp-sbi-producer-id", "a=http://smf.5gc.mnc001.mcc001.3gppnetwork.org,@10.0.0.1/x"),
    ] {
        assert_eq!(judged(201, name, value), Err(Rule::CallbackUri), "{name}: {value}");
    }
    let prefix = "bl=nf-set; callback-uri-prefix=/core1";
    assert_eq!(judged(201, "3gpp-sbi-binding", prefix), Ok(true));
}

#[test]
fn a_parameter_is_not_hidden_in_another_one() {
    for query in [
        "x=1%26requester-plmn-list%3D1",
        "x%26supi=1",
        "x%3D1=2",
        "x=1%2526requester-plmn-list%253D1",
        // The URI is hidden until the last layer, and a reader stops where decoding fails.
        "hnrf-uri=http%253a%252F%252F10.0.0.1%252F%2525zz",
    ] {
        let line = format!("GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM&{query}");
        assert!(rule(&line).is_some(), "{query}");
    }
    assert_eq!(rule("GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM%26AMF"), None);
}

#[test]
fn the_content_of_an_answer_leads_into_the_peers_network() {
    let guard = guard("");
    let judged = |status: u16, kind: &str, content: &str| {
        let (question, _) = request("POST /npcf-ue-policy-control/v1/policies");
        let answer = Response::builder().status(status).header("content-type", kind);
        let (mut parts, ()) = answer.body(()).unwrap().into_parts();
        let mut body = Bytes::copy_from_slice(content.as_bytes());
        let judged: Result<Passage, _> = with(|context| {
            guard.incoming_response(
                context,
                RequestSummary::of(&question),
                &mut parts,
                Some(&mut body),
            )
        });
        judged.map(|_| body.len()).map_err(|refusal| refusal.rule)
    };
    let json = "application/json";
    for member in ["resourceUri", "targetSepp", "targetScp", "nrfUri"] {
        for uri in [OWN, "http://10.0.0.1/", "ftp://10.0.0.1"] {
            let content = format!("{{\"{member}\":\"{uri}\"}}");
            assert_eq!(judged(307, json, &content), Err(Rule::CallbackUri), "{content}");
        }
    }
    assert!(judged(200, json, r#"{"fqdn":"10.0.0.1"}"#).is_err());
    assert!(judged(200, json, r#"{"unheardOf":1}"#).is_err());
    // A problem may have its own members, and a proxy on the path sends pages for people.
    assert_eq!(judged(503, "application/problem+json", r#"{"unheardOf":1}"#), Ok(15));
    assert_eq!(judged(503, "text/html", "<html>"), Ok(0));
    assert_eq!(judged(200, "text/html", "<html>"), Err(Rule::ContentType));
}

#[test]
fn a_binary_part_that_contains_json_is_malformed() {
    let judged = |content: &str| {
        rule(&format!(
            "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=b\n\n\
             --b\r\ncontent-type: application/json\r\n\r\n{{}}\r\n--b\r\n\
             content-type: application/vnd.3gpp.ngap\r\ncontent-id: n2\r\n\r\n{content}\r\n--b--\r\n"
        ))
    };
    assert_eq!(judged("\u{0}\u{1}{"), None);
    for content in ["{\"supi\":1}", "\u{feff}{\"supi\":1}", "x {\"supi\" :1} y"] {
        assert_eq!(judged(content), Some(Rule::Malformed), "{content}");
    }
}
