//! What a local function repeats becomes a hidden name, which its peer can ask: a peer may not choose it.

use tessera_sepp::guard::{RevealedTarget, Rule};

use crate::message::{
    guard, hidden, incoming, incoming_answer, outgoing, outgoing_answer, passes, request, with,
};

const UDM: &str = "udm.5gc.mnc070.mcc999.3gppnetwork.org";
const SECRET: &str = "secret.5gc.mnc070.mcc999.3gppnetwork.org";
/// What a local function sends.
const CALLBACK: &str = r#"{"callbackReference":"http://10.45.0.5:7777/x"}"#;
const SUBSCRIBE: &str = "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions";

#[test]
fn a_reference_without_a_scheme_names_only_what_the_peer_may_reach() {
    let guard = guard(&format!("[sbi]\nallowed-targets = [\"{UDM}\"]"));
    let rule = |member: &str, value: &str| {
        let text = format!("{SUBSCRIBE}\n\n{{\"{member}\":\"{value}\"}}");
        incoming(&guard, &text).err().map(|refusal| refusal.rule)
    };
    for member in ["monitoredResourceUris", "subscriptionId", "resourceId", "type", "instance"] {
        assert_eq!(rule(member, &format!("{UDM}/nudm-sdm/v2/x")), None, "{member}");
        for (value, refused) in [
            (format!("{SECRET}/nudm-sdm/v2/x"), Rule::Target),
            (format!("http://{SECRET}/nudm-sdm/v2/x"), Rule::Target),
            (format!("{UDM}/nudr-dr/v1/x"), Rule::CallbackUri),
            // As some readers take it, decoded.
            (format!("secret%2e{}/nudm-sdm", &SECRET["secret.".len()..]), Rule::Target),
            ("amf.5gc.mnc093.mcc208.3gppnetwork.org/x".to_owned(), Rule::CallbackUri),
            ("amf%2e5gc.mnc093.mcc208.3gppnetwork.org/x".to_owned(), Rule::CallbackUri),
        ] {
            assert_eq!(rule(member, &value), Some(refused), "{member}: {value}");
        }
    }
}

#[test]
fn an_answer_has_no_place_that_a_function_could_repeat() {
    let targets = format!("[sbi]\nallowed-targets = [\"{UDM}\"]");
    let shows = format!("{targets}\n[peer.visited.guard]\nhide-topology = false");
    for (uri, rule) in [
        ("http://10.0.0.1:6379/x".to_owned(), Rule::CallbackUri),
        ("http://localhost:2379/x".to_owned(), Rule::CallbackUri),
        (format!("http://{SECRET}/nudm-sdm"), Rule::Target),
    ] {
        let body = format!("{{\"dnn\":\"{uri}\"}}");
        let judged = |guard| incoming_answer(&guard, "/nudm-sdm/v2/x", "", &body);
        assert_eq!(judged(guard(&targets)).unwrap_err().rule, rule, "{uri}");
        // Without hidden names it leads nowhere.
        assert!(judged(guard(&shows)).is_ok(), "{uri}");
    }
}

