//! Queries and forms: parameters that are decoded once, twice, or before they are split.

use super::lies::{Place, Value};
use super::random::Random;
use super::tricks::plain;
use super::{HostileMessage, Lie, Message};

struct Parameter {
    method: &'static str,
    path: &'static str,
    /// The other parameters.
    others: &'static str,
    name: &'static str,
    place: Place,
    is_list: bool,
}

const fn parameter(
    path: &'static str,
    others: &'static str,
    name: &'static str,
    place: Place,
    is_list: bool,
) -> Parameter {
    Parameter { method: "GET", path, others, name, place, is_list }
}

pub const DISCOVERY: &str = "/nnrf-disc/v1/nf-instances";
const AM_DATA: &str = "/nudm-sdm/v2/imsi-999700000000001/am-data";

const QUERIES: [Parameter; 7] = [
    parameter(
        DISCOVERY,
        "target-nf-type=UDM&requester-nf-type=AMF",
        "requester-plmn-list",
        Place::Sender,
        true,
    ),
    parameter(DISCOVERY, "target-nf-type=UDM", "requester-nf-instance-fqdn", Place::Name, false),
    parameter(DISCOVERY, "target-nf-type=UDM", "hnrf-uri", Place::UriOfEither, false),
    parameter(AM_DATA, "supported-features=1", "plmn-id", Place::Sender, false),
    parameter(DISCOVERY, "target-nf-type=PCF", "supi", Place::Guest, false),
    parameter(
        "/nnssf-nsselection/v2/network-slice-information",
        "nf-type=AMF",
        "home-plmn-id",
        Place::Either,
        false,
    ),
    parameter(DISCOVERY, "target-nf-type=UDM", "requester-snpn-list", Place::Sender, true),
];

const FORMS: [Parameter; 3] = [
    form_parameter("requesterPlmn", Place::Sender, false),
    form_parameter("requesterPlmnList", Place::Sender, true),
    form_parameter("requesterFqdn", Place::Name, false),
];

const fn form_parameter(name: &'static str, place: Place, is_list: bool) -> Parameter {
    let others = "grant_type=client_credentials&targetNfType=UDM&scope=nudm-sdm";
    Parameter { method: "POST", ..parameter("/oauth2/token", others, name, place, is_list) }
}

