//! Proxies that end.

use std::time::Duration;

use tessera_proxy::process::RunningProduct;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::world::{World, connect, read_until, until};
use crate::demo::{ORIGIN, proxy};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_ends_owns_its_clients_until_their_requests_have_ended() {
    let more = "state = \"/state\"\n[clients]\nnamed-by = \"certificate\"\nca = \"clients.pem\"\n";
    let world = World::start(&["a", "b"], more).await;
    world.client(Some("drone.example")).get("/").await;
    let name = world.only_client().await;
    until("b knows", || world.edge("b").table.binding(&name).is_some()).await;
    let mut hanging = connect(&world, "a", "drone.example").await;
    let request =
        |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {ORIGIN}\r\nConnection: close\r\n\r\n");
    hanging.write_all(request("/hang").as_bytes()).await.unwrap();
    let executed = |end: &str| world.executed_at("a").iter().any(|line| line.ends_with(end));
    until("it is executed", || executed("/hang")).await;
    let a = &world.proxies["a"];
    let (running, address) = (a.running.clone(), a.address);
    let ending = tokio::spawn(async move { running.end().await });
    let refuses = async {
        while TcpStream::connect(address).await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), refuses).await.expect("it accepts no client any more");
    let mut other = connect(&world, "b", "drone.example").await;
    other.write_all(request("/late").as_bytes()).await.unwrap();
    let answer = read_until(&mut other, "\r\n\r\n2").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(executed("/late"), "another proxy took its client over before it was done");
    drop(hanging);
    ending.await.unwrap().unwrap();
    until("it has left", || world.table.proxy(&proxy("a")).is_none()).await;
    let left = world.edge("a").metrics.left();
    assert_eq!(left, 1, "it wasn't drained");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_without_its_lease_is_not_ready() {
    let world = World::start(&["a"], "").await;
    let health = &world.proxies["a"].health;
    until("it is ready", || health.is_ready()).await;
    world.edge("a").lease.leave().await.unwrap();
    until("it isn't ready", || !health.is_ready()).await;
    assert!(health.reasons()[0].starts_with("pool: no lease: "), "{:?}", health.reasons());
}
