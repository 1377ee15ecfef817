//! The exchanges between a visited and a home network when a subscriber registers there, and leaves: in the order and
//! with the body sizes of a recorded registration with local breakout (open5gs, `5g-roaming-lbo.pcapng`). All values
//! are made up.

use bytes::Bytes;

/// The size that stands for the field section of a request or response without HTTP, in bytes: this lab's choice.
pub(crate) const FIELDS: usize = 100;

/// A request of the visited network's AMF or SMF, and the answer of the home network's function.
pub(crate) struct Exchange {
    /// The method.
    pub(crate) method: &'static str,
    /// The function it asks: the first label of its name in the home network.
    pub(crate) function: &'static str,
    /// The path, with its query if it has one.
    pub(crate) path: &'static str,
    /// The body of the request.
    pub(crate) request: Json,
    /// The status of the answer.
    pub(crate) status: u16,
    /// The body of the answer, as the function sends it: SEPPs may rewrite names in it.
    pub(crate) response: Json,
}

/// JSON padded to a length in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Json {
    text: &'static str,
    len: usize,
}

impl Exchange {
    /// Whether the answer repeats the request: names of callbacks as SEPPs rewrote them.
    pub(crate) fn is_repeated(&self) -> bool {
        !self.request.is_empty() && self.request.text == self.response.text
    }

    /// Whether it is a discovery: the NRF's results vary.
    pub(crate) fn is_discovery(&self) -> bool {
        self.function == "nrf"
    }
}

