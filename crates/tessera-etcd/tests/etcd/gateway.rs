//! A store in a file, served to the client of etcd by the gateway.

use std::fs::DirBuilder;
use std::future::ready;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tessera::ServerConfig;
use tessera::handshake::ClientAuthentication;
use tessera_aws_lc::provider;
use tessera_etcd::{EtcdClient, Transport, gateway};
use tessera_store::contract::{commit, get, put, read};
use tessera_store::{
    ChangedEntry, FileStore, LeaseId, Pending, Revision, Snapshot, Store, StoreError, Transaction,
    Watch, contract,
};
use tessera_test_peers::Directory;
use tessera_tokio::{Acceptor, Connector};
use tessera_webpki::WebPkiVerifier;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use crate::common::authority::{Authority, SERVER};
use crate::common::{DEADLINE, client, runtime};

/// A gateway on a port of its own.
struct Served {
    endpoint: String,
    /// How each connection ended.
    ends: mpsc::UnboundedReceiver<std::io::Result<()>>,
}

async fn serve(store: Arc<dyn Store>) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    let (ended, ends) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            socket.set_nodelay(true).unwrap();
            let (store, ended) = (store.clone(), ended.clone());
            tokio::spawn(async move { ended.send(gateway::serve(store, socket).await) });
        }
    });
    Served { endpoint, ends }
}

impl Served {
    fn client(&self) -> EtcdClient {
        client(vec![self.endpoint.clone()], DEADLINE)
    }

    /// Sends a request, and returns the status and the answer.
    async fn ask(&self, method: &str, path: &str, body: &[u8]) -> (u16, Value) {
        let (endpoint, body) = (self.endpoint.clone(), body.to_vec());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let asked = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(endpoint).unwrap();
            // It may be refused before it has arrived.
            let _ = stream.write_all(&[head.as_bytes(), &body].concat());
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            answer
        });
        let answer = asked.await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }
}

/// A file that is removed with its directory.
fn file() -> (Directory, PathBuf) {
    let directory = Directory::new_in(&std::env::temp_dir()).unwrap();
    // Peers may write to the other.
    let private = directory.as_path().join("private");
    DirBuilder::new().mode(0o700).create(&private).unwrap();
    (directory, private.join("store"))
}

#[test]
fn a_store_behind_the_gateway_keeps_the_contract() {
    let (_directory, path) = file();
    runtime().block_on(async {
        let served = serve(Arc::new(FileStore::open(&path).unwrap())).await;
        contract::store(|| -> Arc<dyn Store> { Arc::new(served.client()) }).await;
    });
}

/// Both ways lead to one store.
#[test]
fn clients_on_other_machines_see_what_the_owner_of_the_store_sees() {
    let (_directory, path) = file();
    runtime().block_on(async {
        let store: Arc<dyn Store> = Arc::new(FileStore::open(&path).unwrap());
        let served = serve(store.clone()).await;
        let client = served.client();
        let mut watch = client.watch(b"a", Revision(0)).await.unwrap();
        let revision = commit(&*store, vec![put(b"a", b"1")]).await;
        assert_eq!(watch.next().await.unwrap()[0].revision(), revision);
        assert_eq!(get(&client, b"a").await, get(&*store, b"a").await);
        assert_eq!(read(&client, b"").await, read(&*store, b"").await);
        // Many entries, each of the largest value.
        for number in 0..15 {
            commit(&client, vec![put(&[b'b', number], &[7; 1024 * 1024])]).await;
        }
        assert_eq!(read(&client, b"").await.entries.len(), 16);
        let full =
            Transaction { changes: vec![put(b"c", &[7; 1024 * 1024])], ..Transaction::default() };
        let refused = client.commit(full).await;
        assert!(
            matches!(&refused, Err(StoreError::Refused(why)) if why.contains("the store is full")),
            "{refused:?}"
        );
    });
}

