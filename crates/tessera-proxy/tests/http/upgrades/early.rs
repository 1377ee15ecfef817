//! Upgrades in early data.

use std::sync::Arc;
use std::time::Duration;

use tessera_proxy::http::server::{Early, ServerOptions};
use tokio::io::AsyncReadExt;

use super::service::{UPGRADE, options};
use crate::http_server::early::forward_secret;

#[tokio::test]
async fn an_upgrade_is_never_early() {
    for rule in [Early::Process, Early::Wait] {
        let options = ServerOptions { early: Arc::new(move |_| rule), ..options() };
        let ends = forward_secret(b"http/1.1").await;
        let early = format!("{UPGRADE}GET /smuggled HTTP/1.1\r\nhost: a\r\n\r\n");
        let (mut client, served) = ends.begin(early.as_bytes(), options).await;
        let mut answer = String::new();
        let read = client.read_to_string(&mut answer);
        tokio::time::timeout(Duration::from_secs(20), read).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 425") && answer.ends_with("\r\n\r\n"), "{answer}");
        drop(client);
        assert_eq!(served.ended().await.requests, 1);
    }
}
