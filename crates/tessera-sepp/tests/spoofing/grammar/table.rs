//! Every name in 3GPP's OpenAPI files, with a lie in what it holds: the guard must not have forgotten any.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::bodies;
use super::json::Scene;
use super::lies::{Place, Value};
use super::queries::{DISCOVERY, NEVER, encoded};
use super::random::Random;
use super::tricks::plain;
use super::{HostileMessage, Message};

/// `member NAME KIND`, as `scripts/sepp-members` generates it.
const TABLE: &str = include_str!("../../../src/guard/members.txt");

/// Members about third networks: lists in subscriptions, policies and profiles, steering of roaming, a subscriber's
/// former network, and devices nearby. They may name any network.
const OF_THIRD_NETWORKS: [&str; 44] = [
    "newGuami",
    "oldGuami",
    "lastVisitedTai",
    "allowedPlmns",
    "allowedSnpns",
    "equivalentPlmnList",
    "equivalentPlmns",
    "sorInfo",
    "steeringContainer",
    "forbiddenPlmns",
    "newServingPlmn",
    "adjacentPlmns",
    "announcingPlmnID",
    "announcingUeHplmnIdentifier",
    "announcingUeVplmnIdentifier",
    "chfSupportedPlmn",
    "disasterCondPlmnIds",
    "disasterPlmn",
    "discovereeUeHplmnIdentifier",
    "discovereeUeVplmnIdentifier",
    "discovererUeHplmnIdentifier",
    "discovererUeVplmnIdentifier",
    "mdtAllowedPlmnIdList",
    "monitoredPlmnIdentifier",
    "monitoringUeHplmnIdentifier",
    "monitoringUeVplmnIdentifier",
    "oauth2NotRequiredPlmnIdList",
    "oauth2RequiredPlmnIdList",
    "plmnRangeList",
    "plmnSpecificSnssaiList",
    "plmns",
    "rangingSlPosPlmn",
    "remotePlmnId",
    "remotePlmnIdRoaming",
    "remotePlmnList",
    "remotePlmnRangeList",
    "remoteSnpnId",
    "remoteSnpnList",
    "servingPlmns",
    "snpns",
    "supportServingPlmn",
    "suspendedInsidePlmnList",
    "suspendedOutsidePlmnList",
    "uePlmnRangeList",
];

/// What may surround the object, in several APIs: `@` is the object.
const AROUND: [&str; 8] = [
    "@",
    "@",
    r#"{"pduSessionId":5,"ueLocation":{"nrLocation":@}}"#,
    r#"{"nfProfile":{"amfInfo":@}}"#,
    r#"{"smfSelInfo":[[{"subscribedSnssaiInfos":{"1":@}}]]}"#,
    r#"{"ueContext":{"sessionContextList":[{"smContext":@}]}}"#,
    r#"{"dnnConfigurations":{"internet":@}}"#,
    r#"{"eventReports":[{"reportList":[@]}]}"#,
];

/// Answers of services whose URIs lead to the responder.
const ANSWERS: [&str; 3] = [
    "/nsmf-pdusession/v1/pdu-sessions",
    "/nausf-auth/v1/ue-authentications",
    "/nudm-uecm/v1/imsi-999700000000001/registrations",
];

/// A name, and what it holds.
type Row = (&'static str, &'static str);

/// Those that hold something, and those that hold nothing, where a network or a URI may occur all the same.
static ROWS: LazyLock<[Vec<Row>; 2]> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let mut words = line.strip_prefix("member ")?.split(' ');
        Some((words.next()?, words.next()?))
    };
    let third: HashSet<_> = OF_THIRD_NETWORKS.into_iter().map(folded).collect();
    let rows = TABLE.lines().filter_map(row);
    // The readers don't know that the digits of `imsi` are a subscriber.
    let is_read = |kind: &str| !matches!(kind, "change" | "imsi");
    let rows = rows.filter(|(name, kind)| is_read(kind) && !third.contains(&folded(name)));
    let (nothing, something) = rows.partition(|(_, kind)| *kind == "-");
    [something, nothing]
});

