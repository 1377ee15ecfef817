//! Requests with JSON.

use super::json::Scene;
use super::lies::Place;
use super::random::Random;
use super::{HostileMessage, Message};

const fn scene(
    method: &'static str,
    path: &'static str,
    others: &'static str,
    member: &'static str,
    place: Place,
) -> Scene {
    Scene { method, path, others, member, place, around: "@", is_list: false }
}

const UECM: &str = "/nudm-uecm/v1/imsi-999700000000001/registrations/amf-3gpp-access";
const SDM: &str = "/nudm-sdm/v2/imsi-999700000000001/sdm-subscriptions";
const NFM: &str = "/nnrf-nfm/v1/subscriptions";
const SESSIONS: &str = "/nsmf-pdusession/v1/pdu-sessions";

pub const SCENES: &[Scene] = &[
    scene("POST", NFM, r#""reqNfType":"AMF","#, "nfStatusNotificationUri", Place::Uri),
    Scene {
        is_list: true,
        ..scene(
            "POST",
            NFM,
            r#""reqNfType":"AMF","validityTime":"2026-12-01T00:00:00Z","#,
            "reqPlmnList",
            Place::Sender,
        )
    },
    Scene {
        around: r#"{"reqPerPlmnSnssais":[@],"reqNfType":"AMF"}"#,
        ..scene("POST", NFM, r#""sNssaiList":[{"sst":1}],"#, "plmnId", Place::Sender)
    },
    scene("POST", NFM, r#""reqNfType":"AMF","#, "reqNfFqdn", Place::Name),
    scene(
        "POST",
        "/nausf-auth/v1/ue-authentications",
        r#""supiOrSuci":"suci-0-999-70-0000-0-0-0000000001","#,
        "servingNetworkName",
        Place::Serving,
    ),
    scene(
        "POST",
        "/nausf-auth/v1/ue-authentications",
        r#""servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org","#,
        "supiOrSuci",
        Place::Subscriber,
    ),
    scene(
        "PUT",
        UECM,
        r#""ratType":"NR","imsVoPs":"HOMOGENEOUS_SUPPORT","#,
        "deregCallbackUri",
        Place::Uri,
    ),
    scene("PUT", UECM, r#""ratType":"NR","#, "pcscfRestorationCallbackUri", Place::Uri),
    Scene {
        around: r#"{"guami":@,"ratType":"NR"}"#,
        ..scene("PUT", UECM, r#""amfId":"020040","#, "plmnId", Place::Sender)
    },
    scene(
        "PUT",
        "/nudm-uecm/v1/imsi-999700000000001/registrations/smf-registrations/5",
        r#""dnn":"internet","pduSessionId":5,"#,
        "plmnId",
        Place::Sender,
    ),
    scene("POST", SDM, r#""implicitUnsubscribe":true,"#, "callbackReference", Place::Uri),
    scene(
        "POST",
        SDM,
        r#""nfInstanceId":"7c1ad2c4-0000-41ef-8a5d-2f1b61f0a001","#,
        "plmnId",
        Place::Sender,
    ),
    scene(
        "POST",
        "/nudm-ee/v1/imsi-999700000000001/ee-subscriptions",
        r#""monitoringConfigurations":{"1":{"eventType":"LOCATION_REPORTING"}},"#,
        "callbackReference",
        Place::Uri,
    ),
    scene(
        "POST",
        SESSIONS,
        r#""pduSessionId":5,"dnn":"internet","#,
        "servingNetwork",
        Place::Sender,
    ),
    scene(
        "POST",
        SESSIONS,
        r#""pduSessionId":5,"sNssai":{"sst":1},"#,
        "vsmfPduSessionUri",
        Place::Uri,
    ),
    scene("POST", SESSIONS, r#""pduSessionId":5,"#, "supi", Place::Guest),
    Scene {
        around: r#"{"pduSessionId":5,"ueLocation":{"nrLocation":{"tai":@}}}"#,
        ..scene("POST", SESSIONS, r#""tac":"000001","#, "plmnId", Place::Either)
    },
    scene(
        "POST",
        "/npcf-am-policy-control/v1/policies",
        r#""suppFeat":"0","#,
        "notificationUri",
        Place::Uri,
    ),
    scene(
        "POST",
        "/npcf-am-policy-control/v1/policies",
        r#""suppFeat":"0","#,
        "servingPlmn",
        Place::Sender,
    ),
    scene(
        "POST",
        "/npcf-am-policy-control/v1/policies",
        r#""suppFeat":"0","#,
        "supi",
        Place::Guest,
    ),
    scene(
        "POST",
        "/nchf-convergedcharging/v3/chargingdata",
        r#""invocationSequenceNumber":1,"#,
        "notifyUri",
        Place::Uri,
    ),
    Scene {
        around: r#"{"nfConsumerIdentification":@,"invocationSequenceNumber":1}"#,
        ..scene(
            "POST",
            "/nchf-convergedcharging/v3/chargingdata",
            r#""nodeFunctionality":"SMF","#,
            "nFPLMNID",
            Place::Sender,
        )
    },
    scene(
        "POST",
        "/nsmf-event-exposure/v1/subscriptions",
        r#""notifId":"1","#,
        "notifUri",
        Place::Uri,
    ),
    scene("POST", "/namf-comm/v1/subscriptions", r#""nfId":"1","#, "amfStatusUri", Place::Uri),
    scene(
        "POST",
        "/nsmsf-sms/v2/ue-contexts/imsi-999700000000001/sendsms",
        r#""smsRecordId":"1","#,
        "servingPlmn",
        Place::Either,
    ),
];

pub fn hostile(random: &mut Random) -> HostileMessage {
    let (mut hostile, document) = random.pick(SCENES).hostile(random);
    hostile.message = document.put_into(hostile.message);
    hostile
}

pub fn honest() -> Vec<(String, Message)> {
    let scene = |scene: &Scene| {
        (scene.member.to_owned(), scene.honest().header("content-type", "application/json"))
    };
    SCENES.iter().map(scene).collect()
}
