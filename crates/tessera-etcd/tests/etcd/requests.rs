//! Requests to members that misbehave: each is sent once, ends in time, and no answer does harm.

use std::io::BufReader;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::http::{answer, read_request};
use crate::common::{BlockingVault, client, runtime};
use tessera::handshake::Reply;
use tessera::resume::{Absence, TakeAnswer, TakePurpose, Vault};
use tessera_etcd::{StoreError, VaultOptions};
use tessera_store::{Change, Store, Transaction};
use tessera_vault::contract::{NOW, handle, put, question};

/// What a member does with a transaction.
#[derive(Clone, Debug)]
enum Behaviour {
    Answers(u16, Vec<u8>),
    /// Answers, and then closes the connection silently.
    AnswersAndCloses(Vec<u8>),
    /// Closes the connection after the request.
    Closes,
    /// Keeps the connection open without an answer.
    Hangs,
}

/// A fake member that counts transactions.
struct Member {
    port: u16,
    does: Arc<Mutex<Behaviour>>,
    transactions: Arc<AtomicUsize>,
    connections: Arc<AtomicUsize>,
}

impl Member {
    fn start(does: Behaviour) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (does, transactions) = (Arc::new(Mutex::new(does)), Arc::new(AtomicUsize::new(0)));
        let connections = Arc::new(AtomicUsize::new(0));
        let member = Self {
            port,
            does: does.clone(),
            transactions: transactions.clone(),
            connections: connections.clone(),
        };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::Relaxed);
                let (does, transactions) = (does.clone(), transactions.clone());
                thread::spawn(move || serve(&stream, &does, &transactions));
            }
        });
        member
    }

    fn endpoint(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn now_does(&self, does: Behaviour) {
        *self.does.lock().unwrap() = does;
    }

    fn transactions(&self) -> usize {
        self.transactions.load(Ordering::Relaxed)
    }
}

fn serve(stream: &TcpStream, does: &Mutex<Behaviour>, transactions: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let request = read_request(&mut reader)?;
        if request.path != "/v3/kv/txn" {
            let body: &[u8] = match request.path.as_str() {
                "/v3/lease/grant" => br#"{"ID":"1","TTL":"4200"}"#,
                _ => b"{}",
            };
            answer(stream, 200, body)?;
            continue;
        }
        transactions.fetch_add(1, Ordering::Relaxed);
        let does = does.lock().ok()?.clone();
        match does {
            Behaviour::Answers(status, body) => answer(stream, status, &body)?,
            Behaviour::AnswersAndCloses(body) => return answer(stream, 200, &body),
            Behaviour::Closes => return None,
            Behaviour::Hangs => thread::sleep(Duration::from_secs(60)),
        }
    }
}

const DEADLINE: Duration = Duration::from_millis(800);

#[test]
fn many_requests_share_a_few_connections_and_delay_no_lease() {
    let member = Member::start(Behaviour::Hangs);
    let (runtime, etcd) = (runtime(), client(vec![member.endpoint()], DEADLINE));
    let put = |number: usize| Change::Put {
        key: format!("/few/{number}").into_bytes(),
        value: Vec::new(),
        lease: None,
    };
    runtime.block_on(async {
        let commits: Vec<_> = (0..40)
            .map(|number| {
                let (etcd, changes) = (etcd.clone(), vec![put(number)]);
                let transaction = Transaction { conditions: Vec::new(), changes };
                tokio::spawn(async move { etcd.commit(transaction).await.unwrap_err() })
            })
            .collect();
        while member.transactions() < 16 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        etcd.grant(Duration::from_secs(5)).await.unwrap();
        assert_eq!(member.transactions(), 16);
        let mut unsent = 0;
        for commit in commits {
            unsent += usize::from(matches!(commit.await.unwrap(), StoreError::NotSent(_)));
        }
        // How many get the place of one that gave up, with time left, depends on the machine.
        assert!(unsent > 0, "those that wait were not sent");
    });
    // Another member answers.
    let body = br#"{"header":{"revision":"7"},"succeeded":true}"#;
    let member = Member::start(Behaviour::Answers(200, body.to_vec()));
    let etcd = client(vec![member.endpoint()], 20 * DEADLINE);
    runtime.block_on(async {
        let commits: Vec<_> = (0..200)
            .map(|number| {
                let (etcd, changes) = (etcd.clone(), vec![put(number)]);
                let transaction = Transaction { conditions: Vec::new(), changes };
                tokio::spawn(async move { etcd.commit(transaction).await.unwrap() })
            })
            .collect();
        for commit in commits {
            commit.await.unwrap();
        }
    });
    assert_eq!(member.transactions(), 200);
    assert!(member.connections.load(Ordering::Relaxed) <= 16);
}

/// etcd's answer to a take of an absent secret.
const ABSENT: &[u8] = br#"{"responses":[{"response_range":{"header":{}}}]}"#;

