//! Lies in headers and queries.

use tessera_sepp::guard::Rule;

use super::{Case, case};

pub const CASES: &[Case] = &[
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
];
