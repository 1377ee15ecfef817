//! What real networks send in a registration.

/// The registration of a subscriber of 999-70 in 001-01, and other messages between networks.
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
