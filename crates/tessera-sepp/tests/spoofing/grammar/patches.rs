//! JSON Patch (RFC 6902), merge patch (RFC 7396), and reports of changes (TS 29.571 §5.2.4), where the destination of a
//! value is in a different place.

use super::lies::{Place, Value};
use super::random::Random;
use super::tricks::plain;
use super::{HostileMessage, Message};

const SUBSCRIPTION: &str = r#"{"nfStatusNotificationUri":"http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x",
    "reqPlmnList":[{"mcc":"001","mnc":"01"}],"amfStatusUri":"http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x",
    "callbackReference":"http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x","plmnId":{"mcc":"001","mnc":"01"}}"#;
/// What the receiver holds itself: no message shows it.
const WITH_SECRETS: &str = r#"{"nfStatusNotificationUri":"http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x",
    "inner":{"uri":"http://10.0.0.1/","plmn":{"mcc":"208","mnc":"93"}},"plmnId":{"mcc":"001","mnc":"01"},
    "reqPlmnList":[{"mcc":"001","mnc":"01"}],"callbackReference":"http://smf.5gc.mnc001.mcc001.3gppnetwork.org/x"}"#;

/// A resource, the member, and what it holds.
const PLACES: [(&str, &str, Place); 4] = [
    ("/nnrf-nfm/v1/subscriptions/1", "nfStatusNotificationUri", Place::Uri),
    ("/nnrf-nfm/v1/subscriptions/1", "reqPlmnList", Place::Sender),
    ("/nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1", "callbackReference", Place::Uri),
    ("/nudm-ee/v1/imsi-999700000000001/ee-subscriptions/1", "plmnId", Place::Sender),
];