impl Json {
    /// Its length, in bytes.
    pub(crate) const fn len(self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Its bytes.
    pub(crate) fn bytes(self) -> Bytes {
        let missing = self.len.saturating_sub(self.text.len());
        let filler = missing.checked_sub(FILLER.len());
        match (filler, self.text.strip_suffix('}')) {
            (Some(zeros), Some(open)) => {
                let (start, end) = FILLER.split_at(FILLER.len() - 1);
                Bytes::from(format!("{open}{start}{}{end}}}", "0".repeat(zeros)))
            }
            _ => Bytes::from_static(self.text.as_bytes()),
        }
    }
}

/// Fills an object to its size: its last member.
const FILLER: &str = r#","supportedFeatures":"""#;

const fn json(len: usize, text: &'static str) -> Json {
    Json { text, len }
}

const NONE: Json = json(0, "");

const fn get(
    function: &'static str,
    path: &'static str,
    len: usize,
    response: &'static str,
) -> Exchange {
    let response = json(len, response);
    Exchange { method: "GET", function, path, request: NONE, status: 200, response }
}

/// With local breakout: 13 exchanges. Nine are of the registration (TS 23.502 §4.2.2.2.2), the next two, the SMF's, of
/// a PDU session (§4.3.2.2.1), and the last two, which end the subscription and set `purgeFlag`, of the deregistration
/// (§4.2.2.3).
pub(crate) const LOCAL_BREAKOUT: [Exchange; 13] = [
    get(
        "nrf",
        "/nnrf-disc/v1/nf-instances?target-nf-type=AUSF&requester-nf-type=AMF&service-names=nausf-auth&requester-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D%5D",
        673,
        r#"{"validityPeriod":3600,"nfInstances":[{"nfInstanceId":"0b1c6e6e-3a2f-41f0-8d4e-5f0a7c2d9e10","nfType":"AUSF","nfStatus":"REGISTERED","plmnList":[{"mcc":"999","mnc":"70"}],"fqdn":"ausf.5gc.mnc070.mcc999.3gppnetwork.org","nfServices":[{"serviceInstanceId":"1","serviceName":"nausf-auth","versions":[{"apiVersionInUri":"v1","apiFullVersion":"1.2.0"}],"scheme":"http","nfServiceStatus":"REGISTERED","fqdn":"ausf.5gc.mnc070.mcc999.3gppnetwork.org"}]}]}"#,
    ),
    Exchange {
        method: "POST",
        function: "ausf",
        path: "/nausf-auth/v1/ue-authentications",
        request: json(
            103,
            r#"{"supiOrSuci":"suci-0-999-70-0-0-0-0000000001","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}"#,
        ),
        status: 201,
        response: json(
            299,
            r#"{"authType":"5G_AKA","5gAuthData":{"rand":"00112233445566778899aabbccddeeff","autn":"ffeeddccbbaa99887766554433221100","hxresStar":"0123456789abcdef0123456789abcdef"},"_links":{"5g-aka":{"href":"http://ausf.5gc.mnc070.mcc999.3gppnetwork.org/nausf-auth/v1/1"}}}"#,
        ),
    },
    Exchange {
        method: "PUT",
        function: "ausf",
        path: "/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation",
        request: json(46, r#"{"resStar":"0123456789abcdef0123456789abcdef"}"#),
        status: 200,
        response: json(
            144,
            r#"{"authResult":"AUTHENTICATION_SUCCESS","supi":"imsi-999700000000001","kseaf":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}"#,
        ),
    },
    get(
        "nrf",
        "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF&service-names=nudm-uecm&requester-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D%5D",
        666,
        UDM,
    ),
    Exchange {
        method: "PUT",
        function: "udm",
        path: "/nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access",
        request: json(226, REGISTRATION),
        status: 201,
        response: json(226, REGISTRATION),
    },
    get(
        "udm",
        "/nudm-sdm/v2/imsi-999700000000001/am-data",
        170,
        r#"{"gpsis":["msisdn-4917000001"],"subscribedUeAmbr":{"uplink":"1 Gbps","downlink":"1 Gbps"},"nssai":{"defaultSingleNssais":[{"sst":1}]}}"#,
    ),
    get(
        "udm",
        "/nudm-sdm/v2/imsi-999700000000001/smf-select-data",
        92,
        r#"{"subscribedSnssaiInfos":{"01":{"dnnInfos":[{"dnn":"ims"}]}}}"#,
    ),
    get("udm", "/nudm-sdm/v2/imsi-999700000000001/ue-context-in-smf-data", 2, "{}"),
    Exchange {
        method: "POST",
        function: "udm",
        path: "/nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions",
        request: json(244, SUBSCRIPTION),
        status: 201,
        response: json(244, SUBSCRIPTION),
    },
    get(
        "nrf",
        "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=SMF&service-names=nudm-sdm&requester-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D%5D",
        680,
        UDM,
    ),
    get(
        "udm",
        "/nudm-sdm/v2/imsi-999700000000001/sm-data",
        455,
        r#"{"singleNssai":{"sst":1},"dnnConfigurations":{"internet":{"pduSessionTypes":{"defaultSessionType":"IPV4V6"},"sscModes":{"defaultSscMode":"SSC_MODE_1"},"5gQosProfile":{"5qi":9,"arp":{"priorityLevel":8}},"sessionAmbr":{"uplink":"1 Gbps","downlink":"1 Gbps"}}}}"#,
    ),
    Exchange {
        method: "DELETE",
        function: "udm",
        path: "/nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions/1",
        request: NONE,
        status: 204,
        response: NONE,
    },
    Exchange {
        method: "PATCH",
        function: "udm",
        path: "/nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access",
        request: json(
            79,
            r#"{"guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"purgeFlag":true}"#,
        ),
        status: 204,
        response: NONE,
    },
];

const UDM: &str = r#"{"validityPeriod":3600,"nfInstances":[{"nfInstanceId":"1c2d7f7f-4b30-42f1-9e5f-601b8d3eaf21","nfType":"UDM","nfStatus":"REGISTERED","plmnList":[{"mcc":"999","mnc":"70"}],"fqdn":"udm.5gc.mnc070.mcc999.3gppnetwork.org","nfServices":[{"serviceInstanceId":"1","serviceName":"nudm-uecm","versions":[{"apiVersionInUri":"v1","apiFullVersion":"1.2.0"}],"scheme":"http","nfServiceStatus":"REGISTERED","fqdn":"udm.5gc.mnc070.mcc999.3gppnetwork.org"}]}]}"#;
const REGISTRATION: &str = r#"{"amfInstanceId":"7f0b2c3d-5e6f-4a1b-9c8d-1e2f3a4b5c6d","deregCallbackUri":"http://amf.5gc.mnc001.mcc001.3gppnetwork.org/1","guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"ratType":"NR"}"#;
const SUBSCRIPTION: &str = r#"{"nfInstanceId":"7f0b2c3d-5e6f-4a1b-9c8d-1e2f3a4b5c6d","implicitUnsubscribe":true,"callbackReference":"http://amf.5gc.mnc001.mcc001.3gppnetwork.org/1","monitoredResourceUris":[]}"#;

#[cfg(test)]
mod tests {
    use super::*;

    /// The recorded sizes.
    #[test]
    fn bodies_are_json_of_the_recorded_sizes() {
        let sizes = LOCAL_BREAKOUT.map(|exchange| {
            let [sent, received] = [exchange.request, exchange.response].map(|json| {
                let bytes = json.bytes();
                if !json.is_empty() {
                    serde_json::from_slice::<serde_json::Value>(&bytes).unwrap();
                }
                assert_eq!(bytes.len(), json.len());
                bytes.len()
            });
            (exchange.method, sent, received)
        });
        let recorded = [
            ("GET", 0, 673),
            ("POST", 103, 299),
            ("PUT", 46, 144),
            ("GET", 0, 666),
            ("PUT", 226, 226),
            ("GET", 0, 170),
            ("GET", 0, 92),
            ("GET", 0, 2),
            ("POST", 244, 244),
            ("GET", 0, 680),
            ("GET", 0, 455),
            ("DELETE", 0, 0),
            ("PATCH", 79, 0),
        ];
        assert_eq!(sizes, recorded);
    }
}
