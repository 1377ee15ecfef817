//! Answers of a peer to requests of local functions.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::json::Scene;
use super::lies::Place;
use super::random::Random;
use super::{HostileMessage, Message};

pub use super::heads::of_answer as head;

const fn scene(
    path: &'static str,
    status: u16,
    around: &'static str,
    others: &'static str,
    member: &'static str,
    place: Place,
) -> (u16, Scene) {
    (status, Scene { method: "POST", path, others, member, place, around, is_list: false })
}

const DISCOVERY: &str = "/nnrf-disc/v1/nf-instances";

const SCENES: [(u16, Scene); 7] = [
    (
        200,
        Scene {
            method: "GET",
            path: DISCOVERY,
            others: r#""nfInstanceId":"a","nfType":"AUSF","#,
            member: "plmnList",
            place: Place::Sender,
            around: r#"{"validityPeriod":30,"nfInstances":[@]}"#,
            is_list: true,
        },
    ),
    scene(
        DISCOVERY,
        200,
        r#"{"validityPeriod":30,"nfInstances":[@]}"#,
        r#""nfType":"AUSF","#,
        "fqdn",
        Place::Name,
    ),
    scene(
        "/nausf-auth/v1/ue-authentications",
        201,
        r#"{"authType":"5G_AKA","_links":{"5g-aka":@}}"#,
        "",
        "href",
        Place::Uri,
    ),
    scene(
        "/nudm-sdm/v2/x/am-data",
        307,
        "@",
        r#""cause":"SEPP_REDIRECTION","#,
        "targetSepp",
        Place::Uri,
    ),
    scene(
        "/nudm-sdm/v2/x/am-data",
        308,
        "@",
        r#""cause":"SCP_REDIRECTION","#,
        "targetScp",
        Place::Uri,
    ),
    scene("/nnssf-nsselection/v2/network-slice-information", 200, "@", "", "nrfAmfSet", Place::Uri),
    scene(
        "/nsmf-pdusession/v1/pdu-sessions",
        201,
        "@",
        r#""pduSessionType":"IPV4","#,
        "hsmfPduSessionUri",
        Place::Uri,
    ),
];

pub fn body(random: &mut Random) -> HostileMessage {
    if random.one_in(8) {
        return token(random);
    }
    let (status, scene) = random.pick(&SCENES);
    let (mut hostile, document) = scene.hostile(random);
    hostile.message = document.put_into(hostile.message);
    hostile.message.status = Some(*status);
    hostile
}

/// A token from a peer's NRF, for a function of a third network.
fn token(random: &mut Random) -> HostileMessage {
    let (_, claims) =
        scene("/oauth2/token", 200, "@", r#""iss":"x","#, "producerPlmnId", Place::Sender);
    let (mut hostile, document) = claims.hostile(random);
    let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(document.bytes));
    let name = *random.pick(&["access_token", "access\\u005ftoken", "\\u0061ccess_token"]);
    let body = format!(r#"{{"token_type":"Bearer","{name}":"{token}","expires_in":60}}"#);
    hostile.what.push("token".into());
    hostile.message.status = Some(200);
    hostile.message.body = body.into_bytes();
    hostile.message = hostile.message.header("content-type", "application/json");
    hostile
}

pub fn honest() -> Vec<(String, Message)> {
    let one = |(status, scene): &(u16, Scene)| {
        let mut message = Message { status: Some(*status), ..scene.honest() };
        if scene.member == "href" {
            // A link is of the service that was asked.
            let body = String::from_utf8_lossy(&message.body);
            message.body = body.replace(":8080/x", &format!(":8080{}/1", scene.path)).into_bytes();
        }
        (format!("answer: {}", scene.member), message.header("content-type", "application/json"))
    };
    SCENES.iter().map(one).collect()
}
