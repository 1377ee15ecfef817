//! Headers that name networks and functions, and tokens.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};

use super::lies::{Place, Value};
use super::queries::encoded;
use super::random::Random;
use super::tricks::plain;
use super::{HostileMessage, Kind, Lie, Message, json, uris};

/// A header, its value with `@` for the lie and `!` for an allowed value, and what it holds.
const HEADERS: [(&str, &str, Place); 14] = [
    ("3gpp-sbi-originating-network-id", "@", Place::Sender),
    ("3gpp-sbi-originating-network-id", "@; srctype=SEPP", Place::Sender),
    ("3gpp-sbi-originating-network-id", "!, @", Place::Sender),
    ("3gpp-sbi-originating-network-id", "001-01; srcfqdn=@", Place::Name),
    ("3gpp-sbi-asserted-plmn-id", "@", Place::Sender),
    ("3gpp-sbi-nf-peer-info", "srcinst=x; srcsepp=@", Place::Name),
    ("3gpp-sbi-nf-peer-info", "dstinst=x; srcscp=@; dstsepp=x", Place::Name),
    ("3gpp-sbi-routing-binding", "bl=nf-set; nfset=set1.udmset.@", Place::NameOfEither),
    ("3gpp-sbi-binding", "bl=nf-instance; nfinst=x; uri=@", Place::UriOfEither),
    ("3gpp-sbi-discovery-requester-plmn-list", "[@]", Place::Sender),
    ("3gpp-sbi-discovery-requester-plmn-list", "[!,@]", Place::Sender),
    ("3gpp-sbi-discovery-requester-nf-instance-fqdn", "@", Place::Name),
    ("3gpp-sbi-discovery-hnrf-uri", "@", Place::UriOfEither),
    ("3gpp-sbi-target-apiroot", "@", Place::UriOfEither),
];

const PATH: &str = "/nudm-sdm/v2/imsi-999700000000001/am-data";

fn message() -> Message {
    Message { method: "GET", path: PATH.into(), ..Message::default() }
}

pub fn hostile(random: &mut Random) -> HostileMessage {
    match random.below(10) {
        0..3 => token(random),
        3 => believed(random),
        _ => named(random),
    }
}

fn spelled(value: &Value, is_json: bool) -> String {
    match value {
        Value::Network { mcc, mnc } if !is_json => format!("{mcc}-{mnc}"),
        Value::Text(text) => text.clone(),
        network => plain(network),
    }
}

fn named(random: &mut Random) -> HostileMessage {
    let (name, template, place) = *random.pick(&HEADERS);
    let (mut what, value, lie) = place.lie(random, name);
    let is_json = template.contains('[');
    let lying = spelled(&value, is_json);
    let honest = spelled(&place.honest(), is_json);
    let mut value = template.replace('!', &honest).replace('@', &lying);
    let mut message = message();
    let mut spelling = name.to_owned();
    let how = match random.below(13) {
        0 => {
            spelling = name.replace('-', "_");
            "name with `_`"
        }
        1 => {
            spelling = name.replacen("sbi-", "sbi_", 1);
            "name with one `_`"
        }
        2 => {
            message = message.header(name, honest.as_bytes());
            "twice, the lie last"
        }
        3 => {
            message = message.header(name, value.as_bytes());
            value = honest;
            "twice, the lie first"
        }
        // TS 29.500 §6.10.3.2: as in the query that they stand for.
        4 if name.contains("discovery") => {
            value = encoded(&value, random, 4);
            "encoded"
        }
        5 => {
            value = format!("\"{value}\"");
            "in quotes"
        }
        6 => {
            value = format!("\t {value} \t");
            "in white space"
        }
        7 => {
            value = format!("{value};{value}");
            "repeated"
        }
        8 => {
            value = format!("(x) {value}");
            "behind a comment"
        }
        9 => {
            let bytes = [b"\xff, ".as_slice(), value.as_bytes()].concat();
            let message = message.header(name, bytes);
            what.extend([name.into(), "behind a byte that isn't ASCII".into()]);
            return HostileMessage { what, lie, message };
        }
        10 => {
            value = format!(",{value}");
            "behind an empty item"
        }
        _ => "plain",
    };
    let message = message.header(&spelling, value);
    what.extend([name.into(), format!("header {how}")]);
    HostileMessage { what, lie, message }
}

