//! Hostile messages of a peer, and the rule that must refuse each; and those of real networks in a registration, which
//! must pass.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers here are tests too")]

mod attacked;
mod corpus;
mod echoes;
mod foreign;
mod grammar;
mod hiding;
mod honest;
mod identifiers;
mod limits;
mod links;
mod message;
mod misread;
mod names;
mod passing;
mod patches;
mod places;
mod readers;
mod receivers;
mod sides;

use bytes::Bytes;
use tessera_sepp::guard::{Passage, Rule};

use crate::corpus::{ANSWERS, Case, HONEST, spoofed};
use crate::message::{guard, incoming, incoming_answer, request, with};

/// Most cases wrap what they test in members that no API has.
const ANY_MEMBER: &str = "[guard]\nlog-only = [\"unknown-member\"]";

#[test]
fn every_spoofed_request_is_refused_by_its_rule() {
    let guard = guard(ANY_MEMBER);
    let mut wrong = Vec::new();
    for Case { what, rule, request } in spoofed().chain(places::REQUESTS).chain(sides::REQUESTS) {
        let judged = incoming(&guard, request);
        match judged {
            Err(refusal) if refusal.rule == *rule => {
                assert!(!refusal.claimed.contains("0000000001"), "{what}: a subscriber is shown");
                assert!(refusal.status.is_client_error(), "{what}");
            }
            other => wrong.push(format!("{what}: {rule}, not {other:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_log_only_rule_lets_the_message_pass_and_reports_it() {
    for Case { what, rule, request } in spoofed() {
        // Unreadable text can't pass: the rules after it would be blind.
        if matches!(rule, Rule::JsonDepth)
            || ["path", "target"].iter().any(|start| what.starts_with(start))
        {
            continue;
        }
        let guard = guard(&format!("[guard]\nlog-only = [\"unknown-member\", \"{rule}\"]"));
        match incoming(&guard, request) {
            Ok(Passage { logged, .. }) => {
                assert!(logged.iter().any(|refusal| refusal.rule == *rule), "{what}")
            }
            // Another rule refuses it too.
            Err(refusal) => assert_ne!(refusal.rule, *rule, "{what}"),
        }
    }
}

#[test]
fn honest_requests_pass_untouched() {
    let guard = guard("[sbi]\ntarget-prefixes = [\"/north-1/core\"]");
    for (what, text) in HONEST {
        let (mut parts, mut body) = request(text);
        let before = body.clone();
        let judged = with(|context| guard.incoming_request(context, &mut parts, Some(&mut body)));
        assert_eq!(judged.map_err(|refusal| format!("{what}: {refusal}")), Ok(Passage::default()));
        // A multipart body gets another boundary.
        let plain = |body: &Bytes| {
            let text = String::from_utf8_lossy(body).to_ascii_lowercase();
            let boundary = text.strip_prefix("--").and_then(|text| text.split("\r\n").next());
            boundary.map_or(text.clone(), |boundary| text.replace(boundary, "b"))
        };
        assert_eq!(plain(&body), plain(&before), "{what}");
    }
}

#[test]
fn answers_pass_or_are_refused() {
    let guard = guard(ANY_MEMBER);
    for (what, rule, asked, header, body) in
        ANSWERS.iter().chain(places::ANSWERS).chain(sides::ANSWERS)
    {
        let answered = incoming_answer(&guard, asked, header, body);
        assert_eq!(answered.err().map(|refusal| refusal.rule), *rule, "{what}");
    }
}
