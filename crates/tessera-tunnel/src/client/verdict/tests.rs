//! The judgements and log lines of connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tessera_proxy::logging::tracing::field::{Field, Visit};
use tessera_proxy::logging::tracing::span::{Attributes, Id, Record};
use tessera_proxy::logging::tracing::{Event, Metadata, Subscriber};

use super::*;

fn early(verdict: Option<Verdict>) -> ServerState {
    let mut early_data = EarlyDataOutcome::default();
    (early_data.sent, early_data.verdict) = (8, verdict);
    early_data.flight = Some(FlightHandle([7; 32]));
    ServerState { handshake: Some(HandshakeKind::ForwardSecret), early_data, is_withdrawn: false }
}

fn judge(
    ended: fn(io::Error) -> ConnectionEnd,
    kind: io::ErrorKind,
    server: ServerState,
) -> Judgement {
    Judgement::of(ended(kind.into()), server)
}

#[test]
fn a_connection_that_ends_in_order_is_not_reset_whatever_became_of_early_data() {
    use EarlyDataVerdict::{Accepted, Burned};
    for (told, verdict) in [(None, Accepted), (Some(Verdict::Burned), Burned)] {
        let judged = Judgement::of(ConnectionEnd::InOrder, early(told));
        assert_eq!((judged.outcome, judged.verdict), (Outcome::Completed, Some(verdict)));
        assert!(!judged.resets_local());
        assert!(judged.flight.is_none() && judged.what_to_do().is_none());
    }
}

#[test]
fn what_may_have_been_executed_is_named_whichever_side_failed() {
    for verdict in [Verdict::Used, Verdict::Unknown] {
        for ended in [ConnectionEnd::Server, ConnectionEnd::Local] {
            let judged = judge(ended, io::ErrorKind::ConnectionReset, early(Some(verdict)));
            assert_eq!(judged.outcome, Outcome::ResetByVerdict);
            assert_eq!(judged.flight, Some(FlightHandle([7; 32])));
            assert!(judged.resets_local());
            assert!(judged.what_to_do().unwrap().contains("flight's name"));
        }
    }
    let used = judge(ConnectionEnd::Server, io::ErrorKind::Other, early(Some(Verdict::Used)));
    let unknown = judge(ConnectionEnd::Server, io::ErrorKind::Other, early(Some(Verdict::Unknown)));
    assert_ne!(used.what(), unknown.what());
    assert_ne!(used.what_to_do(), unknown.what_to_do());
}

/// The end of the process is no answer either.
#[test]
fn a_process_that_ends_with_early_data_open_reports_what_may_have_been_executed() {
    for verdict in [Verdict::Used, Verdict::Unknown] {
        let judged = Judgement::of(ConnectionEnd::Cut, early(Some(verdict)));
        assert_eq!(judged.outcome, Outcome::ResetByVerdict);
        assert_eq!(judged.flight, Some(FlightHandle([7; 32])));
        assert!(judged.what_to_do().unwrap().contains("flight's name"));
    }
    for closed in [Some(Verdict::Burned), None] {
        let judged = Judgement::of(ConnectionEnd::Cut, early(closed));
        assert_eq!((judged.outcome, judged.flight), (Outcome::Cut, None));
    }
}

/// It can't have been executed, whatever failed then.
#[test]
fn a_burned_flight_is_not_looked_for() {
    for (ended, outcome) in [
        (ConnectionEnd::Server as fn(_) -> _, Outcome::PeerFailed),
        (ConnectionEnd::Local, Outcome::LocalFailed),
    ] {
        let judged = judge(ended, io::ErrorKind::ConnectionReset, early(Some(Verdict::Burned)));
        assert_eq!((judged.outcome, judged.flight), (outcome, None));
    }
}

/// No answer is `unknown`, and so is an unauthenticated answer.
#[test]
fn a_connection_that_fails_before_the_answer_may_have_been_executed() {
    let server = ServerState { handshake: None, ..early(Some(Verdict::Unknown)) };
    let judged = judge(ConnectionEnd::Server, io::ErrorKind::ConnectionReset, server);
    assert_eq!(judged.outcome, Outcome::ResetByVerdict);
    assert_eq!(judged.verdict, Some(EarlyDataVerdict::Unknown));
}