#[test]
fn a_request_that_the_gateway_does_not_know_is_refused() {
    let (_directory, path) = file();
    runtime().block_on(async {
        let store: Arc<dyn Store> = Arc::new(FileStore::open(&path).unwrap());
        let served = serve(store.clone()).await;
        let txn = |compare: Value, op: Value| json!({ "compare": [compare], "success": [op] });
        let absent =
            json!({ "key": "YQ==", "target": "CREATE", "result": "EQUAL", "create_revision": "0" });
        let with = |field: &str, value: &str| {
            let mut compare = absent.clone();
            compare[field] = value.into();
            compare
        };
        let set = json!({ "request_put": { "key": "YQ==", "value": "YQ==" } });
        let bad = [
            ("/v3/kv/range", json!({ "key": "%" }), 400, "base64"),
            ("/v3/kv/range", json!({}), 400, "missing field `key`"),
            (
                "/v3/kv/range",
                json!({ "key": "YQ==", "keys_only": true }),
                400,
                "unknown field `keys_only`",
            ),
            (
                "/v3/kv/range",
                json!({ "key": "YQ==", "range_end": "eg==" }),
                501,
                "neither a key nor a prefix",
            ),
            ("/v3/kv/txn", json!([1]), 400, "invalid"),
            (
                "/v3/kv/txn",
                json!({ "success": [{ "request_txn": {} }] }),
                400,
                "unknown variant `request_txn`",
            ),
            ("/v3/kv/txn", json!({ "success": [set, set] }), 400, "two changes of the key a"),
            ("/v3/kv/txn", json!({ "success": [set], "failure": [set] }), 501, "on failure"),
            ("/v3/kv/txn", txn(with("target", "VALUE"), set.clone()), 501, "VALUE EQUAL"),
            ("/v3/kv/txn", txn(with("result", "GREATER"), set.clone()), 501, "CREATE GREATER"),
            ("/v3/kv/txn", txn(with("create_revision", "7"), set.clone()), 501, "CREATE EQUAL"),
            ("/v3/kv/txn", txn(with("range_end", "Yg=="), set.clone()), 501, "CREATE EQUAL"),
            ("/v3/kv/txn", txn(with("mod_revision", "7"), set.clone()), 501, "CREATE EQUAL"),
            ("/v3/kv/txn", txn(with("version", "7"), set.clone()), 400, "unknown field `version`"),
            (
                "/v3/kv/txn",
                txn(
                    absent.clone(),
                    json!({ "request_delete_range": { "key": "YQ==", "prev_kv": true } }),
                ),
                501,
                "value of a deleted key",
            ),
            (
                "/v3/kv/txn",
                txn(
                    absent.clone(),
                    json!({ "request_delete_range": { "key": "YQ==", "range_end": "Yg==" } }),
                ),
                400,
                "unknown field `range_end`",
            ),
            ("/v3/lease/grant", json!({ "TTL": "0" }), 400, "at least 1"),
            ("/v3/lease/grant", json!({ "TTL": "5", "ID": "7" }), 400, "unknown field `ID`"),
            ("/v3/lease/keepalive", json!({}), 400, "missing field `ID`"),
            (
                "/v3/watch",
                json!({ "create_request": { "key": "YQ==", "start_revision": "0" } }),
                400,
                "at least 1",
            ),
            (
                "/v3/watch",
                json!({ "create_request": { "key": "YQ==", "start_revision": "99" } }),
                400,
                "older copy",
            ),
            ("/v3/watch", json!({ "cancel_request": {} }), 400, "unknown field `cancel_request`"),
            ("/v3/kv/put", json!({ "key": "YQ==" }), 404, "/v3/kv/put is not served"),
            ("/v3/maintenance/snapshot", json!({}), 404, "not served"),
            ("/", json!({}), 404, "not served"),
        ];
        for (path, body, status, text) in bad {
            let (answered, answer) = served.ask("POST", path, body.to_string().as_bytes()).await;
            let message = answer["message"].as_str().unwrap_or_default();
            assert!(
                answered == status && message.contains(text),
                "{path} {body}: {answered} {answer}"
            );
            // The client takes it for one without an effect.
            assert!([3, 9, 12].contains(&answer["code"].as_u64().unwrap()), "{answer}");
        }
        for (method, body, status) in
            [("GET", &b""[..], 405), ("POST", b"{", 400), ("POST", &vec![b' '; 3 << 20], 413)]
        {
            let (answered, answer) = served.ask(method, "/v3/kv/range", body).await;
            assert_eq!(answered, status, "{answer}");
            assert!(!answer["message"].as_str().unwrap_or_default().is_empty());
        }
        assert_eq!(read(&*store, b"").await, Snapshot::default(), "none had an effect");

        // As etcd has them.
        let (_, answer) = served.ask("POST", "/v3/lease/grant", br#"{"TTL":"60"}"#).await;
        let lease = json!({ "ID": answer["ID"] }).to_string();
        let (_, kept) = served.ask("POST", "/v3/lease/keepalive", lease.as_bytes()).await;
        assert!(kept["result"]["TTL"].is_string(), "{kept}");
        for path in ["/v3/lease/revoke", "/v3/kv/lease/revoke"] {
            assert_eq!(served.ask("POST", path, lease.as_bytes()).await.0, 200);
        }
        let (_, ended) = served.ask("POST", "/v3/lease/keepalive", lease.as_bytes()).await;
        assert!(ended["result"].is_object() && ended["result"]["TTL"].is_null(), "{ended}");
    });
}

/// A watch that its client has left would otherwise wait for the next change, which may be far.
#[test]
fn a_client_that_leaves_ends_its_watch() {
    let (_directory, path) = file();
    runtime().block_on(async {
        let mut served = serve(Arc::new(FileStore::open(&path).unwrap())).await;
        let client = served.client();
        let watch = client.watch(b"a", Revision(0)).await.unwrap();
        assert!(timeout(Duration::from_millis(300), served.ends.recv()).await.is_err());
        drop(watch);
        let end = timeout(Duration::from_secs(5), served.ends.recv()).await;
        assert!(end.is_ok(), "the connection is still served");
    });
}

/// On a clock that jumps to the next timer.
#[tokio::test(start_paused = true)]
async fn a_slow_client_loses_its_connection() {
    let whole = "POST /v3/kv/range HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{";
    for (sent, answer) in [
        ("", None),
        ("POST /v3/kv/ra", None),
        (&whole[..whole.len() - 3], None),
        (whole, Some("HTTP/1.1 408")),
    ] {
        let store: Arc<dyn Store> = Arc::new(FailingStore(StoreError::NotSent(String::new())));
        let (mut ours, theirs) = duplex(4096);
        let began = Instant::now();
        let served = tokio::spawn(gateway::serve(store, theirs));
        ours.write_all(sent.as_bytes()).await.unwrap();
        let mut received = String::new();
        let end = timeout(Duration::from_secs(60), ours.read_to_string(&mut received)).await;
        assert!(end.is_ok(), "{sent:?} keeps the connection");
        let waited = began.elapsed().as_secs();
        assert!((10..=20).contains(&waited), "{sent:?}: {waited} s");
        match answer {
            Some(answer) => assert!(received.starts_with(answer), "{sent:?}: {received}"),
            None => assert!(received.is_empty() || received.contains(" 408 "), "{received}"),
        }
        let _ = served.await.unwrap();
    }
}

/// The caller authenticates the clients: one without a certificate reaches no store.
#[test]
fn members_of_a_site_reach_the_store_over_mutual_tls() {
    let (_directory, path) = file();
    let authority = Authority::new();
    let members = Arc::new(WebPkiVerifier::new(&[authority.root.der()]).unwrap());
    let mut config = ServerConfig::new(provider(), vec![authority.credential(SERVER)]);
    config.client_authentication = ClientAuthentication::Required(members);
    let acceptor = Acceptor::new(config.checked().unwrap());
    let member = |credentials| {
        let mut config = authority.client();
        config.credentials = credentials;
        let connector = Connector::new(config.checked().unwrap());
        Transport::Tls { connector, server_name: SERVER.into() }
    };
    runtime().block_on(async {
        let store: Arc<dyn Store> = Arc::new(FileStore::open(&path).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, store) = (acceptor.clone(), store.clone());
                tokio::spawn(
                    async move { gateway::serve(store, acceptor.accept(socket).await?).await },
                );
            }
        });
        let client =
            |credentials| EtcdClient::new(vec![endpoint.clone()], member(credentials), DEADLINE);
        let ours = client(vec![authority.credential("member.example")]);
        let mut watch = ours.watch(b"a", Revision(0)).await.unwrap();
        let revision = commit(&ours, vec![put(b"a", &[7; 1024 * 1024])]).await;
        assert_eq!(watch.next().await.unwrap()[0].revision(), revision);
        assert!(client(Vec::new()).read(b"a").await.is_err());
    });
}

