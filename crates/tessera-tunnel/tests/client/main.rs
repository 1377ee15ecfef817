//! The client end of a tunnel, between programs and a server.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

mod ends;
mod spare;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ends::{Application, Ends, ReceivedData, files_below};
use tessera::ServerConfig;
use tessera::resume::OneTimeKeyGuard;
use tessera::wire::{NamedGroup, TicketRequest};
use tessera_tunnel::config::{Anchors, DialAddress, Early, ListenAddress};
use tessera_vault::MemoryVault;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

fn later(bytes: &[u8]) -> ReceivedData {
    ReceivedData { early: Vec::new(), later: bytes.to_vec() }
}

fn early(bytes: &[u8]) -> ReceivedData {
    ReceivedData { early: bytes.to_vec(), later: Vec::new() }
}

#[tokio::test]
async fn from_the_second_connection_on_a_programs_first_bytes_are_early_data() {
    let ends = Ends::new(Application::Echo).await;
    let client = ends.start(&ends.section());
    for question in [b"question 1", b"question 2", b"question 3"] {
        assert_eq!(client.ask(question).await.unwrap(), question);
    }
    let seen = ends.server.ended(3).await;
    assert_eq!(seen, [later(b"question 1"), early(b"question 2"), early(b"question 3")]);
    ends.until(r#"connections_total{outcome="completed"}"#, 3).await;
    assert_eq!(ends.metric(r#"handshakes_total{kind="full"}"#), 1);
    assert_eq!(ends.metric(r#"handshakes_total{kind="forward_secret"}"#), 2);
    assert_eq!(ends.metric(r#"early_data_total{verdict="accepted"}"#), 2);
    assert_eq!(ends.metric("early_data_bytes_total"), 20);
    assert_eq!((ends.metric("sent_bytes_total"), ends.metric("received_bytes_total")), (30, 30));
    assert_eq!(ends.metric(r#"dials_total{result="connected"}"#), 3);
    assert_eq!(ends.metric("active_connections"), 0);
}

#[tokio::test]
async fn where_early_data_is_not_wanted_none_is_sent() {
    let ends = Ends::new(Application::Echo).await;
    let mut section = ends.section();
    section.early = Early::Never;
    let client = ends.start(&section);
    for question in [b"question 1", b"question 2"] {
        assert_eq!(client.ask(question).await.unwrap(), question);
    }
    assert_eq!(ends.server.ended(2).await, [later(b"question 1"), later(b"question 2")]);
    assert_eq!(ends.metric(r#"handshakes_total{kind="resumed"}"#), 1);
}

#[tokio::test]
async fn a_burned_flight_is_sent_again_once_and_its_program_notices_nothing() {
    let ends = Ends::new(Application::Echo).await;
    let client = ends.start(&ends.section());
    client.ask(b"question 1").await.unwrap();
    // A HelloRetryRequest: the key is burned.
    ends.server.change(|config| config.groups = vec![NamedGroup::SECP256R1]);
    assert_eq!(client.ask(b"question 2").await.unwrap(), b"question 2");
    assert_eq!(ends.server.ended(2).await, [later(b"question 1"), later(b"question 2")]);
    ends.until(r#"connections_total{outcome="completed"}"#, 2).await;
    assert_eq!(ends.metric(r#"early_data_total{verdict="burned"}"#), 1);
    assert_eq!(ends.metric(r#"dials_total{result="connected"}"#), 2);
}

/// The server received the flight, and nothing after it; the program sees a reset.
async fn check_reset(ends: &Ends, client: &ends::Client, verdict: &str) {
    let error = client.ask(b"question 2").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="reset_by_verdict"}"#, 1).await;
    assert_eq!(ends.metric(&format!("early_data_total{{verdict=\"{verdict}\"}}")), 1);
    // One connection more than the one that brought the ticket: nothing was retried.
    let seen = ends.server.ended(2).await;
    assert_eq!(seen[1..], [ReceivedData::default()]);
    assert_eq!(ends.metric(r#"dials_total{result="connected"}"#), 2);
}

/// Loses the keys of all tickets, with their vault.
fn lose_keys(config: &mut ServerConfig) {
    let guard = OneTimeKeyGuard::new(Arc::new(MemoryVault::new(1000)));
    config.policy.early_data.forward_secret = Some(guard);
}

#[tokio::test]
async fn after_unknown_the_program_is_reset_and_nothing_is_sent_again() {
    let ends = Ends::new(Application::Echo).await;
    let client = ends.start(&ends.section());
    client.ask(b"question 1").await.unwrap();
    ends.server.change(lose_keys);
    check_reset(&ends, &client, "unknown").await;
}

#[tokio::test]
async fn after_used_the_program_is_reset_and_nothing_is_sent_again() {
    let ends = Ends::new(Application::Echo).await;
    let mut section = ends.section();
    let directory = ends.files.path("sessions");
    section.sessions = Some(directory.clone());
    // One session at a time, so that the test can copy its file.
    ends.server.change(|config| config.policy.tickets = ONE_TICKET);
    let client = ends.start(&section);
    client.ask(b"question 1").await.unwrap();
    let (path, content) = session_in(&directory).await;
    client.ask(b"question 2").await.unwrap();
    let (next, _) = session_in(&directory).await;
    // Put back the deleted session: the next flight uses the same key.
    fs::remove_file(next).unwrap();
    fs::write(path, content).unwrap();
    let error = client.ask(b"question 3").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="reset_by_verdict"}"#, 1).await;
    assert_eq!(ends.metric(r#"early_data_total{verdict="used"}"#), 1);
    let seen = ends.server.ended(3).await;
    assert_eq!(seen, [later(b"question 1"), early(b"question 2"), ReceivedData::default()]);
    assert_eq!(ends.metric(r#"dials_total{result="connected"}"#), 3);
}

const ONE_TICKET: TicketRequest = TicketRequest { new_session_count: 1, resumption_count: 1 };

/// Waits for the file of the session, and returns its path and content.
async fn session_in(directory: &Path) -> (PathBuf, Vec<u8>) {
    loop {
        let found = files_below(directory);
        let is_session = |path: &Path| path.extension().is_some_and(|it| it == "session");
        if let Some(session) = found.into_iter().find(|(path, _)| is_session(path)) {
            return session;
        }
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_connection_that_dies_with_its_flight_under_way_is_reset_and_not_tried_again() {
    let mut ends = Ends::new(Application::Echo).await;
    let mut section = ends.section();
    section.sessions = Some(ends.files.path("sessions"));
    let client = ends.start(&section);
    client.ask(b"question 1").await.unwrap();
    session_in(&ends.files.path("sessions")).await;
    drop(client);
    // Another server at another address, which the client takes for the same one.
    let other = Ends::new(Application::Refuses).await;
    ends.server.leave().await;
    section.connect = DialAddress::Tcp(other.server.address);
    let client = ends.start(&section);
    let error = client.ask(b"question 2").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="reset_by_verdict"}"#, 1).await;
    assert_eq!(ends.metric(r#"early_data_total{verdict="unknown"}"#), 1);
    assert_eq!(ends.metric(r#"handshakes_total{kind="failed"}"#), 1);
    assert_eq!(other.server.ended(1).await.len(), 1);
}

#[tokio::test]
async fn a_handshake_that_fails_without_early_data_resets_the_program_and_is_counted_apart() {
    let ends = Ends::new(Application::Refuses).await;
    let client = ends.start(&ends.section());
    let error = client.ask(b"question").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="handshake_failed"}"#, 1).await;
    assert_eq!(ends.metric(r#"handshakes_total{kind="failed"}"#), 1);
    assert_eq!(ends.metric(r#"early_data_total{verdict="unknown"}"#), 0);
}

#[tokio::test]
async fn a_server_that_is_away_resets_the_program() {
    let mut ends = Ends::new(Application::Echo).await;
    let client = ends.start(&ends.section());
    client.ask(b"question").await.unwrap();
    ends.server.leave().await;
    let error = client.ask(b"question").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="unreachable"}"#, 1).await;
    assert_eq!(ends.metric(r#"dials_total{result="refused"}"#), 1);
}

#[tokio::test]
async fn a_server_may_speak_first() {
    let ends = Ends::new(Application::Greets).await;
    let client = ends.start(&ends.section());
    // The first has no ticket, the others have one.
    for _ in 0..3 {
        let mut program = client.connect().await;
        let mut greeting = [0; 5];
        program.read_exact(&mut greeting).await.unwrap();
        assert_eq!(&greeting, b"hello");
        program.write_all(b"question").await.unwrap();
        program.shutdown().await.unwrap();
        let mut answer = Vec::new();
        program.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, b"question");
    }
    ends.until(r#"connections_total{outcome="completed"}"#, 3).await;
    assert_eq!(ends.metric(r#"handshakes_total{kind="forward_secret"}"#), 2);
    // There was nothing to send.
    assert_eq!(ends.metric(r#"early_data_total{verdict="accepted"}"#), 0);
}

/// Whether the kernel puts the first flight in the SYN or after it.
#[tokio::test]
async fn with_tcp_fast_open_programs_notice_nothing() {
    for application in [Application::Echo, Application::Greets] {
        let ends = Ends::new(application).await;
        let mut section = ends.section();
        section.tcp_fast_open = true;
        let client = ends.start(&section);
        for _ in 0..3 {
            let answer = client.ask(b"question").await.unwrap();
            assert!(answer.ends_with(b"question"), "{}", answer.escape_ascii());
        }
        ends.until(r#"connections_total{outcome="completed"}"#, 3).await;
    }
}

#[tokio::test]
async fn a_program_that_ends_its_side_still_gets_the_answer() {
    let ends = Ends::new(Application::Counts).await;
    let client = ends.start(&ends.section());
    for question in [&b"question"[..], b"another question", b""] {
        // The answer comes only after the end of the question.
        assert_eq!(client.ask(question).await.unwrap(), [question.len() as u8]);
    }
    ends.until(r#"connections_total{outcome="completed"}"#, 3).await;
}

/// A Unix socket can't be reset: the program gets no answer, not even a part of one.
#[tokio::test]
async fn programs_at_a_unix_socket_are_served_and_see_an_end_for_a_reset() {
    let ends = Ends::new(Application::Echo).await;
    let mut section = ends.section();
    let path = ends.files.path("pg.sock");
    section.listen = ListenAddress::Unix(path.clone());
    let _client = ends.start(&section);
    let ask = async |question: &[u8]| {
        let mut program = UnixStream::connect(&path).await.unwrap();
        program.write_all(question).await.unwrap();
        program.shutdown().await.unwrap();
        let mut answer = Vec::new();
        program.read_to_end(&mut answer).await.unwrap();
        answer
    };
    for question in [b"question 1", b"question 2"] {
        assert_eq!(ask(question).await, question);
    }
    ends.server.change(lose_keys);
    assert_eq!(ask(b"question 3").await, b"");
    ends.until(r#"connections_total{outcome="reset_by_verdict"}"#, 1).await;
    let seen = ends.server.ended(3).await;
    assert_eq!(seen, [later(b"question 1"), early(b"question 2"), ReceivedData::default()]);
}

/// The program must not take a truncated answer for the whole.
#[tokio::test]
async fn a_server_that_dies_later_resets_the_program() {
    let ends = Ends::new(Application::Dies).await;
    let client = ends.start(&ends.section());
    let mut program = client.connect().await;
    program.write_all(b"question").await.unwrap();
    let error = program.read(&mut [0; 8]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="peer_failed"}"#, 1).await;
}

#[tokio::test]
async fn a_program_that_dies_is_no_end_to_the_server() {
    let ends = Ends::new(Application::Counts).await;
    let client = ends.start(&ends.section());
    let mut program = client.connect().await;
    program.write_all(b"question").await.unwrap();
    ends.until("sent_bytes_total", 8).await;
    program.set_zero_linger().unwrap();
    drop(program);
    ends.until(r#"connections_total{outcome="local_failed"}"#, 1).await;
    // The echo answers only after a regular end; here it read an error.
    assert_eq!(ends.server.ended(1).await, [later(b"question")]);
    assert_eq!(ends.metric("received_bytes_total"), 0);
}

#[tokio::test]
async fn at_the_end_of_the_process_what_is_left_is_cut_and_not_ended() {
    let ends = Ends::new(Application::Echo).await;
    let mut client = ends.start(&ends.section());
    let mut program = client.connect().await;
    program.write_all(b"question").await.unwrap();
    program.read_exact(&mut [0; 8]).await.unwrap();
    client.stop().await;
    let error = program.read(&mut [0; 8]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(ends.metric(r#"connections_total{outcome="cut"}"#), 1);
    assert_eq!(ends.metric("active_connections"), 0);
}

#[tokio::test]
async fn a_reload_exchanges_the_files_or_nothing() {
    let ends = Ends::new(Application::Echo).await;
    let client = ends.start(&ends.section());
    client.ask(b"question 1").await.unwrap();
    let path = ends.files.path("ca.pem");
    let root = fs::read(&path).unwrap();
    fs::write(&path, "not a certificate").unwrap();
    assert_eq!(client.end.reload(ends.section()).unwrap_err().file(), Some(&*path));
    assert_eq!(client.ask(b"question 2").await.unwrap(), b"question 2");
    let other = Ends::new(Application::Echo).await;
    fs::copy(other.files.path("ca.pem"), &path).unwrap();
    assert!(client.end.reload(ends.section()).unwrap().peers);
    // No root vouches for the server any more, so its ticket is not used.
    assert_eq!(client.ask(b"question 3").await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="handshake_failed"}"#, 1).await;
    fs::write(&path, root).unwrap();
    // A prepared reload is not in use yet.
    let prepared = client.end.prepare(ends.section()).unwrap();
    drop(prepared);
    assert!(client.ask(b"question 4").await.is_err());
    client.end.reload(ends.section()).unwrap();
    assert_eq!(client.ask(b"question 5").await.unwrap(), b"question 5");
    // A section that names another file: it is used from now on.
    let mut section = ends.section();
    fs::rename(&path, ends.files.path("other.pem")).unwrap();
    section.peers.ca = Some(Anchors::File(ends.files.path("other.pem")));
    client.end.reload(section.clone()).unwrap();
    client.end.reload(section).unwrap();
    assert_eq!(client.ask(b"question 6").await.unwrap(), b"question 6");
    assert_eq!(ends.metric(r#"reloads_total{result="reloaded"}"#), 4);
    assert_eq!(ends.metric(r#"reloads_total{result="failed"}"#), 1);
}

#[tokio::test]
async fn a_connection_whose_server_is_not_trusted_any_more_carries_nothing() {
    let ends = Ends::new(Application::Echo).await;
    let client = ends.start(&ends.section());
    let mut program = client.connect().await;
    let mut answer = [0; 8];
    program.write_all(b"question").await.unwrap();
    program.read_exact(&mut answer).await.unwrap();
    // Unchanged files replace nothing.
    client.end.reload(ends.section()).unwrap();
    program.write_all(b"question").await.unwrap();
    program.read_exact(&mut answer).await.unwrap();
    let other = Ends::new(Application::Echo).await;
    fs::copy(other.files.path("ca.pem"), ends.files.path("ca.pem")).unwrap();
    assert!(client.end.reload(ends.section()).unwrap().peers);
    program.write_all(b"question").await.unwrap();
    assert_eq!(program.read(&mut answer).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    ends.until(r#"connections_total{outcome="cut"}"#, 1).await;
    assert_eq!(ends.server.ended(1).await, [later(b"questionquestion")]);
}

#[tokio::test]
async fn many_programs_at_a_time_get_their_own_answers() {
    let ends = Ends::new(Application::Echo).await;
    let client = Arc::new(ends.start(&ends.section()));
    for round in 0..3 {
        let programs: JoinSet<_> = (0..40)
            .map(|number| {
                let client = client.clone();
                async move {
                    // Of various lengths, up to more than a ticket's early data.
                    let question = format!("{round}/{number},").repeat(1 + number * number * 5);
                    let mut program = client.connect().await;
                    let (mut reader, mut writer) = program.split();
                    let writing = async {
                        writer.write_all(question.as_bytes()).await.unwrap();
                        writer.shutdown().await.unwrap();
                    };
                    let mut answer = String::new();
                    let (read, ()) = tokio::join!(reader.read_to_string(&mut answer), writing);
                    read.unwrap();
                    assert!(answer == question, "{round}/{number}");
                }
            })
            .collect();
        programs.join_all().await;
    }
    ends.until(r#"connections_total{outcome="completed"}"#, 120).await;
    let early = ends.metric(r#"early_data_total{verdict="accepted"}"#);
    assert!(early >= 80, "{early}");
    assert_eq!(ends.metric("sent_bytes_total"), ends.metric("received_bytes_total"));
}