#[test]
fn failures_without_early_data_are_counted_apart_and_reset_too() {
    let nothing = ServerState::default();
    let complete = ServerState { handshake: Some(HandshakeKind::Full), ..nothing };
    let withdrawn = ServerState { is_withdrawn: true, ..complete };
    let accepted = early(None);
    use io::ErrorKind::{ConnectionReset, PermissionDenied, TimedOut};
    for (judged, outcome) in [
        (judge(ConnectionEnd::Unreachable, ConnectionReset, nothing), Outcome::Unreachable),
        (judge(ConnectionEnd::Server, ConnectionReset, nothing), Outcome::HandshakeFailed),
        (judge(ConnectionEnd::Server, TimedOut, nothing), Outcome::HandshakeFailed),
        (judge(ConnectionEnd::Server, ConnectionReset, complete), Outcome::PeerFailed),
        (judge(ConnectionEnd::Server, ConnectionReset, accepted), Outcome::PeerFailed),
        (judge(ConnectionEnd::Server, TimedOut, complete), Outcome::TimedOut),
        (judge(ConnectionEnd::Server, PermissionDenied, withdrawn), Outcome::Cut),
        (Judgement::of(ConnectionEnd::Cut, complete), Outcome::Cut),
        (judge(ConnectionEnd::Local, ConnectionReset, complete), Outcome::LocalFailed),
        (judge(ConnectionEnd::Local, TimedOut, accepted), Outcome::TimedOut),
    ] {
        assert_eq!(judged.outcome, outcome);
        assert!(judged.flight.is_none());
        assert!(judged.resets_local());
    }
}

/// The handshake completes here before the server has verified this end's certificate.
#[test]
fn a_server_that_refuses_this_end_is_a_warning_with_what_to_do() {
    let complete = ServerState { handshake: Some(HandshakeKind::Full), ..ServerState::default() };
    let alerted = |alert| {
        let error = io::Error::new(io::ErrorKind::InvalidData, Error::AlertReceived(alert));
        Judgement::of(ConnectionEnd::Server(error), complete)
    };
    for alert in [
        AlertDescription::UNKNOWN_CA,
        AlertDescription::ACCESS_DENIED,
        AlertDescription::CERTIFICATE_REQUIRED,
        AlertDescription::UNSUPPORTED_CERTIFICATE,
    ] {
        let judged = alerted(alert);
        assert_eq!(judged.outcome, Outcome::PeerFailed);
        let line = logged(&judged);
        assert_eq!((&*line["level"], &*line["message"]), ("WARN", "the server refuses this end"));
        assert!(line["what_to_do"].contains("`certificate`"), "{line:?}");
    }
    let broken = logged(&alerted(AlertDescription::BAD_RECORD_MAC));
    assert_eq!((&*broken["level"], broken.contains_key("what_to_do")), ("INFO", false));
}

#[test]
fn a_server_that_cannot_serve_is_a_warning_with_what_to_do() {
    use tessera::auth::PeerRejected;

    let complete = ServerState { handshake: Some(HandshakeKind::Full), ..ServerState::default() };
    let nothing = ServerState::default();
    let reason = "certificate: it is for other names: db.example; not for localhost".to_owned();
    let rejected = PeerRejected { alert: AlertDescription::BAD_CERTIFICATE, reason };
    let alert = AlertDescription::UNEXPECTED_MESSAGE;
    for (error, server, words) in [
        (
            Error::Protocol { alert, reason: "not a TLS record" },
            nothing,
            "speaks TLS: check that `connect`",
        ),
        (Error::PeerRejected(rejected), nothing, "set `server-name`"),
        (Error::Protocol { alert, reason: "other" }, nothing, "check the certificates"),
        (Error::Truncated, complete, "is its backend down?"),
    ] {
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        let line = logged(&Judgement::of(ConnectionEnd::Server(error), server));
        assert_eq!(line["level"], "WARN", "{line:?}");
        assert!(line["what_to_do"].contains(words), "{words}: {line:?}");
    }
}

#[test]
fn the_causes_of_an_error_are_printed_once() {
    let inner = io::Error::other("the name has no address");
    let outer = io::Error::other(Outer(inner));
    assert_eq!(Causes(&outer).to_string(), "no connection: the name has no address");
}