pub fn is_of_third_networks(name: &str) -> bool {
    OF_THIRD_NETWORKS.iter().any(|other| folded(other) == folded(name))
}

/// Folds as the guard does.
fn folded(name: &str) -> String {
    name.replace(['-', '_'], "").to_ascii_lowercase()
}

/// URIs that lead to the responder. Callback URIs may be the requester's.
static OF_ANSWERS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let of = |wanted| ROWS[0].iter().filter(move |(_, kind)| *kind == wanted);
    let calls: HashSet<_> = of("callback").map(|(name, _)| folded(name)).collect();
    of("uri").filter(|(name, _)| !calls.contains(&folded(name))).copied().collect()
});

fn place(kind: &str, random: &mut Random) -> Place {
    match kind {
        "subscriber" => Place::Guest,
        "callback" => Place::Uri,
        "uri" | "uri-or-host" => Place::UriOfEither,
        "reference" => Place::Reference,
        "host" => Place::NameOfEither,
        "-" if random.one_in(3) => Place::Link,
        "network" => Place::Either,
        _ => Place::Anywhere,
    }
}

pub fn hostile(random: &mut Random) -> HostileMessage {
    match random.below(8) {
        0 => query(random),
        1 => answer(random),
        _ => body(random),
    }
}

fn body(random: &mut Random) -> HostileMessage {
    // TS 29.518 §5.2.2.2: AMFs hand over subscribers of third networks to each other.
    let scenes: Vec<_> =
        bodies::SCENES.iter().filter(|scene| !scene.path.starts_with("/namf-comm")).collect();
    let scene = *random.pick(&scenes);
    let (member, kind) = loop {
        let which = usize::from(random.one_in(3));
        let row = *random.pick(&ROWS[which]);
        if !scene.others.contains(&format!("\"{}\"", row.0)) {
            break row;
        }
    };
    let place = place(kind, random);
    let (is_list, around) = (random.one_in(4), *random.pick(&AROUND));
    made(&Scene { member, place, is_list, around, ..*scene }, kind, random)
}

fn answer(random: &mut Random) -> HostileMessage {
    let (member, kind) = *random.pick(&OF_ANSWERS);
    let (path, around) = (*random.pick(&ANSWERS), *random.pick(&AROUND));
    let scene = Scene {
        method: "POST",
        path,
        others: "",
        member,
        place: Place::Uri,
        around,
        is_list: random.one_in(4),
    };
    let mut hostile = made(&scene, kind, random);
    hostile.message.status = Some(*random.pick(&[200, 201]));
    hostile
}

/// Returns members about third networks, with one.
pub fn honest() -> Vec<(String, Message)> {
    let one = |name: &str| {
        let body = format!(r#"{{"{name}":[{{"mcc":"208","mnc":"93"}}]}}"#).into_bytes();
        let path = "/npcf-am-policy-control/v1/policies".into();
        let message = Message { method: "POST", path, body, ..Message::default() };
        (name.to_owned(), message.header("content-type", "application/json"))
    };
    OF_THIRD_NETWORKS.into_iter().map(one).collect()
}

fn made(scene: &Scene, kind: &str, random: &mut Random) -> HostileMessage {
    let (mut hostile, document) = scene.hostile(random);
    hostile.message = document.put_into(hostile.message);
    hostile.what[0] = format!("a name of the table: {kind}");
    hostile
}

fn query(random: &mut Random) -> HostileMessage {
    let (member, kind) = *random.pick(&ROWS[0]);
    let place = place(kind, random);
    let (mut what, value, lie) = place.lie(random, member);
    what.push(format!("a parameter of the table: {kind}"));
    let text = match &value {
        Value::Text(text) => text.clone(),
        network if random.one_in(2) => format!("[{}]", plain(network)),
        network => plain(network),
    };
    let path = format!("{DISCOVERY}?target-nf-type=UDM&{member}={}", encoded(&text, random, NEVER));
    HostileMessage { what, lie, message: Message { method: "GET", path, ..Message::default() } }
}
