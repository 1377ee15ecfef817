//! Deployments, and the advice for them.

mod measurements;
mod sepp;

use super::*;
use crate::evidence::{Continuation, KeyExchange, OneTimeKey, Store};
use crate::facts::SourcedFacts;

fn evidence() -> Evidence {
    Evidence::embedded().unwrap()
}

#[track_caller]
fn given(facts: &str) -> Facts {
    let options = facts.split_whitespace().map(|fact| {
        let (key, value) = fact.split_once('=').unwrap();
        assert!(crate::facts::KEYS.contains(&key), "{key} is no fact");
        (key, value.to_owned())
    });
    SourcedFacts::default().with_options(options).facts().unwrap()
}

/// Returns the advice for these facts; checks that each line has its reason and measurements.
#[track_caller]
fn advice(facts: &str) -> Advice {
    let advice = advise(&evidence(), &given(facts)).unwrap();
    assert!((1..=4).contains(&advice.summary.len()), "{:?}", advice.summary);
    for Line { about, answer, reason, facts, cost } in &advice.lines {
        assert!(!answer.is_empty() && !reason.is_empty(), "{about}");
        assert!(facts.iter().all(|fact| crate::facts::KEYS.contains(fact)), "{about}: {facts:?}");
        assert!(!cost.is_empty(), "{about} has no measured cost");
        let numbers = cost.iter().flat_map(|cost| &cost.numbers);
        assert!(numbers.clone().count() > 0, "{about}");
        assert!(numbers.into_iter().all(|number| number.value.is_finite()), "{about}: {cost:?}");
    }
    assert_eq!(advice.others.len(), 5, "each other option has its reason");
    for other in &advice.others {
        assert!(!other.reason.is_empty() && !other.cost.is_empty(), "{other:?}");
    }
    advice
}

/// Returns what rules an option out.
#[track_caller]
fn ruled_out(advice: &Advice, option: Letter) -> Option<&'static str> {
    advice.others.iter().find(|other| other.way.option == option).unwrap().ruled_out_by
}

#[track_caller]
fn line<'a>(advice: &'a Advice, about: &str) -> &'a Line {
    advice.lines.iter().find(|line| line.about == about).unwrap()
}

const HYBRID: Option<KeyExchange> = Some(KeyExchange::X25519MlKem768);

/// 1. Two Tessera SEPPs, in Seoul and Los Angeles; discovery may be early.
#[test]
fn far_away_partners_with_tessera_at_both_ends_come_back_with_forward_secret_early_data() {
    let advice = advice(
        "application=sepp round-trip=134ms reconnections-per-hour=4 connections=1000 peer-tls=tessera \
         early-requests=at-most-once",
    );
    assert_eq!(advice.way.option, Letter::E);
    assert_eq!(advice.way.ticket_key, Some(OneTimeKey::X25519MlKem768), "it must be post-quantum");
    assert_eq!(advice.way.store, Store::Memory);
    assert_eq!(line(&advice, "one-time key's lifetime").answer, "1 h");
    assert!(advice.settings.contains(&"early-data = \"fs\"".to_owned()));
    // It saves the round trip, and the number shows it.
    let saved = line(&advice, "reconnection").cost.last().unwrap().numbers[0].value;
    assert!((-140e3..-130e3).contains(&saved), "{saved} µs");
    assert_eq!(line(&advice, "early requests").cost[0].numbers[0].value, 1.0, "executed once");
    assert!(
        line(&advice, "pays").answer.starts_with("from a round-trip time of ")
            || line(&advice, "pays").answer.starts_with("at any")
    );
    assert_eq!(ruled_out(&advice, Letter::B), Some("forward-secrecy"));
    assert_eq!(ruled_out(&advice, Letter::DSingleUse), Some("forward-secrecy"));
    assert_eq!(ruled_out(&advice, Letter::C), None, "it is permitted, and slower");
}

/// 2. The same with a SEPP of another vendor, which has tickets.
#[test]
fn a_stock_peer_with_tickets_resumes_with_a_key_exchange() {
    let advice = advice(
        "application=sepp round-trip=134ms reconnections-per-hour=4 early-requests=at-most-once",
    );
    assert_eq!(advice.way, Way::plain(Letter::C, HYBRID));
    assert_eq!(ruled_out(&advice, Letter::E), Some("peer-tls"));
    assert_eq!(advice.settings, ["[peer.NAME.reconnection]", "ticket-lifetime = \"7200s\""]);
}