/// Fails each request.
struct FailingStore(StoreError);

impl FailingStore {
    fn fail<T: Send + 'static>(&self) -> Pending<'_, T> {
        Box::pin(ready(Err(self.0.clone())))
    }
}

impl Store for FailingStore {
    fn read<'a>(&'a self, _: &'a [u8]) -> Pending<'a, Snapshot> {
        self.fail()
    }

    fn commit(&self, _: Transaction) -> Pending<'_, Option<Revision>> {
        self.fail()
    }

    fn grant(&self, _: Duration) -> Pending<'_, LeaseId> {
        self.fail()
    }

    fn keep_alive<'a>(&'a self, _: &'a LeaseId) -> Pending<'a, bool> {
        self.fail()
    }

    fn revoke<'a>(&'a self, _: &'a LeaseId) -> Pending<'a, ()> {
        self.fail()
    }

    fn watch<'a>(&'a self, _: &'a [u8], _: Revision) -> Pending<'a, Box<dyn Watch>> {
        let watch = FailingWatch(self.0.clone());
        Box::pin(ready(Ok(Box::new(watch) as Box<dyn Watch>)))
    }
}

/// Begins, and fails.
struct FailingWatch(StoreError);

impl Watch for FailingWatch {
    fn next(&mut self) -> Pending<'_, Vec<ChangedEntry>> {
        Box::pin(ready(Err(self.0.clone())))
    }
}

