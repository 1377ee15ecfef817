//! The table. The own network is 999-70; the peer is 001-01, and everything else is a lie or a third network: 208-93.

use tessera_sepp::guard::Rule;

pub struct Case {
    pub what: &'static str,
    pub rule: Rule,
    pub request: &'static str,
}

pub const fn case(what: &'static str, rule: Rule, request: &'static str) -> Case {
    Case { what, rule, request }
}

pub const SPOOFED: &[Case] = &[
    // Headers.
    case(
        "originating network of a third",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 208-93; srctype=SEPP",
    ),
    case(
        "originating network of the receiver",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 999-70; srctype=SEPP",
    ),
    case(
        "originating network of the peer's other certificate",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 001-02; srctype=SEPP",
    ),
    case(
        "originating network with three digits",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 001-001",
    ),
    case(
        "originating network twice, the second a lie",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 001-01\n\
         3gpp-sbi-originating-network-id: 208-93",
    ),
    case(
        "originating network as a list",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 001-01, 208-93",
    ),
    case(
        "originating network, its SEPP of a third",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 001-01; srctype=SEPP; \
         srcfqdn=sepp.5gc.mnc093.mcc208.3gppnetwork.org",
    ),
    case(
        "originating network that is none",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-originating-network-id: 00x-01",
    ),
    case(
        "asserted network of a third",
        Rule::PlmnInHeader,
        "GET /nnrf-disc/v1/nf-instances\n3gpp-sbi-asserted-plmn-id: 208-93",
    ),
    case(
        "discovery header of a third",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n\
         3gpp-sbi-discovery-requester-plmn-list: [{\"mcc\":\"208\",\"mnc\":\"93\"}]",
    ),
    case(
        "discovery header, encoded",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n\
         3gpp-sbi-discovery-requester-plmn-list: %5B%7B%22mcc%22%3A%22208%22%2C%22mnc%22%3A%2293%22%7D%5D",
    ),
    case(
        "routing binding of a third",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n\
         3gpp-sbi-routing-binding: bl=nf-set; nfset=set1.udmset.5gc.mnc093.mcc208",
    ),
    case(
        "peer information of a third SEPP",
        Rule::PlmnInHeader,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data\n\
         3gpp-sbi-nf-peer-info: srcsepp=sepp.5gc.mnc093.mcc208.3gppnetwork.org",
    ),
    // Queries.
    case(
        "requester of a third",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-plmn-list=%5B%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%5D",
    ),
    case(
        "requester of the receiver",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?requester-plmn-list=%5B%7B%22mcc%22:%22999%22,%22mnc%22:%2270%22%7D%5D",
    ),
    case(
        "requester of a third among own ones",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?requester-plmn-list=%5B%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D,%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%5D",
    ),
    case(
        "requester encoded twice",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?requester-plmn-list=%255B%257B%2522mcc%2522%253A%2522208%2522%252C%2522mnc%2522%253A%252293%2522%257D%255D",
    ),
    case(
        "requester with an encoded name",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?%72equester-plmn-list=%5B%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%5D",
    ),
    case(
        "requester twice, the second a lie",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?requester-plmn-list=%5B%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D%5D&requester-plmn-list=%5B%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%5D",
    ),
    case(
        "requester as digits",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?requester-plmn-list=20893",
    ),
    case(
        "requester as a list of digits",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?requester-plmn-list=001-01,208-93",
    ),
    case(
        "target of a third",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?target-plmn-list=%5B%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D%5D",
    ),
    case(
        "target of the sender",
        Rule::PlmnInQuery,
        "GET /nnrf-disc/v1/nf-instances?target-plmn-list=%5B%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D%5D",
    ),
    case(
        "serving network in a query, of a third",
        Rule::PlmnInQuery,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data?plmn-id=%7B%22mcc%22:%22208%22,%22mnc%22:%2293%22%7D",
    ),
    case(
        "serving network in a query, of the home",
        Rule::PlmnInQuery,
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data?plmn-id=%7B%22mcc%22:%22999%22,%22mnc%22:%2270%22%7D",
    ),
    case(
        "query that is encoded again and again",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances?x=%2525252525",
    ),
    case("query with half an escape", Rule::Malformed, "GET /nnrf-disc/v1/nf-instances?x=%4"),
    case(
        "query with broken JSON",
        Rule::Malformed,
        "GET /nnrf-disc/v1/nf-instances?guami=%7B%22a%22",
    ),
    case(
        "callback in a query",
        Rule::CallbackUri,
        "GET /nnrf-disc/v1/nf-instances?notify-uri=http://10.0.0.1/",
    ),
    // JSON.
    case(
        "serving network name of a third",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"supiOrSuci\":\"suci-0-999-70-0000-0-0-0000000001\",\"servingNetworkName\":\"5G:mnc093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "serving network name of the home",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5G:mnc070.mcc999.3gppnetwork.org\"}",
    ),
    case(
        "serving network name with an escaped name",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"serving\\u004eetworkName\":\"5G:mnc093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "serving network name with an escaped value",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5G:mnc\\u003093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "serving network name in capitals",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"SERVINGNETWORKNAME\":\"5G:MNC093.MCC208.3GPPNETWORK.ORG\"}",
    ),
    case(
        "serving network name twice, the first a lie",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5G:mnc093.mcc208.3gppnetwork.org\",\"servingNetworkName\":\"5G:mnc001.mcc001.3gppnetwork.org\"}",
    ),
    case(
        "serving network name twice, the second a lie",
        Rule::Malformed,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5G:mnc001.mcc001.3gppnetwork.org\",\"servingNetworkName\":\"5G:mnc093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "serving network name of two networks",
        Rule::Malformed,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5G:mnc001.mcc001.mnc093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "serving network name as a number",
        Rule::Malformed,
        "POST /nausf-auth/v1/ue-authentications\n\n{\"servingNetworkName\":20893}",
    ),
    case(
        "AMF of a third",
        Rule::PlmnInJson,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"},\"amfId\":\"020040\"}}",
    ),
    case(
        "AMF of the home",
        Rule::PlmnInJson,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mnc\":\"70\",\"mcc\":\"999\"},\"amfId\":\"020040\"}}",
    ),
    case(
        "AMF with an escaped code",
        Rule::PlmnInJson,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"\\u006dcc\":\"208\",\"m\\u006ec\":\"\\u00393\"}}}",
    ),
    case(
        "AMF with a code twice",
        Rule::Malformed,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\",\"mcc\":\"208\"}}}",
    ),
    case(
        "AMF with a code in another case",
        Rule::Malformed,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\",\"MCC\":\"208\"}}}",
    ),
    case(
        "AMF with a code as a number",
        Rule::Malformed,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":208,\"mnc\":93}}}",
    ),
    case(
        "AMF with a code in a list",
        Rule::Malformed,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":[\"208\"],\"mnc\":{\"x\":\"93\"}}}}",
    ),
    case(
        "AMF whose network is twice, the second a lie",
        Rule::Malformed,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}}",
    ),
    case(
        "AMF with three digits of network code",
        Rule::PlmnInJson,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"001\"}}}",
    ),
    case(
        "AMF within a list of third networks",
        Rule::PlmnInJson,
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"allowedPlmns\":[{\"guami\":{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}}]}",
    ),
    case(
        "change of a country alone",
        Rule::Malformed,
        "PATCH /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\
         content-type: application/merge-patch+json\n\n{\"guami\":{\"plmnId\":{\"mcc\":\"208\"}}}",
    ),
    case(
        "change of a network code alone",
        Rule::Malformed,
        "PATCH /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\
         content-type: application/merge-patch+json\n\n{\"guami\":{\"plmnId\":{\"mnc\":\"93\"}}}",
    ),
    case(
        "JSON Patch of a code",
        Rule::PlmnInJson,
        "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\n\
         content-type: application/json-patch+json\n\n\
         [{\"value\":\"208\",\"op\":\"replace\",\"path\":\"/guami/plmnId/mcc\"}]",
    ),
    case(
        "JSON Patch of an AMF",
        Rule::PlmnInJson,
        "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\n\
         content-type: application/json-patch+json\n\n\
         [{\"op\":\"replace\",\"path\":\"/guami\",\"value\":{\"plmnId\":{\"mcc\":\"999\",\"mnc\":\"70\"}}}]",
    ),
    case(
        "JSON Patch with an escaped path",
        Rule::PlmnInJson,
        "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\n\
         content-type: application/json-patch+json\n\n\
         [{\"op\":\"replace\",\"path\":\"/gu\\u0061mi/plmnId/mnc\",\"value\":\"\\u0039\\u0033\"}]",
    ),
    case(
        "JSON Patch that copies a network",
        Rule::Malformed,
        "PATCH /nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1\n\
         content-type: application/json-patch+json\n\n\
         [{\"op\":\"copy\",\"from\":\"/x\",\"path\":\"/guami/plmnId/mcc\"}]",
    ),
    case(
        "subscription for a third",
        Rule::PlmnInJson,
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n\
         {\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}",
    ),
    case(
        "session of a third's network",
        Rule::PlmnInJson,
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n\
         {\"servingNetwork\":{\"mcc\":\"208\",\"mnc\":\"93\"}}",
    ),
    case(
        "network in an unknown member",
        Rule::PlmnInJson,
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n\
         {\"vendor\":[{\"deep\":{\"mnc\":\"93\",\"mcc\":\"208\"}}]}",
    ),
    case(
        "place in a third network",
        Rule::PlmnInJson,
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n\
         {\"ueLocation\":{\"nrLocation\":{\"tai\":{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"},\"tac\":\"000001\"}}}}",
    ),
    case(
        "name of a third's function",
        Rule::PlmnInJson,
        "POST /nsmf-pdusession/v1/pdu-sessions\n\n{\"vsmfId\":\"smf1.5gc.mnc093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "profile of a third's function",
        Rule::PlmnInJson,
        "POST /nnrf-nfm/v1/subscriptions\n\n{\"plmnList\":[{\"mcc\":\"208\",\"mnc\":\"93\"}]}",
    ),
    case(
        "JSON without a type",
        Rule::ContentType,
        "POST /nausf-auth/v1/ue-authentications\ncontent-type: text/plain\n\n\
         {\"servingNetworkName\":\"5G:mnc093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "JSON in UTF-16, as it says",
        Rule::ContentType,
        "POST /nausf-auth/v1/ue-authentications\ncontent-type: application/json; charset=utf-16\n\n{}",
    ),
    case(
        "JSON of two types",
        Rule::ContentType,
        "POST /nausf-auth/v1/ue-authentications\ncontent-type: application/json\ncontent-type: text/plain\n\n{}",
    ),
    case(
        "JSON that is compressed",
        Rule::ContentCoding,
        "POST /nausf-auth/v1/ue-authentications\ncontent-type: application/json\ncontent-encoding: gzip\n\n{}",
    ),
    case("JSON twice", Rule::Malformed, "POST /nausf-auth/v1/ue-authentications\n\n{} {}"),
    case("JSON cut off", Rule::Malformed, "POST /nausf-auth/v1/ue-authentications\n\n{\"a\":[1,2"),
    case(
        "JSON with a comment",
        Rule::Malformed,
        "POST /nausf-auth/v1/ue-authentications\n\n{/**/}",
    ),
    case(
        "JSON with a byte order mark",
        Rule::Malformed,
        "POST /nausf-auth/v1/ue-authentications\n\n\u{feff}{}",
    ),
    case(
        "JSON with a comma too many",
        Rule::Malformed,
        "POST /nausf-auth/v1/ue-authentications\n\n{\"a\":1,}",
    ),
    case(
        "PRINS' block outside of PRINS",
        Rule::EncBlockIndex,
        "POST /nausf-auth/v1/ue-authentications\n\n{\"supiOrSuci\":{\"encBlockIndex\":0}}",
    ),
    case(
        "part of a multipart",
        Rule::PlmnInJson,
        "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=b\n\n\
         --b\r\ncontent-type: application/json\r\n\r\n\
         {\"servingNetwork\":{\"mcc\":\"208\",\"mnc\":\"93\"}}\r\n--b--\r\n",
    ),
    case(
        "second part of a multipart, without a type",
        Rule::ContentType,
        "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=\"b\"\n\n\
         --b\r\ncontent-type: application/json\r\n\r\n{}\r\n--b\r\ncontent-id: x\r\n\r\n\
         {\"servingNetwork\":{\"mcc\":\"208\",\"mnc\":\"93\"}}\r\n--b--\r\n",
    ),
    case(
        "multipart with a hidden end",
        Rule::Malformed,
        "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=b\n\n\
         --b\r\ncontent-type: application/json\r\n\r\n{}\r\n--b--\r\n\
         --b\r\n\r\n{\"servingNetwork\":{\"mcc\":\"208\",\"mnc\":\"93\"}}\r\n--b--\r\n",
    ),
    case(
        "part of a multipart, JSON by another name",
        Rule::ContentType,
        "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=b\n\n\
         --b\r\ncontent-type: application/vnd.3gpp.5gnas\r\n\r\n\
         {\"servingNetwork\":{\"mcc\":\"208\",\"mnc\":\"93\"}}\r\n--b--\r\n",
    ),
    case(
        "part of a multipart, JSON in another charset",
        Rule::ContentType,
        "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=b\n\n\
         --b\r\ncontent-type: application/JSON; charset=utf-7\r\n\r\n\
         +AHs-\"servingNetwork\":{\"mcc\":\"208\",\"mnc\":\"93\"}+AH0-\r\n--b--\r\n",
    ),
    case(
        "coding that is none",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\ncontent-encoding: identity\ncontent-type: application/json\n\n\
         {\"servingNetworkName\":\"5G:mnc093.mcc208.3gppnetwork.org\"}",
    ),
    case(
        "receiver's network as the serving one, by a letter that some readers fold",
        Rule::PlmnInJson,
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"\u{17f}ervingNetworkName\":\"5G:mnc070.mcc999.3gppnetwork.org\"}",
    ),
    case(
        "receiver's network as the serving one, of a service with an encoded name",
        Rule::PlmnInJson,
        "POST /nausf%2Dauth/v1/ue-authentications\n\n\
         {\"servingNetworkName\":\"5G:mnc070.mcc999.3gppnetwork.org\"}",
    ),
    case(
        "function without a network",
        Rule::Target,
        "POST /nnrf-nfm/v1/subscriptions\n\n{\"fqdn\":\"etcd.internal\"}",
    ),
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

/// The registration of a subscriber of 999-70 in 001-01, and what else passes between networks.
pub const HONEST: &[(&str, &str)] = &[
    (
        "discovery",
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=AUSF&requester-nf-type=AMF\
         &requester-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D%5D\
         &target-plmn-list=%5B%7B%22mcc%22%3A%22999%22%2C%22mnc%22%3A%2270%22%7D%5D\n\
         3gpp-sbi-originating-network-id: 001-01; srctype=SEPP; srcfqdn=sepp2.5gc.mnc001.mcc001.3gppnetwork.org\n\
         3gpp-sbi-target-apiroot: http://nrf.5gc.mnc070.mcc999.3gppnetwork.org:7777",
    ),
    (
        "discovery of an AMF by its GUAMI",
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=AMF\
         &guami=%7B%22plmnId%22:%7B%22mcc%22:%22999%22,%22mnc%22:%2270%22%7D,%22amfId%22:%22020040%22%7D",
    ),
    (
        "authentication",
        "POST /nausf-auth/v1/ue-authentications\n\n\
         {\"supiOrSuci\":\"suci-0-999-70-0000-0-0-0000000001\",\"servingNetworkName\":\"5G:mnc001.mcc001.3gppnetwork.org\"}",
    ),
    (
        "confirmation",
        "PUT /nausf-auth/v1/ue-authentications/1/5g-aka-confirmation\n\n{\"resStar\":\"90a8f4c6b1e7d2a35c8b0f6e9d1c4a7b\"}",
    ),
    (
        "registration of the AMF",
        "PUT /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\n\
         {\"amfInstanceId\":\"7c1ad2c4-0000-41ef-8a5d-2f1b61f0a001\",\
         \"deregCallbackUri\":\"http://amf.5gc.mnc001.mcc001.3gppnetwork.org:7777/namf-callback/v1/imsi-999700000000001/dereg-notify\",\
         \"guami\":{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"amfId\":\"020040\"},\"ratType\":\"NR\"}",
    ),
    (
        "subscription data",
        "GET /nudm-sdm/v2/imsi-999700000000001/am-data?plmn-id=%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D",
    ),
    (
        "subscription to changes",
        "POST /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions\n\n\
         {\"nfInstanceId\":\"7c1ad2c4-0000-41ef-8a5d-2f1b61f0a001\",\"implicitUnsubscribe\":true,\
         \"callbackReference\":\"http://amf.5gc.mnc001.mcc001.3gppnetwork.org/namf-callback/v1/sdm\",\
         \"monitoredResourceUris\":[\"http://udm.5gc.mnc070.mcc999.3gppnetwork.org/nudm-sdm/v2/imsi-999700000000001/am-data\"],\
         \"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"}}",
    ),
    (
        "purge",
        "PATCH /nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access\n\
         content-type: application/merge-patch+json\n\n\
         {\"guami\":{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"amfId\":\"020040\"},\"purgeFlag\":true}",
    ),
    (
        "session, home routed",
        "POST /nsmf-pdusession/v1/pdu-sessions\ncontent-type: multipart/related; boundary=b\n\n\
         --b\r\ncontent-type: application/json\r\n\r\n\
         {\"supi\":\"imsi-999700000000001\",\"servingNetwork\":{\"mcc\":\"001\",\"mnc\":\"01\"},\
         \"hPlmnSnssai\":{\"sst\":1},\"vsmfPduSessionUri\":\"http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x\",\
         \"ueLocation\":{\"nrLocation\":{\"tai\":{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"tac\":\"000001\"}}}}\r\n\
         --b\r\ncontent-type: application/vnd.3gpp.5gnas\r\ncontent-id: n1\r\n\r\n.\u{1}{\r\n--b--\r\n",
    ),
    (
        "target with a prefix",
        "GET /nnrf-disc/v1/nf-instances?target-nf-type=AUSF\n\
         3gpp-sbi-target-apiroot: http://nrf.5gc.mnc070.mcc999.3gppnetwork.org/north-1/core/",
    ),
    (
        "slices",
        "GET /nnssf-nsselection/v2/network-slice-information?home-plmn-id=%7B%22mcc%22:%22999%22,%22mnc%22:%2270%22%7D\
         &tai=%7B%22plmnId%22:%7B%22mcc%22:%22001%22,%22mnc%22:%2201%22%7D,%22tac%22:%22000001%22%7D",
    ),
    (
        "request for a token",
        "POST /oauth2/token\ncontent-type: application/x-www-form-urlencoded\n\n\
         grant_type=client_credentials&nfType=AMF&targetNfType=UDM&scope=nudm-sdm\
         &requesterPlmn=%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D\
         &targetPlmn=%7B%22mcc%22%3A%22999%22%2C%22mnc%22%3A%2270%22%7D\
         &requesterFqdn=amf.5gc.mnc001.mcc001.3gppnetwork.org",
    ),
    // {"iss":"n","consumerPlmnId":{"mcc":"001","mnc":"01"},"producerPlmnId":{"mcc":"999","mnc":"70"}}
    (
        "token",
        "DELETE /nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions/1\n\
         authorization: Bearer eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJuIiwiY29uc3VtZXJQbG1uSWQiOnsibWNjIjoiMDAxIiwibW5jIjoiMDEifSwicHJvZHVjZXJQbG1uSWQiOnsibWNjIjoiOTk5IiwibW5jIjoiNzAifX0.c2ln",
    ),
    (
        "handover of a third's subscriber",
        "POST /namf-comm/v1/ue-contexts/5g-guti-9997002004000000001/transfer\n\n\
         {\"reason\":\"MOBI_REG\",\"accessType\":\"3GPP_ACCESS\",\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"supi\":\"imsi-208930000000001\"}",
    ),
    (
        "steering of roaming, by a home network",
        "POST /namf-callback/v1/sdm\n\n\
         {\"notifyItems\":[{\"resourceId\":\"x\",\"changes\":[{\"op\":\"REPLACE\",\"path\":\"/sorInfo\",\"newValue\":\
         {\"sorInfo\":{\"steeringContainer\":[{\"plmnId\":{\"mcc\":\"208\",\"mnc\":\"93\"}}]}}}]}]}",
    ),
    (
        "numbers and texts",
        "POST /nausf-auth/v1/ue-authentications\n\n[1,-2,35000.5,null,true,\"mcc208\",\"5\",\"\u{e9}\"]",
    ),
];

/// What was answered to what: what it is, the rule, the path that was asked, a header, and the body.
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
        r#"{"_links":{"5g-aka":{"href":"http://ausf.5gc.mnc001.mcc001.3gppnetwork.org/x"}}}"#,
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