/// 3. open5gs, whose tickets never resume.
#[test]
fn a_peer_without_tickets_makes_full_handshakes() {
    let advice = advice(
        "application=sepp round-trip=33ms reconnections-per-hour=4 peer-tls=stock-without-tickets",
    );
    assert_eq!(advice.way, Way::plain(Letter::A, HYBRID));
    for option in [Letter::B, Letter::C, Letter::DSingleUse, Letter::E] {
        assert_eq!(ruled_out(&advice, option), Some("peer-tls"));
    }
    assert_eq!(advice.settings, ["[peer.NAME.reconnection]", "resume = false"]);
    assert_eq!(line(&advice, "key exchange").answer, "X25519MLKEM768");
}

/// 4. An auditor requires certificates in each connection.
#[test]
fn an_owner_that_needs_fresh_certificates_resumes_nothing() {
    let advice = advice(
        "round-trip=134ms reconnections-per-hour=60 fresh-certificates=true peer-tls=tessera",
    );
    assert_eq!(advice.way, Way::plain(Letter::A, HYBRID));
    assert_eq!(ruled_out(&advice, Letter::E), Some("fresh-certificates"));
    let reason = &line(&advice, "reconnection").reason;
    assert_eq!(
        line(&advice, "all at once").cost.len(),
        1,
        "a full handshake is not compared with itself"
    );
    assert!(reason.starts_with("fresh-certificates rules resumption out"), "{reason}");
}

/// 5. Authentication alone crosses the border: POST, which is never early.
#[test]
fn without_requests_that_may_be_early_there_is_no_early_data() {
    let advice = advice("round-trip=134ms reconnections-per-hour=4 peer-tls=tessera");
    assert_eq!(advice.way, Way::plain(Letter::C, HYBRID));
    assert_eq!(ruled_out(&advice, Letter::E), Some("early-requests"));
}

/// 6. Devices with little memory at the server, which reliably delete what they used.
#[test]
fn little_memory_and_reliable_deletion_lead_to_one_time_psks() {
    let facts = "round-trip=134ms reconnections-per-hour=1 connections=100000 peer-tls=tessera \
                 early-requests=at-most-once ticket-memory=32MiB";
    let without = advice(facts);
    assert_eq!(
        without.way,
        Way::plain(Letter::C, HYBRID),
        "hybrid keys don't fit, X25519 isn't enough"
    );
    assert_eq!(ruled_out(&without, Letter::E), Some("ticket-memory"));
    let facts = format!("{facts} deletes-one-time-psks=true");
    assert_eq!(ruled_out(&advice(&facts), Letter::E), Some("ticket-memory"), "psk_ke is a risk");
    let with = advice(&format!("{facts} accept-risk=early-key-exchange"));
    assert_eq!(with.way, Way::forward_secret(OneTimeKey::Psk, None));
    assert_eq!(line(&with, "continuation").answer, "psk_ke");
}

/// 7. Recordings are no concern, and processor time is expensive.
#[test]
fn where_quantum_computers_do_not_matter_the_cheaper_keys_are_taken() {
    let advice = advice(
        "round-trip=5ms reconnections-per-hour=10 peer-tls=tessera early-requests=at-most-once \
         post-quantum=false processor-price=10 accept-risk=early-key-exchange",
    );
    assert_eq!(advice.way, Way::forward_secret(OneTimeKey::X25519, None));
    assert_eq!(advice.way.continuation, Some(Continuation::PskKe));
    let saved = line(&advice, "one-time key").cost[0].numbers[1].value;
    assert!(saved < 0.0, "X25519 is less work: {saved} µs");
}

/// 8. No request waits for the connection: a keep-alive restores it in the background.
#[test]
fn a_saved_round_trip_is_worth_nothing_if_no_one_waits() {
    let advice = advice(
        "round-trip=33ms reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once waiting-requests=0",
    );
    assert_eq!(advice.way, Way::plain(Letter::C, HYBRID), "less work than any hybrid (e)");
}

/// 9. N32-f breaks once a month, under tickets of an hour.
#[test]
fn long_lived_connections_with_short_tickets_gain_nothing_that_is_sure() {
    let facts = "round-trip=134ms reconnections-per-hour=0.0014 peer-tls=tessera early-requests=at-most-once";
    let short = advice(&format!("{facts} longest-ticket-lifetime=1h"));
    assert_eq!(short.way, Way::plain(Letter::A, HYBRID), "99.9 % would come too late");
    // With the longest tickets, 3 of 100 reconnections save a round trip, and more resume.
    let long = advice(facts);
    assert_eq!(long.way.option, Letter::E);
    assert_eq!(line(&long, "one-time key's lifetime").answer, "24 h");
    assert_eq!(line(&long, "ticket's lifetime").answer, "168 h");
    assert!(line(&long, "one-time key's lifetime").reason.starts_with("3 of 100"));
}

