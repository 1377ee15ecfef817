//! Requests as networks send them, in which one value is a lie.

use std::sync::LazyLock;

use serde_json::Value;

use super::json::Tricks;
use super::lies::Place;
use super::random::Random;
use super::table::is_of_third_networks;
use super::{HostileMessage, Message};
use crate::honest::Exchange;

/// A value that identifies whose something is.
struct Spot {
    exchange: &'static Exchange,
    member: &'static str,
    pointer: String,
    place: Place,
    is_list: bool,
}

static EXCHANGES: LazyLock<Vec<Exchange>> = LazyLock::new(|| {
    let is_json = |exchange: &Exchange| {
        exchange.text("from") == "visited" && exchange.text("type") == "application/json"
    };
    Exchange::each().filter(is_json).collect()
});

static SPOTS: LazyLock<Vec<Spot>> = LazyLock::new(|| {
    let mut spots = Vec::new();
    for exchange in &*EXCHANGES {
        find(exchange, exchange.value("body"), "", String::new(), &mut spots);
    }
    spots
});

fn find(
    exchange: &'static Exchange,
    value: &'static Value,
    member: &'static str,
    pointer: String,
    spots: &mut Vec<Spot>,
) {
    let is_network = |value: &Value| value.get("mcc").is_some();
    let mut push = |place, is_list| {
        spots.push(Spot { exchange, member, pointer: pointer.clone(), place, is_list });
    };
    match value {
        _ if is_of_third_networks(member) => {}
        Value::Object(_) if is_network(value) => push(Place::Either, false),
        Value::Array(items) if items.first().is_some_and(is_network) => push(Place::Either, true),
        Value::Object(members) => {
            for (name, value) in members {
                find(exchange, value, name, format!("{pointer}/{name}"), spots);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                // Only objects: the pointer to an item ends in no name.
                if value.is_object() {
                    find(exchange, value, member, format!("{pointer}/{index}"), spots);
                }
            }
        }
        Value::String(text) if text.starts_with("http:") => push(Place::UriOfEither, false),
        Value::String(text) if text.starts_with("imsi-") => push(Place::Guest, false),
        Value::String(text) if text.starts_with("suci-") => push(Place::Guest, false),
        Value::String(text) if text.starts_with("5G:") => push(Place::Serving, false),
        Value::String(text) if text.ends_with("3gppnetwork.org") => {
            push(Place::NameOfEither, false);
        }
        _ => {}
    }
}

pub fn hostile(random: &mut Random) -> HostileMessage {
    let Spot { exchange, member, pointer, place, is_list } = random.pick(&SPOTS);
    let tricks = Tricks::pick(random);
    let (mut what, lying, lie) = tricks.member(member, *place, *is_list, random);
    let mut body = exchange.value("body").clone();
    if let Some(value) = body.pointer_mut(pointer) {
        *value = "@".into();
    }
    let text = body.to_string().replace(&format!("\"{member}\":\"@\""), &lying);
    let document = tricks.document(text, &mut what, random);
    // One of a fixed set: the verbs of the APIs.
    let method = ["POST", "PUT", "PATCH"].into_iter().find(|it| *it == exchange.text("method"));
    let message = Message {
        method: method.unwrap_or("POST"),
        path: exchange.text("path").to_owned(),
        ..Message::default()
    };
    HostileMessage { what, lie, message: document.put_into(message) }
}
