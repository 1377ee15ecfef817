//! The requests of the visited network's AMF and SMF to the home network's functions when a subscriber registers
//! (TS 23.502 §4.2.2.2.2, §4.3.2.2.1): in the order and with the sizes of recorded registrations with local breakout.

/// A request, and its required answer.
pub(super) struct Transaction {
    /// Its name in TS 23.502 §5.2.
    pub(super) operation: &'static str,
    pub(super) function: Function,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) query: &'static str,
    /// JSON; may be empty.
    pub(super) body: &'static str,
    /// Of the answer.
    pub(super) status: u16,
}

/// The function that it goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    /// Known by configuration.
    Nrf,
    /// As in the NRF's last answer.
    Discovered,
}

/// The 13 transactions.
pub(super) const REGISTRATION: [Transaction; 13] = [
    discovery(
        "target-nf-type=AUSF&requester-nf-type=AMF&service-names=nausf-auth&target-plmn-list=%5B%7B%22mcc%22%3A%22999%22%2C%22mnc%22%3A%2270%22%7D%5D&requester-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D%5D",
    ),
    Transaction {
        operation: "Nausf_UEAuthentication_Authenticate",
        method: "POST",
        path: "/nausf-auth/v1/ue-authentications",
        body: r#"{"supiOrSuci":"suci-0-999-70-0000-0-0-0000000001","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}"#,
        status: 201,
        ..DISCOVERED
    },
    CONFIRMATION,
    discovery(
        "target-nf-type=UDM&requester-nf-type=AMF&service-names=nudm-uecm&target-plmn-list=%5B%7B%22mcc%22%3A%22999%22%2C%22mnc%22%3A%2270%22%7D%5D&requester-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D%5D",
    ),
    Transaction {
        operation: "Nudm_UECM_Registration",
        method: "PUT",
        path: "/nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access",
        body: r#"{"amfInstanceId":"7f0b2c3d-5e6f-4a1b-9c8d-1e2f3a4b5c6d","deregCallbackUri":"http://amf.5gc.mnc001.mcc001.3gppnetwork.org:80/namf-callback/v1/1/dereg","guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"ratType":"NR"}"#,
        status: 201,
        ..DISCOVERED
    },
    AM_DATA,
    Transaction {
        operation: "Nudm_SDM_Get",
        path: "/nudm-sdm/v2/imsi-999700000000001/smf-select-data",
        ..DISCOVERED
    },
    Transaction {
        operation: "Nudm_SDM_Get",
        path: "/nudm-sdm/v2/imsi-999700000000001/ue-context-in-smf-data",
        ..DISCOVERED
    },
    Transaction {
        operation: "Nudm_SDM_Subscribe",
        method: "POST",
        path: "/nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions",
        body: r#"{"nfInstanceId":"7f0b2c3d-5e6f-4a1b-9c8d-1e2f3a4b5c6d","implicitUnsubscribe":true,"callbackReference":"http://amf.5gc.mnc001.mcc001.3gppnetwork.org:80/namf-callback/v1/1/sdm","monitoredResourceUris":[]}"#,
        status: 201,
        ..DISCOVERED
    },
    discovery(
        "target-nf-type=UDM&requester-nf-type=SMF&service-names=nudm-sdm&target-plmn-list=%5B%7B%22mcc%22%3A%22999%22%2C%22mnc%22%3A%2270%22%7D%5D&requester-plmn-list=%5B%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D%5D",
    ),
    Transaction {
        operation: "Nudm_SDM_Get",
        path: "/nudm-sdm/v2/imsi-999700000000001/sm-data",
        ..DISCOVERED
    },
    Transaction {
        operation: "Nudm_SDM_Unsubscribe",
        method: "DELETE",
        path: "/nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions/1",
        status: 204,
        ..DISCOVERED
    },
    Transaction {
        operation: "Nudm_UECM_Update",
        method: "PATCH",
        path: "/nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access",
        body: r#"{"guami":{"plmnId":{"mcc":"001","mnc":"01"},"amfId":"020040"},"purgeFlag":true}"#,
        status: 204,
        ..DISCOVERED
    },
];

/// The AMF confirms the subscriber's response: a PUT, which is never early unless an operator allows it.
pub(super) const CONFIRMATION: Transaction = Transaction {
    operation: "Nausf_UEAuthentication_Authenticate",
    method: "PUT",
    path: "/nausf-auth/v1/ue-authentications/1/5g-aka-confirmation",
    body: r#"{"resStar":"0123456789abcdef0123456789abcdef"}"#,
    function: Function::Discovered,
    query: "",
    status: 200,
};

/// A GET.
pub(super) const AM_DATA: Transaction = Transaction {
    operation: "Nudm_SDM_Get",
    path: "/nudm-sdm/v2/imsi-999700000000001/am-data",
    ..DISCOVERED
};

const DISCOVERED: Transaction = Transaction {
    operation: "",
    function: Function::Discovered,
    method: "GET",
    path: "",
    query: "",
    body: "",
    status: 200,
};

const fn discovery(query: &'static str) -> Transaction {
    Transaction {
        operation: "Nnrf_NFDiscovery_Request",
        function: Function::Nrf,
        method: "GET",
        path: "/nnrf-disc/v1/nf-instances",
        query,
        body: "",
        status: 200,
    }
}