/// 10. A stock peer, requests that are harmless twice, and an owner who accepts both risks of RFC 8446's early data.
#[test]
fn replayable_early_data_needs_both_of_its_risks_accepted() {
    let facts = "round-trip=134ms reconnections-per-hour=4 early-requests=repeatable \
                 forward-secrecy=after-handshake accept-risk=";
    let none = advice(facts);
    assert_eq!(none.way, Way::plain(Letter::C, HYBRID));
    assert_eq!(ruled_out(&none, Letter::DSingleUse), Some("accept-risk"));
    let one = advice(&format!("{facts}early-data-without-forward-secrecy"));
    assert_eq!(
        one.way,
        Way::plain(Letter::C, HYBRID),
        "the adversary replayed it: that is a second risk"
    );
    assert_eq!(ruled_out(&one, Letter::DSingleUse), Some("accept-risk"));
    let both = advice(&format!("{facts}early-data-without-forward-secrecy,replay"));
    assert_eq!(both.way, Way::plain(Letter::DSingleUse, HYBRID));
    assert!(both.settings[0].contains("replayable_without_forward_secrecy"), "{both:?}");
    assert!(line(&both, "early requests").cost[0].numbers[0].value > 1.0);
    assert_eq!(ruled_out(&both, Letter::D), Some("evidence"), "not without a register");
}

/// The lab replays to one server. Ten servers have ten registers of used tickets.
#[test]
fn each_server_has_a_register_of_used_tickets_of_its_own() {
    let facts = "round-trip=134ms reconnections-per-hour=4 early-requests=repeatable \
                 forward-secrecy=after-handshake accept-risk=early-data-without-forward-secrecy";
    let one = advice(&format!("{facts},replay"));
    assert!(!one.to_string().contains("has its own"), "{one}");
    let ten = advice(&format!("{facts},replay servers=10"));
    assert_eq!(ten.way.option, Letter::DSingleUse);
    assert!(ten.summary[3].contains("by one server, and each of 10 has its own register"));
    let requests = line(&ten, "early requests");
    assert!(requests.reason.contains("; each of 10 servers has its own register of used tickets"));
    assert!(requests.cost[0].numbers[0].what.contains("replayed to one server"), "{requests:?}");
    // An adversary's failure against one server proves nothing for ten.
    let mut once = evidence();
    for found in &mut once.protections {
        found.executions = 1;
    }
    for (servers, accept, expected) in [
        ("1", "", Letter::DSingleUse),
        ("10", "", Letter::C),
        ("10", ",replay", Letter::DSingleUse),
    ] {
        let facts = given(&format!("{facts}{accept} servers={servers}"));
        assert_eq!(advise(&once, &facts).unwrap().way.option, expected, "{servers} {accept}");
    }
}

/// 11. Sessions whose content is worthless tomorrow, and hardly any processor time.
#[test]
fn psk_only_is_advised_only_after_giving_up_forward_secrecy_by_name() {
    let facts =
        "application=sepp round-trip=1ms reconnections-per-hour=60 forward-secrecy=not-needed";
    assert_eq!(advice(facts).way, Way::plain(Letter::C, HYBRID));
    assert_eq!(ruled_out(&advice(facts), Letter::B), Some("accept-risk"));
    let accepted = advice(&format!("{facts} accept-risk=no-forward-secrecy"));
    assert_eq!(accepted.way, Way::plain(Letter::B, None));
    assert_eq!(accepted.settings[1], "risky-psk-ke = true");
}

/// 12. Three servers close to an etcd, and with one that is as far away as the client.
#[test]
fn a_shared_store_is_worth_it_only_where_it_is_nearer_than_the_client() {
    let facts = "round-trip=134ms reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once servers=3";
    let near = advice(&format!("{facts} shared-store=etcd store-round-trip=0.5ms"));
    assert_eq!((near.way.option, near.way.store), (Letter::E, Store::Etcd));
    assert!(line(&near, "store").answer.starts_with("etcd"));
    let far = advice(&format!("{facts} shared-store=etcd store-round-trip=140ms"));
    assert_eq!(far.way, Way::plain(Letter::C, HYBRID));
    assert_eq!(ruled_out(&far, Letter::E), Some("store-round-trip"));
    let none = advice(facts);
    assert_eq!((none.way.option, none.way.store), (Letter::E, Store::Memory));
    assert!(line(&none, "store").answer.contains("docs/sites.md"));
}

