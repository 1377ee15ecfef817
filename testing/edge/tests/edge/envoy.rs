//! Envoy itself as a member, in a pool with a proxy of Tessera's: `make evidence-edge`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tessera::Destination;
use tessera::wire::NamedGroup;
use tessera_bindings::ClientName;
use tessera_edge_tests::{EnvoyMember, LONG, ORIGIN, Pool, PoolSettings};
use tessera_kit::credential;
use tessera_tokio::{Connector, MemorySessionStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::PROGRAM;

/// A client with a cookie and sessions, which goes where it is sent.
struct Visitor {
    connector: Connector,
    cookie: String,
    at: std::net::SocketAddr,
    group: NamedGroup,
}

struct Visit {
    /// Whether its session was resumed.
    resumed: bool,
    answer: String,
    /// Where the answer sends it.
    next: Option<std::net::SocketAddr>,
}

impl Visitor {
    fn new(pool: &Pool, at: std::net::SocketAddr, group: NamedGroup) -> Self {
        let mut config = pool.client_config(None);
        config.protocols = vec![b"http/1.1".to_vec()];
        config.groups = vec![group];
        let sessions = Arc::new(MemorySessionStore::default());
        let connector = Connector::new(config.checked().unwrap()).with_sessions(sessions);
        Self { connector, cookie: String::new(), at, group }
    }

    async fn visits(&mut self, path: &str) -> Visit {
        let socket = TcpStream::connect(self.at).await.unwrap();
        let destination = Destination { server_name: ORIGIN.into(), ..Destination::default() };
        let mut stream = self.connector.connect(destination, socket).await.unwrap();
        let facts = stream.facts();
        assert_eq!(facts.group, Some(self.group));
        let resumed = facts.psk.is_some();
        let cookie = &self.cookie;
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {ORIGIN}\r\nConnection: close\r\nContent-Length: 0\r\n\
             tessera-client: king\r\n{cookie}\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        // The end of the connection may lack its closure.
        let _ = stream.read_to_string(&mut answer).await;
        if let Some((_, rest)) = answer.split_once("tessera-client=") {
            let (secret, _) = rest.split_once(';').unwrap();
            self.cookie = format!("Cookie: tessera-client={secret}\r\n");
        }
        let announced = answer.split_once("alt-svc: h2=\"").and_then(|(_, it)| it.split_once('"'));
        Visit { resumed, next: announced.and_then(|(it, _)| it.parse().ok()), answer }
    }

    fn name(&self) -> ClientName {
        let secret = self.cookie.trim_end().split_once('=').unwrap().1;
        ClientName::new(format!("cookie:{}", credential::fingerprint(secret.as_bytes()))).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs ENVOY, the program"]
async fn a_client_moves_from_envoy_to_a_proxy_of_tesseras_and_back_with_its_session_and_state() {
    let pool = Pool::start(PoolSettings {
        proxies: &["a"],
        clients: PoolSettings::COOKIES,
        more: EnvoyMember::ENVOYS,
        ..PoolSettings::of(PROGRAM)
    })
    .await;
    let mut member = EnvoyMember::start(PROGRAM, &pool).await;
    let places = [member.address, pool.addresses[0]];
    let mut executed = 0;
    for group in [NamedGroup::X25519, NamedGroup::X25519MLKEM768] {
        // The ring has a key that both seal with.
        let deadline = Instant::now() + LONG;
        for (from, to) in [(0, 1), (1, 0)] {
            loop {
                let mut visitor = Visitor::new(&pool, places[from], group);
                visitor.visits("/web").await;
                visitor.at = places[to];
                if visitor.visits("/web").await.resumed {
                    break;
                }
                assert!(Instant::now() < deadline, "no ticket crosses:\n{}", member.log());
                sleep(Duration::from_millis(50)).await;
            }
        }
        let mut visitor = Visitor::new(&pool, member.address, group);
        let first = visitor.visits("/web").await;
        assert!(!first.resumed && first.answer.contains("200 OK"), "{}", first.answer);
        let mut at = "e";
        for number in 0..3 {
            executed += 1;
            let visit = visitor.visits(&format!("/cart/{group:?}/{number}")).await;
            assert!(visit.resumed && visit.answer.contains("x-at: e"), "{}", visit.answer);
            assert_eq!(visit.next, Some(member.address));
        }
        let seen = format!("cookie%3A{}", String::from_utf8_lossy(&visitor.name().as_bytes()[7..]));
        member.instance.plant(&seen, "its state");
        for (to, place) in [("a", places[1]), ("e", places[0]), ("a", places[1])] {
            pool.announce(&visitor.name(), to).await;
            executed += 1;
            let visit = visitor.visits(&format!("/cart/{group:?}/{executed}")).await;
            assert!(visit.answer.contains(&format!("x-at: {at}")), "{}", visit.answer);
            assert_eq!(visit.next, Some(place), "{}", visit.answer);
            visitor.at = place;
            for _ in 0..2 {
                executed += 1;
                let visit = visitor.visits(&format!("/cart/{group:?}/{executed}")).await;
                assert!(visit.resumed, "from {at} to {to} with {group:?}");
                assert!(visit.answer.contains(&format!("x-at: {to}")), "{}", visit.answer);
            }
            // Through the other member, which forwards one hop.
            visitor.at = if place == places[0] { places[1] } else { places[0] };
            executed += 1;
            let visit = visitor.visits(&format!("/cart/{group:?}/{executed}")).await;
            assert!(
                visit.resumed && visit.answer.contains(&format!("x-at: {to}")),
                "{}",
                visit.answer
            );
            assert_eq!(visit.next, Some(place), "{}", visit.answer);
            visitor.at = place;
            pool.is_settled_at(&visitor.name(), to).await;
            sleep(Duration::from_secs(1)).await;
            at = to;
        }
        let instances = [&member.instance, &pool.instances[0]];
        let held = instances.map(|it| it.planted(&seen));
        assert_eq!(held.map(|it| it == "its state"), [true, true], "its state moved along");
        let visits = pool.executions.all();
        let own = visits.iter().filter(|it| it.client == seen).count() as u64;
        assert_eq!(pool.instances[0].count(&seen), own, "no change of it was lost");
        println!(
            "Envoy -> Tessera -> Envoy -> Tessera with {group:?}: resumed each time, {own} requests executed once"
        );
    }
    let carts: Vec<_> =
        pool.executions.all().into_iter().filter(|it| it.path.starts_with("/cart")).collect();
    assert_eq!(carts.len(), executed);
    assert!(carts.iter().all(|it| it.client.starts_with("cookie%3A")), "{carts:?}");
    // Without `tessera edge`, it isn't known whose a client is.
    member.kill_edge();
    let mut visitor = Visitor::new(&pool, member.address, NamedGroup::X25519);
    let visit = visitor.visits("/web").await;
    assert!(visit.answer.starts_with("HTTP/1.1 503 "), "{}", visit.answer);
}