/// A failure without an effect may be reported as one with an unknown effect, but never the other way round.
#[test]
fn errors_of_a_store_pass_the_gateway() {
    runtime().block_on(async {
        let unknown = |error: &StoreError| matches!(error, StoreError::Unknown(_));
        let refused = |error: &StoreError| matches!(error, StoreError::Refused(_));
        type Expectation = fn(&StoreError) -> bool;
        let cases: [(StoreError, Expectation); 3] = [
            (StoreError::Unknown("the disk hangs".into()), unknown),
            (StoreError::NotSent("the disk hangs".into()), unknown),
            (StoreError::Refused("the disk hangs".into()), refused),
        ];
        for (error, expected) in cases {
            let served = serve(Arc::new(FailingStore(error.clone()))).await;
            let client = served.client();
            let lease = LeaseId("7".into());
            let store: &dyn Store = &client;
            let mut watch = store.watch(b"a", Revision(0)).await.unwrap();
            let errors = [
                store.read(b"a").await.map(drop),
                store.commit(Transaction::default()).await.map(drop),
                store.grant(DEADLINE).await.map(drop),
                store.keep_alive(&lease).await.map(drop),
                store.revoke(&lease).await,
            ];
            for result in errors {
                let result = result.unwrap_err();
                assert!(expected(&result), "{error:?}: {result:?}");
                assert!(result.to_string().contains("the disk hangs"), "{result}");
            }
            let ended = watch.next().await.unwrap_err();
            assert!(ended.to_string().contains("the disk hangs"), "{ended}");
        }
    });
}