/// 13. A server with a limit below some ways, and below all.
#[test]
fn a_limit_of_the_processor_leaves_what_is_cheaper_and_never_only_the_dearest() {
    let facts = "round-trip=0 reconnections-per-hour=4";
    let enough = advice(&format!("{facts} server-processor=1s"));
    assert_eq!(enough.way.option, Letter::C);
    // A full handshake takes 547 µs, and a resumption 146.
    let little = advice(&format!("{facts} server-processor=300us"));
    assert_eq!(little.way, Way::plain(Letter::C, HYBRID));
    assert_eq!(ruled_out(&little, Letter::A), Some("server-processor"));
    for (more, expected) in [("", 2), (" peer-tls=stock-without-tickets", 1)] {
        let facts = given(&format!("{facts} server-processor=1us{more}"));
        let error = advise(&evidence(), &facts).unwrap_err();
        let NoAdvice::NoWayFits { over_us } = &error else { panic!("{error}") };
        assert_eq!(over_us.len(), expected, "{error}");
        assert_eq!(over_us[0].0, Way::plain(Letter::A, HYBRID));
        let told = error.to_string();
        assert!(told.starts_with("server-processor: no permitted way fits"), "{told}");
        assert!(told.contains("546 µs in (a) full handshake"), "{told}");
    }
    // Whatever the limit, no way that it rules out is cheaper than the answer.
    for limit in ["150us", "250us", "600us", "700us"] {
        let facts = given(&format!("{facts} server-processor={limit} peer-tls=tessera"));
        let advice = advise(&evidence(), &facts).unwrap();
        let server_us = |way| price::WayCost::of(&evidence(), &facts, way).unwrap().server_us;
        for other in advice.others.iter().filter(|it| it.ruled_out_by == Some("server-processor")) {
            assert!(server_us(other.way) > server_us(advice.way), "{limit}: {other:?}");
        }
    }
}

#[test]
fn advice_follows_the_evidence_and_not_a_list() {
    let facts = Facts {
        early_requests: crate::facts::EarlyRequests::AtMostOnce,
        peer_tls: crate::facts::PeerTls::Tessera,
        ..Facts::at(134.0)
    };
    let option = |evidence: &Evidence| advise(evidence, &facts).unwrap().way.option;
    assert_eq!(option(&evidence()), Letter::E);
    // An adversary had a request executed twice.
    let mut replayed = evidence();
    for found in replayed.protections.iter_mut().filter(|found| found.way.option == Letter::E) {
        found.executions = 2;
    }
    assert_eq!(option(&replayed), Letter::C);
    // A measurement too uncertain to resolve a round trip.
    let mut uncertain = evidence();
    for cell in uncertain.cells.iter_mut().filter(|cell| cell.way.option == Letter::E) {
        let response = cell.response_us.as_mut().unwrap();
        response.interval = Some((response.median - 1e6, response.median + 1e6));
    }
    assert_eq!(option(&uncertain), Letter::C);
    // Too few samples to know the uncertainty.
    let mut few = evidence();
    for cell in few.cells.iter_mut().filter(|cell| cell.way.option == Letter::E) {
        cell.response_us.as_mut().unwrap().interval = None;
    }
    assert_eq!(option(&few), Letter::C);
    // Ways without an adversary's results, or without measurements.
    let mut without = evidence();
    without.protections.retain(|found| found.way.option != Letter::E);
    assert_eq!(option(&without), Letter::C);
    let mut without = evidence();
    without.cells.retain(|cell| cell.way.option == Letter::A);
    assert_eq!(option(&without), Letter::A);
    let nothing = advise(&Evidence::default(), &facts).unwrap_err();
    let NoAdvice::Unmeasured { way, .. } = nothing else { panic!("{nothing}") };
    assert_eq!(way, Way::plain(Letter::A, HYBRID));
}

