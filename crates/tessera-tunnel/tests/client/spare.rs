//! Spare connections.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::ends::{Application, Ends};
use crate::later;

const FILLED: &str = r#"spare_events_total{event="filled"}"#;

#[tokio::test]
async fn a_program_gets_a_connection_whose_handshake_was_made_ahead() {
    let ends = Ends::new(Application::Echo).await;
    let mut section = ends.section();
    section.spare = 2;
    let client = ends.start(&section);
    ends.until(FILLED, 2).await;
    assert_eq!(ends.metric("spare_connections"), 2);
    for count in 1..=3 {
        assert_eq!(client.ask(b"question").await.unwrap(), b"question");
        ends.until(FILLED, 2 + count).await;
    }
    assert_eq!(ends.metric(r#"spare_events_total{event="used"}"#), 3);
    assert_eq!(ends.metric(r#"spare_events_total{event="missed"}"#), 0);
    ends.until(r#"connections_total{outcome="completed"}"#, 3).await;
    // There were tickets, and no early data was sent.
    assert!(ends.metric(r#"handshakes_total{kind="forward_secret"}"#) > 0);
    assert_eq!(ends.metric(r#"early_data_total{verdict="accepted"}"#), 0);
    assert_eq!(ends.server.ended(3).await, vec![later(b"question"); 3]);
    assert_eq!(ends.metric("sent_bytes_total"), 24);
}

#[tokio::test]
async fn a_program_gets_the_greeting_that_came_before_it() {
    let ends = Ends::new(Application::Greets).await;
    let mut section = ends.section();
    section.spare = 1;
    let client = ends.start(&section);
    ends.until(FILLED, 1).await;
    let mut program = client.connect().await;
    let mut greeting = [0; 5];
    program.read_exact(&mut greeting).await.unwrap();
    assert_eq!(&greeting, b"hello");
    program.write_all(b"question").await.unwrap();
    let mut answer = [0; 8];
    program.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"question");
    assert_eq!(ends.metric(r#"spare_events_total{event="used"}"#), 1);
    assert_eq!(ends.metric("received_bytes_total"), 13);
}

#[tokio::test]
async fn a_reload_replaces_spare_connections() {
    let ends = Ends::new(Application::Echo).await;
    let mut section = ends.section();
    section.spare = 2;
    let client = ends.start(&section);
    ends.until(FILLED, 2).await;
    client.end.reload(section).unwrap();
    ends.until(r#"spare_events_total{event="withdrawn"}"#, 2).await;
    ends.until(FILLED, 4).await;
    // They ended in order.
    assert_eq!(ends.server.ended(2).await, vec![later(b""); 2]);
    assert_eq!(client.ask(b"question").await.unwrap(), b"question");
}

#[tokio::test]
async fn while_the_server_is_away_there_are_none_and_then_there_are() {
    let mut ends = Ends::new(Application::Echo).await;
    let mut section = ends.section();
    section.spare = 1;
    let client = ends.start(&section);
    ends.until(FILLED, 1).await;
    ends.server.leave().await;
    ends.until(r#"spare_events_total{event="ended"}"#, 1).await;
    assert_eq!(ends.metric("spare_connections"), 0);
    assert!(client.ask(b"question").await.is_err());
    assert_eq!(ends.metric(r#"spare_events_total{event="missed"}"#), 1);
    ends.server.come_back().await;
    ends.until(FILLED, 2).await;
    assert_eq!(client.ask(b"question").await.unwrap(), b"question");
}

#[tokio::test]
async fn at_the_end_of_the_process_they_are_ended_in_order() {
    let ends = Ends::new(Application::Counts).await;
    let mut section = ends.section();
    section.spare = 2;
    let mut client = ends.start(&section);
    ends.until(FILLED, 2).await;
    client.stop().await;
    assert_eq!(ends.server.ended(2).await, vec![later(b""); 2]);
    assert_eq!(ends.metric("spare_connections"), 0);
}