fn vault(members: Vec<String>) -> BlockingVault {
    BlockingVault::new(&runtime(), client(members, DEADLINE), VaultOptions::new("/fake/"))
}

fn take(vault: &BlockingVault) -> TakeAnswer {
    take_for(TakePurpose::Accept, vault)
}

/// Takes to burn, where nothing exists: this doesn't wait for puts.
fn take_to_burn(vault: &BlockingVault) -> TakeAnswer {
    take_for(TakePurpose::Burn, vault)
}

fn take_for(purpose: TakePurpose, vault: &BlockingVault) -> TakeAnswer {
    match vault.take(&question(1, purpose, Some(NOW))) {
        Reply::Now(taken) => taken,
        Reply::Later => unreachable!("it waits"),
    }
}

fn is_absent(taken: &TakeAnswer) -> bool {
    matches!(taken, TakeAnswer::Absent(Absence::Unknown))
}

#[test]
fn a_member_of_etcd_that_is_not_there_is_skipped() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let member = Member::start(Behaviour::Answers(200, ABSENT.to_vec()));
    let vault = vault(vec![gone, member.endpoint()]);
    assert!(is_absent(&take_to_burn(&vault)));
    assert_eq!(member.transactions(), 1);
}

#[test]
fn a_request_that_may_have_left_is_not_sent_again() {
    for does in [Behaviour::Closes, Behaviour::Hangs, Behaviour::Answers(500, b"{}".to_vec())] {
        let members = [Member::start(does.clone()), Member::start(does.clone())];
        let vault = vault(members.iter().map(Member::endpoint).collect());
        let began = Instant::now();
        assert!(matches!(take(&vault), TakeAnswer::Unavailable), "{does:?}");
        assert!(began.elapsed() < DEADLINE * 2, "{does:?}");
        let sent: usize = members.iter().map(Member::transactions).sum();
        assert_eq!(sent, 1, "{does:?}");
        // The next request goes to the other member. A put is not repeated either.
        assert!(!put(&vault, 2));
        let sent: Vec<_> = members.iter().map(Member::transactions).collect();
        assert_eq!(sent, [1, 1], "{does:?}");
    }
}

#[test]
fn an_idle_connection_that_etcd_closed_costs_no_request() {
    let member = Member::start(Behaviour::AnswersAndCloses(ABSENT.to_vec()));
    let vault = vault(vec![member.endpoint()]);
    for round in 1..10 {
        assert!(is_absent(&take_to_burn(&vault)));
        assert_eq!(member.transactions(), round);
        // Until this end has noticed that the other is closed.
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_answer_of_etcd_that_makes_no_sense_is_an_error() {
    let member = Member::start(Behaviour::Hangs);
    let vault = vault(vec![member.endpoint()]);
    let deleted = |value: &str| {
        let kv = format!(r#"{{"key":"a","value":"{value}"}}"#);
        format!(
            r#"{{"succeeded":true,"responses":[{{"response_delete_range":{{"prev_kvs":[{kv}]}}}}]}}"#
        )
    };
    let answers = [
        String::new(),
        "{".into(),
        "[]".into(),
        "{}".into(),
        r#"{"succeeded":true}"#.into(),
        r#"{"succeeded":true,"responses":[{}]}"#.into(),
        r#"{"succeeded":true,"responses":[{"response_delete_range":{}}]}"#.into(),
        r#"{"succeeded":"yes","responses":7}"#.into(),
        // Not base64; too short; wrapped under another key.
        deleted("%%%"),
        deleted("AAAA"),
        deleted(&"A".repeat(400)),
        // Larger than any answer.
        format!(r#"{{"succeeded":false,"x":"{}"}}"#, "x".repeat(9 * 1024 * 1024)),
    ];
    for body in answers {
        member.now_does(Behaviour::Answers(200, body.clone().into_bytes()));
        let start = &body[..body.len().min(80)];
        match take(&vault) {
            TakeAnswer::Unavailable | TakeAnswer::Absent(Absence::Unknown) => (),
            other => unreachable!("{start}: {other:?}"),
        }
    }
}

/// Error messages of a member go into logs, so they are limited.
#[test]
fn an_error_message_of_etcd_is_shortened() {
    let member = Member::start(Behaviour::Answers(500, vec![b'x'; 100_000]));
    let vault = vault(vec![member.endpoint()]);
    let burned = runtime().block_on(vault.vault().burn_now(&handle(1)));
    let told = burned.unwrap_err().to_string();
    assert!(told.contains("xxx") && told.len() < 500, "{}", told.len());
}

#[test]
fn the_longest_deadline_of_an_etcd_client_does_not_overflow() {
    let member = Member::start(Behaviour::Answers(200, ABSENT.to_vec()));
    let client = client(vec![member.endpoint()], Duration::MAX);
    assert!(is_absent(&take(&BlockingVault::new(&runtime(), client, VaultOptions::new("/fake/")))));
}
