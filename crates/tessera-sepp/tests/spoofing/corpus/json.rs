//! Lies in JSON.

use tessera_sepp::guard::Rule;

use super::{Case, case};

pub const CASES: &[Case] = &[
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
        "JSON in UTF-16, as declared",
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
];
