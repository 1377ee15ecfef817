//! Messages of honest networks pass, and mean the same after the guard.
//!
//! `messages.jsonl` has exchanges of two networks of open5gs 2.8, in both directions: registration, PDU sessions routed
//! home, and callbacks. They were not recorded, but written member by member after the functions of open5gs that build
//! and answer them (`src/*/*-build.c`, `*-handler.c`), with names in place of its examples' addresses.

mod message;

use serde_json::Value;
use tessera_sepp::guard::{Guard, Passage, Refusal, RequestSummary};

use self::message::Message;
use crate::message::{guard, with};

const MESSAGES: &str = include_str!("messages.jsonl");

/// The number of requests, each with its answer.
const EXCHANGES: usize = 5_000;

const HIDES: &str = "guard = { hide-topology = true }\n";
const SHOWS: &str = "guard = { hide-topology = false }\n";

#[test]
fn ten_thousand_honest_messages_pass_and_mean_the_same() {
    let guard = guard(SHOWS);
    for number in 0..EXCHANGES {
        let exchange = Exchange::nth(number);
        let [request, answer] = exchange.both();
        for before in [request, answer] {
            let mut after = before.clone();
            let judged = exchange.judged(&guard, &mut after);
            let what = format!("{number}, {}: {before:?}", exchange.text("what"));
            assert_eq!(judged, Ok(Passage::default()), "{what}");
            assert_eq!(after.pairs(), before.pairs(), "{what}");
            assert_eq!(after.headers(), before.headers(), "{what}");
            // Addresses of a peer's functions are internal to it, and are removed (docs/sepp.md).
            assert_eq!(
                after.content(false),
                before.content(exchange.is_of_peer(&before)),
                "{what}"
            );
        }
    }
}

/// With hidden names, only names and addresses of local functions change.
#[test]
fn with_hidden_names_they_pass_too() {
    let guard = guard(HIDES);
    for number in 0..EXCHANGES / 10 {
        let exchange = Exchange::nth(number);
        let [mut request, mut answer] = exchange.both();
        let sent = request.clone();
        let judge = |message: &mut Message| {
            let judged = exchange.judged(&guard, message);
            assert_eq!(judged, Ok(Passage::default()), "{number}: {}", exchange.text("what"));
        };
        judge(&mut request);
        if exchange.is_of_peer(&answer) {
            answer.repeat(&sent, &request);
        }
        judge(&mut answer);
    }
}

/// One line of the messages, filled in.
pub struct Exchange(Value);

impl Exchange {
    /// Returns the lines in turn, each time with another subscriber, session, cell, key and date.
    fn nth(number: usize) -> Self {
        let lines: Vec<_> = MESSAGES.lines().collect();
        let line = lines[number % lines.len()];
        // Knuth's multiplicative hash: numbers without a visible pattern.
        let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let filled = [
            ("\"{psi}#\"", (1 + number % 15).to_string()),
            ("{psi}", (1 + number % 15).to_string()),
            ("{msin}", format!("{:010}", mixed % 10_000_000_000)),
            ("{imeisv}", format!("{:016}", mixed % 10_000_000_000_000_000)),
            ("{tac}", format!("{:06x}", mixed & 0xff_ffff)),
            ("{cell}", format!("{:09x}", mixed & 0xf_ffff_ffff)),
            ("{key}", format!("{mixed:016x}{:016x}", !mixed)),
            ("{auts}", format!("{:028x}", u128::from(mixed))),
            ("{hex4}", format!("{:04x}", mixed >> 48)),
            ("{n8hex}", format!("{:02x}", mixed >> 56)),
            ("{n8}", (mixed >> 56).to_string()),
            ("{n}", (1 + number).to_string()),
            (
                "{time}",
                format!(
                    "2026-11-{:02}T{:02}:{:02}:07.{:06}+00:00",
                    1 + number % 30,
                    number % 24,
                    number % 60,
                    number
                ),
            ),
        ];
        let fill = |text: String, (name, value): &(&str, String)| text.replace(name, value);
        let text = filled.iter().fold(line.to_owned(), fill);
        Self(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }

    /// Returns one of each line.
    pub fn each() -> impl Iterator<Item = Self> {
        (0..MESSAGES.lines().count()).map(Self::nth)
    }

    pub fn value(&self, name: &str) -> &Value {
        &self.0[name]
    }

    pub fn text(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    fn both(&self) -> [Message; 2] {
        let mut request = Message::new(&self.0, ["type", "body", "parts", "headers"]);
        for (name, value) in [
            ("accept", "application/json,application/problem+json"),
            ("user-agent", "AMF"),
            ("3gpp-sbi-max-rsp-time", "10000"),
            ("3gpp-sbi-sender-timestamp", "Sat, 21 Nov 2026 01:44:47.553 GMT"),
            ("3gpp-sbi-target-apiroot", self.text("target")),
        ] {
            request.header(name, value);
        }
        let mut answer =
            Message::new(&self.0, ["answer-type", "answer", "answer-parts", "answer-headers"]);
        answer.status = self.0["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        [request, answer]
    }

    /// Returns whether the message comes from the peer, whose network is the visited one.
    fn is_of_peer(&self, message: &Message) -> bool {
        (self.text("from") == "visited") == message.status.is_none()
    }

    fn judged(&self, guard: &Guard, message: &mut Message) -> Result<Passage, Refusal> {
        let is_of_peer = self.is_of_peer(message);
        let mut parts = message.request();
        let asked = RequestSummary::of(&parts);
        let mut body = message.body.clone();
        let seen =
            Some(&mut body).filter(|body| !body.is_empty() && guard.inspects(&message.headers));
        let verdict = match message.response() {
            Some(mut response) => {
                let verdict = with(|context| match is_of_peer {
                    true => guard.incoming_response(context, asked, &mut response, seen),
                    false => guard.outgoing_response(context, asked, &mut response, seen),
                })?;
                message.headers = response.headers;
                verdict
            }
            None => {
                let verdict = with(|context| match is_of_peer {
                    true => guard.incoming_request(context, &mut parts, seen),
                    false => guard.outgoing_request(context, &mut parts, seen),
                })?;
                message.target = parts.uri.to_string();
                message.headers = parts.headers;
                verdict
            }
        };
        message.body = body;
        Ok(verdict)
    }
}
