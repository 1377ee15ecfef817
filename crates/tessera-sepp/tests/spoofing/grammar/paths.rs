//! Paths with a subscriber of another network.

use super::lies::{Place, Value};
use super::queries::encoded;
use super::random::Random;
use super::{HostileMessage, Message};

/// `@` is the subscriber, `!` one of the receiver's.
const PATHS: [(&str, &str); 22] = [
    ("plain", "/nudm-sdm/v2/@/am-data"),
    ("at the end", "/nudm-ueau/v1/@"),
    ("slash at the end", "/nudm-sdm/v2/@/"),
    ("in capitals", "/NUDM-SDM/v2/@/am-data"),
    ("two slashes", "/nudm-sdm/v2//@/am-data"),
    ("two slashes in front", "//nudm-sdm/v2/@/am-data"),
    ("dot", "/nudm-sdm/v2/./@/am-data"),
    ("dots", "/nudm-sdm/v2/!/../@/am-data"),
    ("encoded dots", "/nudm-sdm/v2/!/%2e%2e/@/am-data"),
    ("half encoded dots", "/nudm-sdm/v2/!/.%2E/@/am-data"),
    ("encoded slash", "/nudm-sdm/v2/!%2f..%2f@/am-data"),
    ("encoded slash in front", "/nudm-sdm/v2/%2f@/am-data"),
    ("backslash", "/nudm-sdm/v2/x\\..\\@/am-data"),
    ("encoded backslash", "/nudm-sdm/v2/x%5c..%5c@/am-data"),
    ("parameter", "/nudm-sdm/v2/@;v=1/am-data"),
    ("NUL behind", "/nudm-sdm/v2/@%00/am-data"),
    ("more behind NUL", "/nudm-sdm/v2/@%00!/am-data"),
    ("two", "/nudm-sdm/v2/!,@/am-data"),
    ("two and spaces", "/nudm-sdm/v2/!%20@/am-data"),
    ("as another segment", "/nudm-uecm/v1/!/registrations/@"),
    ("encoded question mark", "/nudm-sdm/v2/@%3fx/am-data"),
    ("encoded twice in front", "/nudm-sdm/v2/!%252f..%252f@/am-data"),
];

pub fn hostile(random: &mut Random) -> HostileMessage {
    let (_, value, lie) = Place::Subscriber.lie(random, "path");
    let Value::Text(subscriber) = value else { unreachable!("a subscriber is a text") };
    let (trick, path) = *random.pick(&PATHS);
    let (how, subscriber) = match random.below(4) {
        0 => (Some("encoded in part"), encoded(&subscriber, random, 3)),
        1 => (Some("encoded"), encoded(&subscriber, random, 1)),
        2 => (Some("encoded twice"), encoded(&subscriber, random, 2).replace('%', "%25")),
        _ => (None, subscriber),
    };
    let path = path.replace('@', &subscriber).replace('!', "imsi-999700000000001");
    let how = how.map(|how| format!("subscriber {how}"));
    let what = [format!("path {trick}")].into_iter().chain(how).collect();
    HostileMessage { what, lie, message: Message { method: "GET", path, ..Message::default() } }
}