#[derive(Debug)]
struct Outer(io::Error);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no connection")
    }
}

impl std::error::Error for Outer {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Collects the events of a thread, as their fields.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<BTreeMap<&'static str, String>>>>);

impl Subscriber for Events {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        fields.0.insert("level", event.metadata().level().to_string());
        fields.0.insert("target", event.metadata().target().to_owned());
        self.0.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

fn logged(judged: &Judgement) -> BTreeMap<&'static str, String> {
    let events = Events::default();
    // A second one: with a single dispatcher, an event that another test's thread reaches first is off for all
    // (tracing-core's `Rebuilder::JustOne` asks that thread).
    let _other = tracing::Dispatch::new(Events::default());
    tracing::subscriber::with_default(events.clone(), || judged.log("pg", &"192.0.2.1:5"));
    let mut events = std::mem::take(&mut *events.0.lock().unwrap());
    assert_eq!(events.len(), 1);
    events.remove(0)
}

#[test]
fn the_line_of_a_verdict_has_the_flights_name_and_what_to_do() {
    let line =
        logged(&judge(ConnectionEnd::Server, io::ErrorKind::Other, early(Some(Verdict::Used))));
    for (field, value) in [
        ("level", "WARN"),
        ("target", TRUSTED),
        ("tunnel", "pg"),
        ("role", "client"),
        ("client", "192.0.2.1:5"),
        ("outcome", "reset_by_verdict"),
        ("handshake", "forward_secret"),
        ("verdict", "used"),
        ("flight", &"07".repeat(32)),
        ("cause", "other error"),
    ] {
        assert_eq!(line[field], value, "{field}");
    }
    assert!(line["message"].contains("may have been executed"));
    assert!(line["what_to_do"].contains("check at the backend"));
}

#[test]
fn the_line_of_a_connection_that_ended_in_order_names_no_flight() {
    let line = logged(&Judgement::of(ConnectionEnd::InOrder, early(None)));
    assert_eq!((&*line["level"], &*line["verdict"]), ("INFO", "accepted"));
    assert!(!line.contains_key("flight") && !line.contains_key("what_to_do"));
    let line =
        logged(&judge(ConnectionEnd::Unreachable, io::ErrorKind::TimedOut, ServerState::default()));
    assert_eq!((&*line["level"], &*line["outcome"]), ("WARN", "unreachable"));
    assert_ne!(line["target"], TRUSTED, "programs that try again and again fill no disk");
}

/// A server rejects this end's certificate after the handshake, which is complete here by then.
#[test]
fn a_server_that_refuses_this_end_is_distinguished_from_one_that_fails() {
    let complete = ServerState { handshake: Some(HandshakeKind::Full), ..ServerState::default() };
    let alert = |alert| {
        let error = io::Error::other(Error::AlertReceived(alert));
        Judgement::of(ConnectionEnd::Server(error), complete)
    };
    let refused = alert(AlertDescription::CERTIFICATE_REVOKED);
    assert_eq!(refused.what(), "the server refuses this end");
    assert!(refused.what_to_do().unwrap().contains("this end's `certificate` or PSK"));
    let failed = alert(AlertDescription::INTERNAL_ERROR);
    assert_eq!(failed.what(), "the connection to the server failed");
    assert_eq!(failed.what_to_do(), None);
}

#[test]
fn a_reload_and_the_end_of_the_process_cut_for_different_reasons() {
    let withdrawn = ServerState {
        handshake: Some(HandshakeKind::Full),
        is_withdrawn: true,
        ..ServerState::default()
    };
    let by_reload = judge(ConnectionEnd::Server, io::ErrorKind::ConnectionReset, withdrawn);
    assert!(by_reload.what().ends_with("a reload withdrew the trust in the server"));
    let by_end = Judgement::of(ConnectionEnd::Cut, withdrawn);
    assert!(by_end.what().ends_with("the process ends"));
    let before = ServerState { handshake: None, ..ServerState::default() };
    let failed = judge(ConnectionEnd::Server, io::ErrorKind::ConnectionReset, before);
    assert!(failed.what_to_do().unwrap().contains("check the certificates, the `peers`"));
}
