//! Subscribers, callbacks, tokens, and what a peer may not reach.

use tessera_sepp::guard::Rule;

use super::{Case, case};

pub const CASES: &[Case] = &[
    // Subscribers.
    case(
        "subscriber of a third in the path",
        Rule::UeIdentity,
        "GET /nudm-sdm/v2/imsi-208930000000001/am-data",
    ),
    case(
        "subscriber of the sender in the path of the home",
        Rule::UeIdentity,
        "GET /nudm-sdm/v2/imsi-001010000000001/am-data",
    ),
    case(
        "subscriber of a third, encoded",
        Rule::UeIdentity,
        "GET /nudm-sdm/v2/%69msi%2D208930000000001/am-data",
    ),
    case(
        "concealed subscriber of a third",
        Rule::UeIdentity,
        "POST /nausf-auth/v1/ue-authentications\n\n{\"supiOrSuci\":\"suci-0-208-93-0000-0-0-0000000001\"}",
    ),
    case(
        "subscriber of a third in any member",
        Rule::UeIdentity,
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n{\"x\":{\"y\":[\"IMSI-208930000000001\"]}}",
    ),
    case(
        "subscriber of a third as a member's name",
        Rule::UeIdentity,
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n{\"imsi-208930000000001\":{}}",
    ),
    case("subscriber that is malformed", Rule::UeIdentity, "GET /nudm-sdm/v2/imsi-99970x/am-data"),
    case(
        "GUTI of a third",
        Rule::UeIdentity,
        "POST /namf-comm/v1/ue-contexts/5g-guti-2089302004000000001/transfer\n\n{}",
    ),
    // Callbacks.
    case(
        "callback to an address",
        Rule::CallbackUri,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"deregCallbackUri\":\"http://10.0.0.5:7777/dereg\"}",
    ),
    case(
        "callback to an address, escaped",
        Rule::CallbackUri,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"deregCallbackUri\":\"http:\\/\\/127.0.0.1\\/dereg\"}",
    ),
    case(
        "callback to an address of IPv6",
        Rule::CallbackUri,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"deregCallbackUri\":\"http://[::1]/dereg\"}",
    ),
    case(
        "callback to an own function",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n\
         {\"callbackReference\":\"http://udm.5gc.mnc070.mcc999.3gppnetwork.org/nudm-uecm/v1/x\"}",
    ),
    case(
        "callback to a third network",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n\
         {\"callbackReference\":\"http://amf.5gc.mnc093.mcc208.3gppnetwork.org/x\"}",
    ),
    case(
        "callback to a name outside of all",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{\"callbackReference\":\"https://metadata.internal/\"}",
    ),
    case(
        "callback with a network's name in front",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n\
         {\"callbackReference\":\"http://a.5gc.mnc001.mcc001.3gppnetwork.org.example/\"}",
    ),
    case(
        "callback with user information",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n\
         {\"callbackReference\":\"http://amf.5gc.mnc001.mcc001.3gppnetwork.org@10.0.0.1/\"}",
    ),
    case(
        "callback with a space in front",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{\"callbackReference\":\" http://10.0.0.1/\"}",
    ),
    case(
        "callback without a scheme",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{\"callbackReference\":\"//10.0.0.1/\"}",
    ),
    case(
        "URI to an address in an unknown member",
        Rule::CallbackUri,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n{\"vendor\":[\"http://169.254.169.254/\"]}",
    ),
    // Access tokens.
    case(
        "request for a token as a third",
        Rule::PlmnInTokenRequest,
        "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
         grant_type=client_credentials&requesterPlmn=%7B%22mcc%22%3A%22208%22%2C%22mnc%22%3A%2293%22%7D",
    ),
    case(
        "request for a token as the receiver",
        Rule::PlmnInTokenRequest,
        "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
         requesterPlmnList=%5B%7B%22mcc%22%3A%22999%22%2C%22mnc%22%3A%2270%22%7D%5D",
    ),
    case(
        "request for a token for the sender",
        Rule::PlmnInTokenRequest,
        "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
         targetPlmn=%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D",
    ),
    case(
        "request for a token with a third's name",
        Rule::PlmnInTokenRequest,
        "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
         requesterFqdn=amf.5gc.mnc093.mcc208.3gppnetwork.org",
    ),
    // {"consumerPlmnId":{"mcc":"208","mnc":"93"}}
    case(
        "token of a third",
        Rule::PlmnInToken,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n\
         authorization: Bearer eyJhbGciOiJFUzI1NiJ9.eyJjb25zdW1lclBsbW5JZCI6eyJtY2MiOiIyMDgiLCJtbmMiOiI5MyJ9fQ.c2ln",
    ),
    // {"producerPlmnId":{"mcc":"208","mnc":"93"}}
    case(
        "token for a third",
        Rule::PlmnInToken,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n\
         authorization: bearer eyJhbGciOiJFUzI1NiJ9.eyJwcm9kdWNlclBsbW5JZCI6eyJtY2MiOiIyMDgiLCJtbmMiOiI5MyJ9fQ.c2ln",
    ),
    case(
        "token that is none",
        Rule::Malformed,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\nauthorization: Bearer opaque",
    ),
    case(
        "token of another kind",
        Rule::Malformed,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\nauthorization: Basic dTpw",
    ),
    // APIs.
    case(
        "service that isn't for roaming",
        Rule::Api,
        "GET /nudr-dr/v1/subscription-data/imsi-999700000000001",
    ),
    case("service with another's beginning", Rule::Api, "GET /nudm-sdmx/v2/imsi-999700000000001"),
    case("service in capitals", Rule::Api, "GET /NUDM-SDM/v2/imsi-999700000000001"),
    case("root", Rule::Api, "GET /x"),
    case("path with dots", Rule::Malformed, "GET /nudm-sdm/../nudr-dr/v1"),
    case("path with encoded dots", Rule::Malformed, "GET /nudm-sdm/%2e%2E/nudr-dr/v1"),
    case("path with an encoded slash", Rule::Malformed, "GET /nudm-sdm%2f..%2fnudr-dr/v1"),
    case("path with an empty segment", Rule::Malformed, "GET //nudm-sdm/v2/x"),
    // Targets.
    case(
        "target is an address",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://10.0.0.1:8000",
    ),
    case(
        "target is a third network",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://nrf.5gc.mnc093.mcc208.3gppnetwork.org",
    ),
    case(
        "target is the sender",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://nrf.5gc.mnc001.mcc001.3gppnetwork.org",
    ),
    case(
        "target is outside of all",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://localhost:8000",
    ),
    case(
        "target has the own name in front",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://nrf.5gc.mnc070.mcc999.3gppnetwork.org.example",
    ),
    case(
        "target has user information",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://nrf.5gc.mnc070.mcc999.3gppnetwork.org@10.0.0.1",
    ),
    case(
        "target twice",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://nrf.5gc.mnc070.mcc999.3gppnetwork.org\n\
         3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org",
    ),
    case(
        "target with another service in front",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org/nudm-uecm/v1/imsi-999700000000001",
    ),
    case(
        "target with another service in front, encoded",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org/a/nudr%2Ddr",
    ),
    case(
        "target with tokens in front",
        Rule::Target,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org/oauth2",
    ),
    case(
        "target with encoded dots",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org/a/%2e%2e",
    ),
    case(
        "target with a parameter",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org/a;b",
    ),
    case(
        "target with a query",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-target-apiroot: http://udm.5gc.mnc070.mcc999.3gppnetwork.org/a?b",
    ),
    case(
        "target is a hidden name of the peer's making",
        Rule::Topology,
        "GET /nnrf-disc/v1/nf-instances\n\
         3gpp-sbi-target-apiroot: http://0400000a000001.hidden.5gc.mnc070.mcc999.3gppnetwork.org",
    ),
];
