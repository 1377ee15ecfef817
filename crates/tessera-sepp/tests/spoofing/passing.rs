//! Messages that must pass, though a less informed check would refuse each.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tessera_sepp::guard::Rule;

use crate::message::{guard, incoming, incoming_answer, outgoing_answer, passes};

#[test]
fn requests_pass_that_look_like_what_is_refused() {
    let guard = guard("");
    for text in [
        // TS 33.501 §6.1.1.4: without the network's own radio.
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"supiOrSuci\":\"suci-0-999-70-0000-0-0-0000000001\",\"servingNetworkName\":\"5G:NSWO\"}",
        // A home network asks about its subscriber, who is roaming here.
        "POST /nsmf-callback/v1/pdu-session-statuses/1\n\n{\"supi\":\"imsi-001010000000001\"}",
        // A private network, which no realm names.
        "POST /nsmf-callback/v1/pdu-session-statuses/1\n\n{\"supi\":\"nai-printer\"}",
        // The receiver's SEPP itself, whose name is the end of its telescopic names.
        "POST /nudm-sdm/v2/x/y\n\n{\"href\":\"http://sepp1.5gc.mnc070.mcc999.3gppnetwork.org/nudm-sdm/v2/x\"}",
        // TS 29.525 §5.6: a home network's policies for a subscriber that visits, and networks of a whole country.
        "POST /npcf-callback/v1/1/update\n\n{\"resourceUri\":\"http://pcf.5gc.mnc001.mcc001.3gppnetwork.org/npcf-ue-policy-control/v1/policies/1\"}",
        "POST /npcf-callback/v1/1/update\n\n{\"visitedNetDescs\":[{\"mcc\":\"001\"}]}",
        // Text for people.
        "GET /nudm-sdm/v2/x\nuser-agent: UDM http://10.0.0.1/",
    ] {
        let judged = incoming(&guard, text);
        assert!(judged.is_ok(), "{text}: {judged:?}");
        passes(judged);
    }
}

#[test]
fn answers_pass_that_look_like_what_is_refused() {
    let guard = guard("[peer.visited.guard]\nhide-topology = false");
    let asked = "/nudm-sdm/v2/x";
    let body = r#"{"plmns":["none of them"]}"#;
    assert_eq!(incoming_answer(&guard, asked, "", body).as_deref(), Ok(body), "a third's name");
    for (asked, body) in [
        // A subscriber of a third network, and half a network where any may be named.
        ("/nsmf-pdusession/v1/x", r#"{"supi":"imsi-208930000000001"}"#),
        ("/nsmf-pdusession/v1/x", r#"{"tai":{"plmnId":{"mcc":"208"},"tac":"1"}}"#),
        // A text that no function follows.
        (asked, r#"{"dnn":"http://nrf.5gc.mnc070.mcc999.3gppnetwork.org/nudr-dr/v1"}"#),
        // Of a network that served the subscriber before.
        (asked, r#"{"vendorId":"5g-guti-2089302004000000001"}"#),
        // Servers and gateways, which no network function connects to over HTTP.
        (
            "/namf-comm/v1/x",
            r#"{"appServerAddrs":[{"fqdn":"app.example"}],"upfAddr":{"fqdn":"upf.example"}}"#,
        ),
        (
            "/nausf-auth/v1/x",
            r#"{"pvsInfo":[{"ipv4Addresses":["192.0.2.1"],"ipv6Addresses":["2001:db8::1"]}]}"#,
        ),
        // A merge patch deletes it.
        (asked, r#"{"plmnId":{"mcc":null,"mnc":null}}"#),
    ] {
        assert_eq!(incoming_answer(&guard, asked, "", body).as_deref(), Ok(body));
    }
    let other = r#"{"appServerAddrs":[{"targetNfFqdn":"udr.internal"}]}"#;
    let judged = incoming_answer(&guard, "/namf-comm/v1/x", "", other);
    assert!(judged.is_err(), "other names below it are of functions");
    for header in ["server: http://10.0.0.1/", "via: 2.0 http://10.0.0.1/"] {
        assert_eq!(incoming_answer(&guard, asked, header, "").as_deref(), Ok(""), "{header}");
    }
    // A local function may reveal its address.
    let own = outgoing_answer(&guard, asked, "etag: http://10.0.0.1/", "");
    assert_eq!(own.as_deref(), Ok(""));
}

#[test]
fn a_refusal_names_the_networks_that_are_allowed() {
    let to =
        "GET /nudm-sdm/v2/x\n3gpp-sbi-target-apiroot: http://udm.5gc.mnc001.mcc001.3gppnetwork.org";
    let refusal = incoming(&guard(""), to).unwrap_err();
    assert_eq!((refusal.rule, refusal.allowed.to_string().as_str()), (Rule::Target, "999-70"));
}

#[test]
fn a_token_may_name_a_place_for_its_keys_only_in_the_senders_network() {
    let asked = |header: &str| {
        let [header, claims] = [header, "{}"].map(|part| URL_SAFE_NO_PAD.encode(part));
        let text = format!("GET /nudm-sdm/v2/x\nauthorization: Bearer {header}.{claims}.c2ln");
        incoming(&guard(""), &text).map(drop).map_err(|refusal| refusal.rule)
    };
    assert_eq!(asked(r#"{"alg":"ES256"}"#), Ok(()));
    assert_eq!(asked(r#"{"x5u":"https://k.5gc.mnc001.mcc001.3gppnetwork.org/"}"#), Ok(()));
    for place in ["//10.0.0.1/", "10.0.0.1/", "k.example", ""] {
        for name in ["x5u", "jku", "JKU"] {
            let header = format!(r#"{{"{name}":"{place}"}}"#);
            assert_eq!(asked(&header), Err(Rule::CallbackUri), "{header}");
        }
    }
    for header in [r#"{"jku":1}"#, r#"{"jku":["https://k.example/"]}"#] {
        assert_eq!(asked(header), Err(Rule::CallbackUri), "{header}");
    }
    assert_eq!(asked("[]"), Err(Rule::Malformed));
}

/// The member names the NRF's network, and its path any of both.
#[test]
fn the_path_of_a_uri_may_name_either_end() {
    let uri = |name: &str| {
        format!(
            "POST /nsmf-pdusession/v1/pdu-sessions\n\n{{\"hnrfUri\":\"http://nrf.5gc.mnc070.mcc999.3gppnetwork.org/nnrf-disc/v1/{name}\"}}"
        )
    };
    passes(incoming(&guard(""), &uri("amf1.5gc.mnc001.mcc001.3gppnetwork.org")));
    assert!(incoming(&guard(""), &uri("amf1.5gc.mnc093.mcc208.3gppnetwork.org")).is_err());
}