/// Headers that servers trust from a reverse proxy.
fn believed(random: &mut Random) -> HostileMessage {
    let (name, value) = *random.pick(&[
        ("x-forwarded-for", "10.0.0.1"),
        ("x_forwarded_for", "10.0.0.1"),
        ("x-real-ip", "10.0.0.1"),
        ("x-forwarded-host", "10.0.0.1"),
        ("x-original-url", "http://10.0.0.1/x"),
        ("x-rewrite-url", "http://10.0.0.1/x"),
        ("forwarded", "for=10.0.0.1;host=10.0.0.1"),
        ("true-client-ip", "10.0.0.1"),
        ("x-client-ip", "10.0.0.1"),
        ("x-originating-ip", "10.0.0.1"),
        ("proxy", "http://10.0.0.1/"),
        ("x-forwarded", "for=10.0.0.1"),
        ("client-ip", "10.0.0.1"),
    ]);
    let member = if name == "x_forwarded_for" { "x-forwarded-for" } else { name };
    let lie = Lie { member, kind: Kind::Host, values: vec!["10.0.0.1".into()] };
    let value = format!("{value}{}", *random.pick(&["", " ", ", 192.0.2.1"]));
    HostileMessage { what: vec![name.into()], lie, message: message().header(name, value) }
}

/// Claims, spelled like any JSON.
fn token(random: &mut Random) -> HostileMessage {
    const CLAIMS: [(&str, Place); 2] =
        [("consumerPlmnId", Place::Sender), ("consumerSnpnId", Place::Sender)];
    let (member, place) = *random.pick(&CLAIMS);
    let scene = json::Scene {
        method: "GET",
        path: PATH,
        others: r#""iss":"x","sub":"y","scope":"nudm-sdm","exp":1900000000,"#,
        member,
        place,
        around: "@",
        is_list: false,
    };
    let (mut hostile, document) = scene.hostile(random);
    let claims = match random.below(4) {
        0 => STANDARD.encode(&document.bytes),
        1 => URL_SAFE.encode(&document.bytes),
        _ => URL_SAFE_NO_PAD.encode(&document.bytes),
    };
    let token = match random.below(6) {
        0 => format!("e30.{claims}.c2ln.c2ln"),
        1 => format!(".{claims}."),
        _ => format!("eyJhbGciOiJFUzI1NiJ9.{claims}.c2ln"),
    };
    let (name, value) = match random.below(6) {
        0 => ("3gpp-sbi-client-credentials", token),
        1 => ("3gpp-sbi-source-nf-client-credentials", token),
        2 => ("authorization", format!("bearer  {token}")),
        3 => ("authorization", format!("Bearer {token}, Bearer e30.e30.x")),
        _ => ("authorization", format!("Bearer {token}")),
    };
    hostile.what.push(format!("token in {name}"));
    HostileMessage { message: message().header(name, value), ..hostile }
}

/// Headers of a response: where a reader continues, and what it learns about its peer.
pub fn of_answer(random: &mut Random) -> HostileMessage {
    const PLACES: [(&str, &str, u16); 10] = [
        ("location", "@", 201),
        ("location", "@", 307),
        ("location", "@", 308),
        ("location", "@", 200),
        ("content-location", "@", 200),
        ("3gpp-sbi-target-apiroot", "@", 200),
        ("3gpp-sbi-binding", "bl=nf-instance; nfinst=x; uriApiRoot=@", 201),
        ("alt-svc", "h2=\"@\"; ma=60", 200),
        ("www-authenticate", "Bearer realm=\"@\"", 401),
        ("link", "<@>; rel=next", 200),
    ];
    let (name, template, status) = *random.pick(&PLACES);
    // A realm is text, but some readers take it for a URI.
    let is_text = name == "www-authenticate";
    let (mut how, mut uri, values) =
        if is_text { uris::absolute(random) } else { uris::hostile(random) };
    let mut lie = Lie { member: name, kind: Kind::Host, values };
    if name == "alt-svc" {
        (how, uri, lie.values) = ("address".into(), "10.0.0.1:443".into(), vec!["10.0.0.1".into()]);
    }
    let mut message = Message {
        method: "POST",
        path: "/nausf-auth/v1/ue-authentications".into(),
        ..Message::default()
    };
    message.status = Some(status);
    let mut spelling = name.to_owned();
    if name.starts_with("3gpp") && random.one_in(3) {
        spelling = name.replace('-', "_");
    }
    if random.one_in(6) {
        message = message.header(&spelling, format!("http://{}/x", uris::PEER));
    }
    let message = message.header(&spelling, template.replace('@', &uri));
    let what = vec![format!("{status} {spelling}"), format!("URI with {how}")];
    HostileMessage { what, lie, message }
}