#[test]
fn a_hidden_name_is_asked_for_what_the_peer_may_ask() {
    let guard = guard("");
    let sent = outgoing_answer(&guard, "/nudm-sdm/v2/x", "", CALLBACK).unwrap();
    let name = hidden(&sent);
    let rule = |member: &str, path: &str| {
        let text =
            format!("POST /nsmf-pdusession/v1/x\n\n{{\"{member}\":\"http://{name}{path}\"}}");
        incoming(&guard, &text).err().map(|refusal| refusal.rule)
    };
    for member in ["hSmfUri", "hsmfPduSessionUri", "oldPduSessionRef", "subscriptionId"] {
        assert_eq!(rule(member, "/nsmf-pdusession/v1/x"), None, "{member}");
        assert_eq!(rule(member, "/nudr-dr/v1/x"), Some(Rule::CallbackUri), "{member}");
    }
    // Its own callback comes back to the function.
    let body = format!("{{\"callbackReference\":\"http://{name}/namf-callback/v1/x\"}}");
    let back = incoming_answer(&guard, "/nudm-sdm/v2/x", "", &body).unwrap();
    assert_eq!(back, r#"{"callbackReference":"http://10.45.0.5:7777/namf-callback/v1/x"}"#);
    for (path, passes) in [
        ("/namf-callback/v1/x", true),
        ("/1", true),
        ("/my-own/1", true),
        ("/nudr-dr/v1", false),
        ("//nudr-dr", false),
    ] {
        let body = format!("{{\"eventNotifyUri\":\"http://{name}{path}\"}}");
        let judged = incoming_answer(&guard, "/namf-comm/v1/x", "", &body);
        assert_eq!(judged.is_ok(), passes, "{path}: {judged:?}");
    }
}

#[test]
fn a_name_of_a_network_function_in_an_answer_is_the_peers() {
    for (value, passes) in [
        ("http://nrf.5gc.mnc001.mcc001.3gppnetwork.org/nnrf-disc/v1", true),
        ("nrf.5gc.mnc001.mcc001.3gppnetwork.org", true),
        ("http://nrf.5gc.mnc070.mcc999.3gppnetwork.org/nnrf-disc/v1", false),
    ] {
        let body = format!("{{\"nrfId\":\"{value}\"}}");
        let judged = incoming_answer(&guard(""), "/nnssf-nsselection/v2/x", "", &body);
        assert_eq!(judged.is_ok(), passes, "{value}");
    }
}

#[test]
fn a_uri_that_a_function_follows_asks_for_what_the_peer_may_ask() {
    for member in ["nrfId", "monitoredResourceUris"] {
        let guard = guard("[sbi]\ntarget-prefixes = [\"/north\"]");
        let rule = |path: &str| {
            let uri = format!("http://nrf.5gc.mnc070.mcc999.3gppnetwork.org{path}");
            let text = format!("{SUBSCRIBE}\n\n{{\"{member}\":\"{uri}\"}}");
            incoming(&guard, &text).err().map(|refusal| refusal.rule)
        };
        for path in ["", "/", "/nnrf-disc/v1", "/north", "/north/", "/north/nnrf-disc/v1?a=/b"] {
            assert_eq!(rule(path), None, "{member} {path}");
        }
        for path in [
            "/nudr-dr/v1",
            "//nudr-dr/v1",
            "/nudm-sdm/..%2f..%2fnudr-dr/v1",
            "/nudm-sdm/..;/nudr-dr/v1",
            "/northern/nudr-dr",
            "/north/nudr-dr/v1",
        ] {
            assert_eq!(rule(path), Some(Rule::CallbackUri), "{member} {path}");
        }
    }
}

/// Only local functions know telescopic names.
#[test]
fn a_peers_uri_has_no_telescopic_name() {
    let guard = guard("[sbi]\ntelescopic-domain = \"sepp1.5gc.mnc070.mcc999.3gppnetwork.org\"");
    let uri = "http://a-b-c.sepp1.5gc.mnc070.mcc999.3gppnetwork.org/nudm-sdm/v2";
    for member in ["dnn", "hSmfUri", "callbackReference"] {
        let text = format!("POST /nsmf-pdusession/v1/x\n\n{{\"{member}\":\"{uri}\"}}");
        let judged = incoming(&guard, &text).err().map(|refusal| refusal.rule);
        assert_eq!(judged, Some(Rule::CallbackUri), "{member}");
    }
}

/// A peer that gets a hidden name reaches what it stands for.
#[test]
fn a_callback_that_comes_back_as_a_hidden_name_is_reached() {
    let guard = guard("");
    let sent = outgoing_answer(&guard, "/nudm-sdm/v2/x", "", CALLBACK).unwrap();
    let target = format!("3gpp-sbi-target-apiroot: http://{}", hidden(&sent));
    let (mut parts, _) = request(&format!("POST /namf-callback/v1/x\n{target}"));
    passes(with(|context| guard.incoming_request(context, &mut parts, None)));
    assert_eq!(parts.extensions.get(), Some(&RevealedTarget));
}

/// A local function may repeat what it read, whatever it should have been.
#[test]
fn a_uri_where_the_api_has_none_is_refused() {
    for uri in
        ["http://10.0.0.1:2379/x", "HTTP://localhost/", " http://10.0.0.1", "https:/10.0.0.1"]
    {
        let own = "http://udr.5gc.mnc070.mcc999.3gppnetwork.org/";
        for (asked, body) in [
            ("/nudm-sdm/v2/x", format!(r#"{{"dnnConfigurations":{{"{uri}":{{}}}}}}"#)),
            ("/nudm-sdm/v2/x", format!(r#"{{"supi":"{uri}"}}"#)),
            ("/nudm-sdm/v2/x", format!(r#"{{"disasterPlmn":"{uri}"}}"#)),
            ("/nnrf-disc/v1/nf-instances", format!(r#"{{"nfInstanceList":{{"{own}":{{}}}}}}"#)),
        ] {
            let refusal = incoming_answer(&guard(""), asked, "", &body).unwrap_err();
            assert_eq!(refusal.rule, Rule::CallbackUri, "{body}");
        }
        let pointer = uri.replace('/', "~1");
        let change =
            format!(r#"{{"op":"ADD","path":"/0/dnnConfigurations/{pointer}","newValue":{{}}}}"#);
        let text =
            format!("POST /nudm-callback/v1/x\n\n{{\"notifyItems\":[{{\"changes\":[{change}]}}]}}");
        let judged = incoming(&guard(""), &text).err().map(|refusal| refusal.rule);
        assert_eq!(judged, Some(Rule::CallbackUri), "{text}");
    }
}

/// What a function follows is what the peer itself may ask, by its method or another.
#[test]
fn a_path_that_the_peer_may_not_ask_is_followed_by_no_function() {
    let apis = r#"["nnrf-nfm: POST /nnrf-nfm/v1/subscriptions/*", "nnrf-disc", "nudm-sdm"]"#;
    let guard = guard(&format!("[peer.visited.guard]\napis = {apis}"));
    let rule = |path: &str| {
        let uri = format!("http://nrf.5gc.mnc070.mcc999.3gppnetwork.org{path}");
        let text = format!("{SUBSCRIBE}\n\n{{\"nrfId\":\"{uri}\"}}");
        incoming(&guard, &text).err().map(|refusal| refusal.rule)
    };
    for path in ["/nnrf-nfm/v1", "/nnrf-nfm/v1/subscriptions/5", "/nnrf-disc/v1/nf-instances"] {
        assert_eq!(rule(path), None, "{path}");
    }
    assert_eq!(rule("/nnrf-nfm/v1/nf-instances/1"), Some(Rule::CallbackUri));
}

#[test]
fn a_reference_is_relative_or_names_a_home_domain() {
    let rule = |value: &str| {
        let text = format!("{SUBSCRIBE}\n\n{{\"subscriptionId\":\"{value}\"}}");
        incoming(&guard(""), &text).err().map(|refusal| refusal.rule)
    };
    for value in ["imsi-999700000000001/sm-data?dnn=a:b", "00101-x3Lf57A:nid=1:2", "a/b:c"] {
        assert_eq!(rule(value), None, "{value}");
    }
    for value in [
        "1.evil.example:2379/v1/kv",
        "foo.localhost/x",
        "localhost.localdomain/x",
        "udr.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1/x",
        "udr.epc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1/x",
    ] {
        assert_eq!(rule(value), Some(Rule::CallbackUri), "{value}");
    }
    // A local function's passes.
    let own = "udr.epc.mnc070.mcc999.3gppnetwork.org/x";
    let path = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions";
    let text = format!("POST {path}\n\n{{\"subscriptionId\":\"{own}\"}}");
    passes(outgoing(&guard(""), &text));
}