#[test]
fn advice_reads_as_text_and_as_json() {
    let advice = advice(
        "application=sepp round-trip=134ms reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once \
         connections=1000",
    );
    let text = advice.to_string();
    for part in [
        "(e) 0-RTT FS",
        "because",
        "Not the answer",
        "(b) PSK only",
        "early-data = \"fs\"",
        "Measured\n  lab ",
        "when the key is too late: (c) PSK with key exchange",
        "\n  [peer.NAME.reconnection]\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let summary: Vec<_> = text.lines().take_while(|line| !line.is_empty()).collect();
    let [answer, set, saves, risks] = summary[..] else { panic!("{text}") };
    assert_eq!(answer, advice.way.to_string());
    assert!(set.starts_with("set: [peer.NAME.reconnection] early-data = \"fs\", "), "{set}");
    assert!(saves.starts_with("saves: responses 13") && saves.contains(" sooner, "), "{saves}");
    assert!(risks.starts_with("risks: a lost flight "), "{risks}");
    let json = serde_json::to_value(&advice).unwrap();
    assert_eq!(json["way"]["option"], "e");
    assert_eq!(json["summary"].as_array().unwrap().len(), 4);
    assert_eq!(json["application"], "sepp");
    assert_eq!(json["lines"][0]["about"], "reconnection");
    assert_eq!(json["lines"][0]["cost"][1]["against"]["option"], "c");
    assert_eq!(json["lines"][0]["cost"][1]["numbers"][0]["unit"], "us");
}

/// 11. Four servers with separate one-time keys: one in four reconnections finds its key.
#[test]
fn a_client_that_seldom_comes_home_seldom_saves() {
    let facts =
        "round-trip=33ms reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once";
    let saved = |facts: &str| {
        let advice = advice(facts);
        assert_eq!(advice.way.option, Letter::E, "{facts}");
        let pays = line(&advice, "pays").cost.clone();
        (advice.summary[2].clone(), pays[0].numbers[0].value)
    };
    let (one, gain) = saved(facts);
    let (four, gain_of_four) = saved(&format!("{facts} servers=4"));
    assert!(!one.contains("servers"), "{one}");
    assert!(
        four.ends_with("one of 4 reconnections finds its server, the others resume as in (c)"),
        "{four}"
    );
    assert!((gain_of_four - gain / 4.0).abs() < 1e-6);
    assert_eq!(saved(&format!("{facts} servers=4 same-server=true")).1, gain);
    let shared = format!("{facts} servers=4 shared-store=etcd store-round-trip=0.5ms");
    assert!(!advice(&shared).summary[2].contains("finds its server"));
    // With a thousand servers it isn't worth its work.
    assert_eq!(advice(&format!("{facts} servers=1000")).way.option, Letter::C);
}

/// 12. The handshake's own key exchange is not given up, unless the owner accepts the risk.
#[test]
fn a_connection_rests_on_its_one_time_key_alone_only_where_that_is_accepted() {
    let facts =
        "round-trip=33ms reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once";
    let safe = advice(facts);
    assert_eq!(safe.way.continuation, Some(Continuation::PskDheKe));
    let accepted = advice(&format!("{facts} accept-risk=early-key-exchange processor-price=100"));
    assert_eq!(accepted.way.continuation, Some(Continuation::PskKe));
    let risks = &accepted.summary[3];
    assert!(
        risks.contains("before a flight arrives") && risks.contains("the whole connection"),
        "{risks}"
    );
}

/// 13. A tunnel gets the lines of its file.
#[test]
fn a_tunnel_gets_the_lines_of_its_file() {
    let facts = "application=tunnel round-trip=33ms reconnections-per-hour=4";
    let late = advice(facts);
    assert_eq!(late.way, Way::plain(Letter::C, HYBRID));
    assert_eq!(late.settings, ["[client.NAME]", "early = \"never\""]);
    let early = advice(&format!("{facts} peer-tls=tessera early-requests=at-most-once"));
    assert_eq!(early.settings[1..3], ["early = \"fs\"", "early-key-exchange = \"psk_dhe_ke\""]);
    assert_eq!(ruled_out(&early, Letter::B), Some("forward-secrecy"));
    assert!(early.to_string().contains("For a tunnel (docs/tunnel.md)"));
    assert_eq!(line(&early, "early requests").answer, "any of them, once");
}

/// 14. A meter on a slow link: 2,600 more bytes take longer than the round trip that they save.
#[test]
fn bytes_count_on_a_slow_link() {
    let facts =
        "round-trip=134ms reconnections-per-hour=4 peer-tls=tessera early-requests=at-most-once";
    let fast = advice(facts);
    assert_eq!(fast.way.option, Letter::E);
    assert!(fast.summary[2].contains(" bytes, against (c)"), "{}", fast.summary[2]);
    assert_eq!(advice(&format!("{facts} bandwidth=20kbit/s")).way.option, Letter::C);
}
