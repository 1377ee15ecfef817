//! Long, deep and frequent messages.

use std::fmt::Write;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tessera_sepp::guard::{Passage, Rule};

use crate::message::{PEER, guard, incoming, passes, request, rule, with};

#[test]
fn deep_json_is_refused_and_nothing_breaks() {
    let guard = guard("[guard]\njson-depth = 20");
    let nested = |open: &str, close: &str, depth: usize| {
        format!("POST /nausf-auth/v1/x\n\n{}{}", open.repeat(depth), close.repeat(depth))
    };
    assert_eq!(incoming(&guard, &nested("[", "]", 20)), Ok(Passage::default()));
    for depth in [21, 100, 128, 1_000, 1_000_000] {
        for (open, close) in [("[", "]"), ("{\"tai\":[", "]}")] {
            let refusal = incoming(&guard, &nested(open, close, depth)).unwrap_err();
            assert_eq!(refusal.rule, Rule::JsonDepth, "{depth} {open}");
        }
    }
    // Skipped values and codes are no way around the limit.
    for start in ["{\"mcc\":", "{\"encBlockIndex\":"] {
        let text = format!(
            "POST /nausf-auth/v1/x\n\n{start}{}{}}}",
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert!(incoming(&guard, &text).is_err());
    }
}

#[test]
fn a_token_in_a_token_is_malformed_however_many_there_are() {
    let guard = guard("");
    let within =
        |claims: &str| format!("{{\"accessToken\":\"e30.{}.c\"}}", URL_SAFE_NO_PAD.encode(claims));
    let judged = |body: &str| incoming(&guard, &format!("POST /nausf-auth/v1/x\n\n{body}"));
    let mut nested = within("{}");
    assert_eq!(judged(&nested), Ok(Passage::default()));
    for _ in 0..30 {
        nested = within(&nested);
        assert_eq!(judged(&nested).unwrap_err().rule, Rule::Malformed, "{} bytes", nested.len());
    }
}

#[test]
fn long_members_and_many_of_them_are_read_to_their_end() {
    let guard = guard("[guard]\nlog-only = [\"unknown-member\"]");
    let long = "x".repeat(10_000_000);
    let lie = r#""guami":{"plmnId":{"mcc":"208","mnc":"93"}}"#;
    let many = (0..200_000).fold(String::new(), |mut text, index| {
        let _ = write!(text, "\"m{index}\":{index},");
        text
    });
    for body in [
        format!(r#"{{"a":"{long}",{lie}}}"#),
        format!(r#"{{"{long}":1,{lie}}}"#),
        format!(r#"{{{many}{lie}}}"#),
        format!(r#"{{"guami":{{"{long}":1,"plmnId":{{"mcc":"208","mnc":"93"}}}}}}"#),
    ] {
        let refusal = incoming(&guard, &format!("POST /nudm-uecm/v1/x\n\n{body}")).unwrap_err();
        assert_eq!(refusal.rule, Rule::PlmnInJson);
    }
    let code = format!(
        "POST /nudm-uecm/v1/x\n\n{{\"mcc\":\"{}\",\"mnc\":\"01\"}}",
        "0".repeat(10_000_000)
    );
    assert_eq!(incoming(&guard, &code).unwrap_err().rule, Rule::Malformed);
    let digits = format!("POST /nudm-uecm/v1/x\n\n[\"imsi-{}\"]", "9".repeat(10_000_000));
    let refusal = incoming(&guard, &digits).unwrap_err();
    assert_eq!(refusal.rule, Rule::UeIdentity);
    assert!(refusal.claimed.len() <= 120, "what is reported is short");
}

#[test]
fn log_lines_are_bounded() {
    let guard = guard("[guard]\nlog-only = [\"plmn-in-json\"]");
    let lies = r#"{"mcc":"208","mnc":"93"},"#.repeat(1000);
    let Passage { logged, .. } =
        incoming(&guard, &format!("POST /nudm-uecm/v1/x\n\n[{lies}1]")).unwrap();
    assert_eq!(logged.len(), 16);
    assert_eq!(logged[0].claimed.as_ref(), "208-93");
    assert_eq!(logged[0].allowed.to_string(), "001-01, 999-70");
}

#[test]
fn bodies_beyond_the_limit_are_refused_unless_the_rule_only_logs() {
    let strict = guard("[guard]\ninspected-body = 1000");
    assert_eq!(strict.inspected_body(), 1000);
    let refusal = strict.body_is_too_long().unwrap_err();
    assert_eq!((refusal.rule, refusal.status.as_u16()), (Rule::BodyLength, 413));
    let lenient = guard("[guard]\nlog-only = [\"body-length\"]");
    assert_eq!(lenient.body_is_too_long().unwrap().logged[0].rule, Rule::BodyLength);
}

#[test]
fn the_head_decides_whether_a_body_is_inspected() {
    let guard = guard("");
    let inspects = |head: &str| guard.inspects(&request(&format!("POST /x\n{head}")).0.headers);
    assert!(inspects("content-type: application/json"));
    assert!(inspects("content-type: multipart/related; boundary=b"));
    assert!(inspects("content-length: 5") && inspects("content-type: application/octet-stream"));
    assert!(!inspects("content-type: application/json\ncontent-encoding: gzip"));
}

#[test]
fn a_peer_that_asks_too_often_waits() {
    let guard = guard(
        "[peer.visited.guard]\nrate = { requests = 5, requests-per-service = 3, new-connections = 2 }",
    );
    let ask = |path: &str| incoming(&guard, &format!("GET {path}"));
    let passed = |path: &str| (0..20).filter(|_| ask(path).is_ok()).count();
    assert_eq!(passed("/nnrf-disc/v1/nf-instances"), 3);
    assert_eq!(passed("/nudm-sdm/v2/imsi-999700000000001"), 2);
    let refusal = ask("/nausf-auth/v1/x").unwrap_err();
    assert_eq!(
        (refusal.rule, refusal.status.as_u16(), refusal.cause),
        (Rule::Rate, 429, "NF_CONGESTION_RISK")
    );
    assert_eq!(refusal.retry_after_seconds(), Some(1));
    let rates = guard.rates(&PEER.parse().unwrap()).unwrap();
    assert_eq!((0..10).filter(|_| rates.connection().is_ok()).count(), 2);
    // All other services together are one.
    let guard = self::guard("[peer.visited.guard]\nrate = { requests-per-service = 2 }");
    let rule = |path: &str| incoming(&guard, &format!("GET {path}")).unwrap_err().rule;
    let rules = ["/x/v1", "/y/v1", "/z/v1"].map(rule);
    assert_eq!(rules, [Rule::Api, Rule::Api, Rule::RateOfService]);
}

#[test]
fn a_stranger_passes_nothing() {
    let guard = guard("");
    let stranger = "sepp.5gc.mnc001.mcc001.3gppnetwork.org".parse().unwrap();
    let (mut parts, _) = request("GET /nnrf-disc/v1/nf-instances");
    let refusal = with(|context| {
        let context = tessera_sepp::guard::Context { peer: &stranger, ..*context };
        guard.incoming_request(&context, &mut parts, None)
    });
    assert_eq!(refusal.unwrap_err().rule, Rule::Api);
}

#[test]
fn a_list_of_apis_has_methods_and_paths() {
    let guard = guard(
        "[peer.visited.guard]\napis = [\"nudm-sdm: GET /nudm-sdm/v2/{supi}/am-data\", \"nnrf-disc\"]",
    );
    let rule = |text: &str| incoming(&guard, text).err().map(|refusal| refusal.rule);
    assert_eq!(rule("GET /nudm-sdm/v2/imsi-999700000000001/am-data"), None);
    assert_eq!(rule("GET /nudm-sdm/v2/%69msi-999700000000001/am%2Ddata"), None);
    assert_eq!(rule("POST /nnrf-disc/v1/x"), None);
    for text in [
        "PUT /nudm-sdm/v2/imsi-999700000000001/am-data",
        "GET /nudm-sdm/v2/imsi-999700000000001/sm-data",
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data/x",
        "GET /nausf-auth/v1/x",
    ] {
        assert_eq!(rule(text), Some(Rule::Api), "{text}");
    }
}

/// Each of them was once read to the end of the text, which took seconds.
#[test]
fn many_uris_in_one_text_are_each_read_once() {
    let many = "http://a.5gc.mnc001.mcc001.3gppnetwork.org/ ".repeat(6000);
    let text = |uris: &str| format!("POST /nsmf-pdusession/v1/x\n\n{{\"vsmfBinding\":\"{uris}\"}}");
    assert_eq!(rule(&text(&many)), None);
    for last in [
        "xhttp://a.5gc.mnc001.mcc001.3gppnetwork.org",
        "http://udm.example",
        "http:/10.0.0.1",
        "x;yhttps:\\\\\\\\10.0.0.1",
    ] {
        assert_eq!(rule(&text(&format!("{many}{last}"))), Some(Rule::CallbackUri), "{last}");
    }
}

/// With the rule enforced, the first ends it. Otherwise each host was read to the end of the text: minutes.
#[test]
fn many_schemes_in_one_text_are_read_once() {
    let guard = guard("[guard]\nlog-only = [\"callback-uri\", \"unknown-member\"]");
    let text =
        format!("POST /nsmf-pdusession/v1/x\n\n{{\"smfBinding\":\"{}\"}}", "http:a".repeat(40_000));
    let verdict = incoming(&guard, &text).unwrap();
    assert!(verdict.logged.iter().all(|refusal| refusal.rule == Rule::CallbackUri));
    assert!(!verdict.logged.is_empty());
}

/// A name of many separators is a known member's: the pointer is folded once, not for each object of the list.
#[test]
fn a_copy_from_a_list_reads_its_pointer_once() {
    let list = vec!["{}"; 20_000].join(",");
    let name = format!("l{}oad", "_".repeat(900));
    let copy = format!(r#",{{"op":"copy","from":"/load/0/{name}","path":"/load"}}"#).repeat(16);
    let text = format!(
        "PATCH /nnrf-nfm/v1/subscriptions/1\ncontent-type: application/json-patch+json\n\n\
         [{{\"op\":\"add\",\"path\":\"/load\",\"value\":[{list}]}}{copy}]"
    );
    let begun = Instant::now();
    passes(incoming(&guard(""), &text));
    // An optimised build took 5 s before, this one a minute.
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}