/// Chains: `@P` is the member's pointer, `@N` its name, `@V` the lie, `@H` an allowed value.
const CHAINS: [(&str, &str); 35] = [
    ("replace", r#"[{"op":"replace","path":"@P","value":@V}]"#),
    ("add", r#"[{"op":"add","path":"@P","value":@V}]"#),
    ("value first", r#"[{"value":@V,"path":"@P","op":"add"}]"#),
    (
        "test and replace",
        r#"[{"op":"test","path":"/x","value":1},{"op":"replace","path":"@P","value":@V}]"#,
    ),
    ("remove and add", r#"[{"op":"remove","path":"@P"},{"op":"add","path":"@P","value":@V}]"#),
    (
        "add and copy",
        r#"[{"op":"add","path":"/z","value":@V},{"op":"copy","from":"/z","path":"@P"}]"#,
    ),
    (
        "add and move",
        r#"[{"op":"add","path":"/z","value":@V},{"op":"move","from":"/z","path":"@P"}]"#,
    ),
    (
        "copy of a member named in another case",
        r#"[{"op":"add","path":"/load","value":{"Priority":@V}},{"op":"copy","from":"/load/priority","path":"@P"}]"#,
    ),
    (
        "copy of one of two members that differ in case",
        r#"[{"op":"add","path":"/locality","value":@H},{"op":"add","path":"/LOCALITY","value":@V},{"op":"copy","from":"/LOCALITY","path":"@P"}]"#,
    ),
    (
        "two moves",
        r#"[{"op":"add","path":"/z","value":@V},{"op":"move","from":"/z","path":"/y"},{"op":"move","from":"/y","path":"@P"}]"#,
    ),
    (
        "copy of an inner value",
        r#"[{"op":"add","path":"/z","value":{"a":{"b":@V}}},{"op":"copy","from":"/z/a/b","path":"@P"}]"#,
    ),
    (
        "copy of an item",
        r#"[{"op":"add","path":"/z","value":[1,@V]},{"op":"copy","from":"/z/1","path":"@P"}]"#,
    ),
    (
        "copy of an item that moved",
        r#"[{"op":"add","path":"/z","value":[@V]},{"op":"add","path":"/z/0","value":1},{"op":"copy","from":"/z/1","path":"@P"}]"#,
    ),
    (
        "copy over a tilde",
        r#"[{"op":"add","path":"/a~1b~0","value":@V},{"op":"copy","from":"/a~1b~0","path":"@P"}]"#,
    ),
    (
        "copy with escapes",
        r#"[{"op":"add","path":"/z","value":@V},{"op":"copy","from":"\u002fz","path":"@P"}]"#,
    ),
    (
        "copy onto the whole",
        r#"[{"op":"add","path":"/z","value":{"@N":@V}},{"op":"copy","from":"/z","path":""}]"#,
    ),
    ("replace of the whole", r#"[{"op":"replace","path":"","value":{"@N":@V}}]"#),
    ("add of the whole", r#"[{"op":"add","path":"","value":{"x":1,"@N":@V}}]"#),
    (
        "built in another place",
        r#"[{"op":"add","path":"/z","value":{}},{"op":"add","path":"/z/y","value":@V},{"op":"move","from":"/z/y","path":"@P"}]"#,
    ),
    (
        "move of what is around",
        r#"[{"op":"add","path":"/z","value":{"y":{}}},{"op":"add","path":"/z/y/@N","value":@V},{"op":"move","from":"/z/y","path":"/x"}]"#,
    ),
    (
        "overwritten, and copied before",
        r#"[{"op":"add","path":"/z","value":@V},{"op":"copy","from":"/z","path":"@P"},{"op":"replace","path":"/z","value":@H}]"#,
    ),
    ("path twice", r#"[{"op":"add","path":"/z","path":"@P","value":@V}]"#),
    ("path twice, the other way", r#"[{"op":"add","path":"@P","path":"/z","value":@V}]"#),
    ("value twice", r#"[{"op":"add","path":"@P","value":@H,"value":@V}]"#),
    ("value twice, the other way", r#"[{"op":"add","path":"@P","value":@V,"value":@H}]"#),
    ("operation in capitals", r#"[{"op":"REPLACE","path":"@P","value":@V}]"#),
    ("members in other case", r#"[{"Op":"add","Path":"@P","Value":@V}]"#),
    ("escaped members", r#"[{"o\u0070":"\u0061dd","p\u0061th":"@P","v\u0061lue":@V}]"#),
    ("members with NUL", r#"[{"op\u0000":"add","path\u0000":"@P","value\u0000":@V}]"#),
    ("operation with NUL", r#"[{"op":"add\u0000","path":"@P\u0000x","value":@V}]"#),
    ("slash at the end", r#"[{"op":"add","path":"@P/","value":@V}]"#),
    ("two slashes", r#"[{"op":"add","path":"/@P","value":@V}]"#),
    ("no slash", r#"[{"op":"add","path":"@N","value":@V}]"#),
    ("end of a list", r#"[{"op":"add","path":"@P/-","value":@V}]"#),
    (
        "unknown operation before",
        r#"[{"op":"merge","path":"/x","value":1},{"op":"add","path":"@P","value":@V}]"#,
    ),
];

/// Operations that take a lie from the resource; `@U` is its name there.
const SECRET: [(&str, &str); 4] = [
    ("copy from the inside", r#"[{"op":"copy","from":"/inner/@U","path":"@P"}]"#),
    ("move from the inside", r#"[{"op":"move","from":"/inner/@U","path":"@P"}]"#),
    (
        "copy from the inside, twice",
        r#"[{"op":"copy","from":"/inner","path":"/z"},{"op":"move","from":"/z/@U","path":"@P"}]"#,
    ),
    (
        "copy over an own value",
        r#"[{"op":"add","path":"/z","value":@H},{"op":"copy","from":"/inner/@U","path":"/z"},{"op":"copy","from":"/z","path":"@P"}]"#,
    ),
];

/// Codes of a network, one by one.
const CODES: [(&str, &str); 4] = [
    (
        "codes one by one",
        r#"[{"op":"replace","path":"@P/mcc","value":"208"},{"op":"replace","path":"@P/mnc","value":"93"}]"#,
    ),
    (
        "codes copied",
        r#"[{"op":"add","path":"/z","value":"208"},{"op":"add","path":"/y","value":"93"},{"op":"copy","from":"/z","path":"@P/mcc"},{"op":"copy","from":"/y","path":"@P/mnc"}]"#,
    ),
    (
        "codes copied in an object",
        r#"[{"op":"add","path":"/z","value":{"a":"208","b":"93"}},{"op":"copy","from":"/z/a","path":"@P/mcc"},{"op":"move","from":"/z/b","path":"@P/mnc"}]"#,
    ),
    (
        "codes from the inside",
        r#"[{"op":"copy","from":"/inner/plmn/mcc","path":"@P/mcc"},{"op":"copy","from":"/inner/plmn/mnc","path":"@P/mnc"}]"#,
    ),
];

const TYPES: [&str; 6] = [
    "application/json-patch+json",
    "application/json-patch+json",
    "application/json-patch+json",
    "Application/Json-Patch+Json",
    "application/json",
    "text/plain",
];

fn message(path: &str, kind: &str, body: String, resource: &'static str) -> Message {
    let message = Message {
        method: "PATCH",
        path: path.into(),
        resource: Some(resource),
        ..Message::default()
    };
    Message { body: body.into_bytes(), ..message }.header("content-type", kind)
}

pub fn hostile(random: &mut Random) -> HostileMessage {
    let (path, member, place) = *random.pick(&PLACES);
    let (mut what, value, mut lie) = place.lie(random, member);
    let honest = plain(&place.honest());
    let fill = |chain: &str, value: &str| {
        let text = chain.replace("@P", &format!("/{member}")).replace("@N", member);
        let secret = if place == Place::Uri { "uri" } else { "plmn" };
        text.replace("@U", secret).replace("@V", value).replace("@H", &honest)
    };
    let mut resource = SUBSCRIPTION;
    let mut kind = *random.pick(&TYPES);
    let listed = match &value {
        Value::Network { .. } if member == "reqPlmnList" => format!("[{}]", plain(&value)),
        value => plain(value),
    };
    what.insert(0, member.into());
    let (trick, body) = match random.below(10) {
        0 if member == "plmnId" => {
            let (trick, chain) = *random.pick(&CODES);
            lie.values = vec!["208-093".into()];
            resource = WITH_SECRETS;
            (trick, fill(chain, ""))
        }
        0 | 1 => {
            let (trick, chain) = *random.pick(&SECRET);
            lie.values =
                vec![if place == Place::Uri { "10.0.0.1".into() } else { "208-093".into() }];
            resource = WITH_SECRETS;
            (trick, fill(chain, ""))
        }
        2 => {
            kind = "application/merge-patch+json";
            ("merge patch", fill(r#"{"x":null,"@N":@V}"#, &listed))
        }
        3 => {
            let report = r#"{"notifyItems":[{"resourceId":"x","changes":[{"op":"REPLACE","path":"@P","newValue":@V}]}]}"#;
            // In a callback, either network may be named.
            if place == Place::Sender {
                lie.values = vec!["208-093".into()];
            }
            let third = Value::Network { mcc: "208", mnc: "93" };
            let listed = if place == Place::Sender { plain(&third) } else { listed };
            let body = fill(report, &listed);
            let message = message("/namf-callback/v1/sdm", "application/json", body, SUBSCRIPTION);
            let message = Message { method: "POST", resource: None, ..message };
            what.push("report of a change".into());
            return HostileMessage { what, lie, message };
        }
        _ => {
            let (trick, chain) = *random.pick(&CHAINS);
            (trick, fill(chain, &listed))
        }
    };
    what.extend([trick.into(), kind.into()]);
    HostileMessage { what, lie, message: message(path, kind, body, resource) }
}

pub fn honest() -> Vec<(String, Message)> {
    let chain = r#"[{"op":"replace","path":"/@N","value":@V}]"#;
    let one = |(path, member, place): &(&str, &str, Place)| {
        let honest = plain(&place.honest());
        let value = if *member == "reqPlmnList" { format!("[{honest}]") } else { honest };
        let body = chain.replace("@N", member).replace("@V", &value);
        ((*member).to_owned(), message(path, "application/json-patch+json", body, SUBSCRIPTION))
    };
    PLACES.iter().map(one).collect()
}