/// Percent-encodes all that isn't a letter or digit, and one in `one_in` of these.
pub fn encoded(text: &str, random: &mut Random, one_in: usize) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        match is_plain && !random.one_in(one_in) {
            true => out.push(char::from(byte)),
            false if random.one_in(2) => out.push_str(&format!("%{byte:02x}")),
            false => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

pub const NEVER: usize = usize::MAX;

fn layers(text: &str, random: &mut Random, count: usize) -> String {
    (0..count).fold(text.to_owned(), |text, _| encoded(&text, random, NEVER))
}

/// The name, the lie and an honest value.
type Trick = (&'static str, fn(&str, &str, &str, &mut Random) -> String);

fn pair(name: &str, value: &str, random: &mut Random) -> String {
    format!("{name}={}", encoded(value, random, NEVER))
}

const TRICKS: &[Trick] = &[
    ("plain", |name, lie, _, random| pair(name, lie, random)),
    ("encoded whole", |name, lie, _, random| format!("{name}={}", encoded(lie, random, 1))),
    ("encoded in part", |name, lie, _, random| format!("{name}={}", encoded(lie, random, 3))),
    ("encoded twice", |name, lie, _, random| format!("{name}={}", layers(lie, random, 2))),
    ("encoded three times", |name, lie, _, random| format!("{name}={}", layers(lie, random, 3))),
    ("encoded four times", |name, lie, _, random| format!("{name}={}", layers(lie, random, 4))),
    ("unencoded", |name, lie, _, _| format!("{name}={lie}")),
    ("name encoded", |name, lie, _, random| {
        format!("{}={}", encoded(name, random, 2), encoded(lie, random, NEVER))
    }),
    ("behind an encoded ampersand", |name, lie, _, random| {
        format!("x=%26{name}={}", encoded(lie, random, NEVER))
    }),
    ("all in an encoded value", |name, lie, _, random| {
        format!("x=1%26{}", encoded(&format!("{name}={lie}"), random, NEVER))
    }),
    ("encoded equals sign", |name, lie, _, random| {
        format!("{name}%3D{}", encoded(lie, random, NEVER))
    }),
    ("semicolon", |name, lie, _, random| format!("x=1;{}", pair(name, lie, random))),
    ("two ampersands", |name, lie, _, random| format!("&&{}", pair(name, lie, random))),
    ("twice, the lie last", |name, lie, honest, random| {
        format!("{}&{}", pair(name, honest, random), pair(name, lie, random))
    }),
    ("twice, the lie first", |name, lie, honest, random| {
        format!("{}&{}", pair(name, lie, random), pair(name, honest, random))
    }),
    ("name in capitals", |name, lie, _, random| pair(&name.to_uppercase(), lie, random)),
    ("name with NUL", |name, lie, _, random| pair(&format!("{name}%00"), lie, random)),
    ("name with more behind NUL", |name, lie, _, random| pair(&format!("{name}%00x"), lie, random)),
    ("name behind a NUL", |name, lie, _, random| pair(&format!("x%00&{name}"), lie, random)),
    ("value with NUL", |name, lie, _, random| format!("{}%00", pair(name, lie, random))),
    ("value with more behind NUL", |name, lie, honest, random| {
        format!("{}%00{}", pair(name, lie, random), encoded(honest, random, NEVER))
    }),
    ("value behind spaces", |name, lie, _, random| {
        format!("{name}=++{}", encoded(lie, random, NEVER))
    }),
    ("value behind a byte order mark", |name, lie, _, random| {
        format!("{name}=%EF%BB%BF{}", encoded(lie, random, NEVER))
    }),
    ("value in quotes", |name, lie, _, random| pair(name, &format!("\"{lie}\""), random)),
    ("value in a list", |name, lie, honest, random| pair(name, &format!("{honest},{lie}"), random)),
    ("value with spaces around a comma", |name, lie, honest, random| {
        pair(name, &format!("{honest} , {lie}"), random)
    }),
    ("value with escapes of JSON", |name, lie, _, random| {
        let lie = lie.replace("mcc\"", "m\\u0063c\"").replace('8', "\\u0038").replace('/', "\\/");
        pair(name, &lie, random)
    }),
    ("broken escape before", |name, lie, _, random| format!("x=%zz&{}", pair(name, lie, random))),
    ("broken escape behind", |name, lie, _, random| format!("{}&x=%", pair(name, lie, random))),
    ("bytes that are no UTF-8 before", |name, lie, _, random| {
        format!("x=%ff&{}", pair(name, lie, random))
    }),
    ("bytes that are no UTF-8 behind", |name, lie, _, random| {
        format!("{}%c0%80", pair(name, lie, random))
    }),
    ("encoded question mark", |name, lie, _, random| format!("x=1%3f&{}", pair(name, lie, random))),
    ("encoded number sign", |name, lie, _, random| format!("x=1%23&{}", pair(name, lie, random))),
];

/// Returns what it is, the whole query, and the lie.
fn hostile(of: &Parameter, random: &mut Random) -> (Vec<String>, String, Lie) {
    let (mut what, value, lie) = of.place.lie(random, of.name);
    let json = |value: &Value| match value {
        Value::Text(text) => text.clone(),
        network if of.is_list => format!("[{}]", plain(network)),
        network => plain(network),
    };
    let mut spelled = json(&value);
    // Networks are usually JSON objects (TS 29.510 §6.2.3.2.3.1).
    if let Value::Network { mcc, mnc } = value
        && random.one_in(4)
    {
        let hyphen = *random.pick(&["-", ""]);
        spelled = format!("{mcc}{hyphen}{mnc}");
        what.push("digits".into());
    }
    let (trick, spell) = *random.pick(TRICKS);
    what.extend([of.name.into(), format!("parameter {trick}")]);
    let lying = spell(of.name, &spelled, &json(&of.place.honest()), random);
    let query = match random.below(6) {
        // If everything is decoded before splitting, this ends the last of the others.
        0 if !lying.starts_with('&') => {
            what.push("behind `%26`".into());
            format!("{}%26{lying}", of.others)
        }
        0..3 => format!("{}&{lying}", of.others),
        _ => format!("{lying}&{}", of.others),
    };
    (what, query, lie)
}

pub fn query(random: &mut Random) -> HostileMessage {
    let of = &QUERIES[random.below(QUERIES.len())];
    let (what, query, lie) = hostile(of, random);
    let message =
        Message { method: of.method, path: format!("{}?{query}", of.path), ..Message::default() };
    HostileMessage { what, lie, message }
}

pub fn form(random: &mut Random) -> HostileMessage {
    const TYPES: [&str; 5] = [
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded",
        "Application/X-WWW-Form-URLEncoded; charset=utf-8",
        "application/json",
    ];
    let of = &FORMS[random.below(FORMS.len())];
    let (mut what, body, lie) = hostile(of, random);
    let kind = *random.pick(&TYPES);
    what.push(kind.into());
    let message = Message {
        method: of.method,
        path: of.path.into(),
        body: body.into_bytes(),
        ..Message::default()
    };
    HostileMessage { what, lie, message: message.header("content-type", kind) }
}

pub fn honest() -> Vec<(String, Message)> {
    let mut random = Random::new(0);
    let mut text = |of: &Parameter| {
        let value = match of.place.honest() {
            Value::Text(text) => text,
            network if of.is_list => format!("[{}]", plain(&network)),
            network => plain(&network),
        };
        format!("{}&{}={}", of.others, of.name, encoded(&value, &mut random, NEVER))
    };
    let queries = QUERIES.iter().map(|of| {
        let path = format!("{}?{}", of.path, text(of));
        (of.name.to_owned(), Message { method: of.method, path, ..Message::default() })
    });
    let mut all: Vec<_> = queries.collect();
    all.extend(FORMS.iter().map(|of| {
        let body = text(of).into_bytes();
        let message =
            Message { method: of.method, path: of.path.into(), body, ..Message::default() };
        (of.name.to_owned(), message.header("content-type", "application/x-www-form-urlencoded"))
    }));
    all
}
