//! Home sites that are dead, hang, reset, lie, or are impostors: requests fail, and never get a wrong answer.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{
    AWAY, Authority, HOME, Home, acceptor, burn, channel, connector, home_at, impatient, patient,
    request, server, until,
};
use tessera::auth::Credential;
use tessera_sites::{KnownSites, SiteProof, TlsSiteChannel};
use tessera_tokio::{Acceptor, ServerStream};
use tessera_vault::{Acknowledgement, SiteChannel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

type Stream = ServerStream<TcpStream>;

/// Starts a server that treats each connection as the test decides; counts them.
async fn home<F: Future<Output = ()> + Send>(
    acceptor: Acceptor,
    handle: impl Fn(usize, Stream) -> F + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            if let Ok(stream) = acceptor.accept(socket).await {
                handle(counted.fetch_add(1, Ordering::SeqCst), stream).await;
            }
        }
    });
    (address, connections)
}

/// Returns the kind and the id of the next request.
async fn asked(stream: &mut Stream) -> Option<(u8, u64)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    if head[0] == 1 {
        stream.read_exact(&mut [0; 56]).await.ok()?;
    }
    Some((head[0], u64::from_be_bytes(head[1..].try_into().unwrap())))
}

fn acknowledgement(id: u64, outcome: u8) -> Vec<u8> {
    [&[1][..], &id.to_be_bytes(), &[outcome], &[0; 8]].concat()
}

fn answer(kind: u8, id: u64) -> Vec<u8> {
    if kind == 1 { acknowledgement(id, 0) } else { [&[2][..], &id.to_be_bytes()].concat() }
}

fn good(authority: &Authority) -> Acceptor {
    acceptor(authority, authority.credential(HOME))
}

/// Returns how many requests failed: at their deadline, or at once because the site was away for long.
fn without_answer(channel: &TlsSiteChannel) -> u64 {
    channel.counts().timed_out + channel.counts().refused
}

#[tokio::test]
async fn a_home_that_is_unreachable_yields_no_answer() {
    let authority = Authority::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let channel = channel(&authority, address, impatient());
    assert_eq!(burn(&channel, 1).await, None);
    assert_eq!(without_answer(&channel), 1);
    until(|| channel.counts().failures > 1).await;
}

#[tokio::test]
async fn a_home_that_accepts_and_hangs_is_given_up() {
    let authority = Authority::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let channel = channel(&authority, listener.local_addr().unwrap(), impatient());
    assert_eq!(burn(&channel, 1).await, None);
    assert_eq!((without_answer(&channel), channel.counts().connections), (1, 0));
}

/// It reads and sends nothing: the connection is given up too, and requests go to the next one.
#[tokio::test]
async fn a_silent_connection_is_replaced_and_what_waits_is_asked_again() {
    let authority = Authority::new();
    let (address, connections) = home(good(&authority), async |number, mut stream| {
        while let Some((kind, id)) = asked(&mut stream).await {
            if number > 0 {
                stream.write_all(&answer(kind, id)).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    })
    .await;
    let mut limits = impatient();
    limits.deadline = Duration::from_millis(200);
    let channel = channel(&authority, address, limits);
    assert_eq!(burn(&channel, 1).await, None);
    let mut answer = None;
    while answer.is_none() {
        answer = burn(&channel, 1).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(answer, Some(Acknowledgement::Burned));
    assert!(connections.load(Ordering::SeqCst) >= 2);
}

/// Various answers, and what becomes of their request.
#[tokio::test]
async fn an_answer_counts_only_for_the_request_that_it_answers() {
    let authority = Authority::new();
    // The first connections are wrong, each in a different way, and the last is right.
    let (address, connections) = home(good(&authority), async |number, mut stream| {
        loop {
            let Some((kind, id)) = asked(&mut stream).await else { return };
            let wrong = match number {
                0 => acknowledgement(id + 1000, 0),
                1 => acknowledgement(u64::MAX, 0),
                2 => acknowledgement(id, 4),
                3 => vec![9; 18],
                4 => [&[1][..], &id.to_be_bytes(), &[0], &[0, 0, 0, 0, 0, 0, 0, 1]].concat(),
                // In the middle of an answer.
                5 => {
                    stream.write_all(&acknowledgement(id, 0)[..17]).await.unwrap();
                    stream.shutdown().await.unwrap();
                    return;
                }
                // To another question.
                6 if kind == 1 => [&[5][..], &id.to_be_bytes(), &[1]].concat(),
                // Correct, and twice: the second answers no request.
                7 if kind == 1 => [acknowledgement(id, 1), acknowledgement(id, 0)].concat(),
                _ if kind == 1 => acknowledgement(id, 1),
                _ => answer(kind, id),
            };
            stream.write_all(&wrong).await.unwrap();
            stream.flush().await.unwrap();
        }
    })
    .await;
    let channel = channel(&authority, address, patient());
    assert_eq!(burn(&channel, 1).await, Some(Acknowledgement::Used));
    until(|| connections.load(Ordering::SeqCst) == 9).await;
    assert_eq!((channel.counts().answered, channel.counts().late), (1, 0));
}

/// Answers in another order, and one to a request that was given up.
#[tokio::test]
async fn answers_find_their_requests_in_any_order() {
    let authority = Authority::new();
    let (all_asked, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (home_asked, home_goes_on) = (all_asked.clone(), go_on.clone());
    let (address, _) = home(good(&authority), move |_, mut stream| {
        let (all_asked, go_on) = (home_asked.clone(), home_goes_on.clone());
        async move {
            let mut ids = Vec::new();
            while ids.len() < 3 {
                match asked(&mut stream).await {
                    Some((1, id)) => ids.push(id),
                    Some((kind, id)) => stream.write_all(&answer(kind, id)).await.unwrap(),
                    None => return,
                }
            }
            all_asked.notify_one();
            go_on.notified().await;
            for (outcome, id) in ids.into_iter().enumerate().rev() {
                stream.write_all(&acknowledgement(id, outcome as u8)).await.unwrap();
            }
            stream.flush().await.unwrap();
            stream.read_to_end(&mut Vec::new()).await.ok();
        }
    })
    .await;
    let channel = channel(&authority, address, patient());
    let [first, second, third] = [1, 2, 3].map(|number| channel.burn_at_home(&request(number)));
    all_asked.notified().await;
    drop(third);
    go_on.notify_one();
    assert_eq!(first.await, Some(Acknowledgement::Burned));
    assert_eq!(second.await, Some(Acknowledgement::Used));
    assert_eq!((channel.counts().answered, channel.counts().late), (2, 1));
}

/// Home sites end idle connections, and networks forget them; pings prevent both.
#[tokio::test]
async fn an_idle_connection_is_asked_whether_it_lives() {
    let authority = Authority::new();
    let pings = Arc::new(AtomicUsize::new(0));
    let counted = pings.clone();
    let (address, connections) = home(good(&authority), move |_, mut stream| {
        let counted = counted.clone();
        async move {
            while let Some((kind, id)) = asked(&mut stream).await {
                counted.fetch_add(usize::from(kind == 2), Ordering::SeqCst);
                stream.write_all(&answer(kind, id)).await.unwrap();
                stream.flush().await.unwrap();
            }
        }
    })
    .await;
    let mut limits = patient();
    limits.ping = Duration::from_millis(20);
    let channel = channel(&authority, address, limits);
    until(|| pings.load(Ordering::SeqCst) >= 5).await;
    assert_eq!(burn(&channel, 1).await, Some(Acknowledgement::Burned));
    assert_eq!((connections.load(Ordering::SeqCst), channel.counts().late), (1, 0));
}

#[tokio::test]
async fn a_home_that_resets_every_connection_is_tried_again_and_gives_no_answer() {
    let authority = Authority::new();
    let (address, connections) = home(good(&authority), async |_, mut stream| {
        let _ = asked(&mut stream).await;
        stream.get_ref().set_zero_linger().unwrap();
    })
    .await;
    let channel = channel(&authority, address, impatient());
    assert_eq!(burn(&channel, 1).await, None);
    until(|| connections.load(Ordering::SeqCst) > 1).await;
    assert_eq!(without_answer(&channel), 1);
}

/// A certificate for another name, one of another authority, one that has expired; and a server with the right name
/// that uses another protocol, or none.
#[tokio::test]
async fn a_home_with_another_identity_receives_nothing() {
    let authority = Authority::new();
    let others = Authority::new();
    let known = || {
        let proof = SiteProof::DnsName(AWAY.to_owned());
        KnownSites::new(authority.verifier()).with("away", proof)
    };
    let with = |credential: Credential| acceptor(&authority, credential);
    let speaking = |protocols: Vec<Vec<u8>>| {
        let mut config = server(authority.credential(HOME));
        config.client_authentication =
            tessera::handshake::ClientAuthentication::Required(Arc::new(known()));
        config.protocols = protocols;
        Acceptor::new(config.checked().unwrap())
    };
    for acceptor in [
        with(authority.credential("other.example")),
        with(others.credential(HOME)),
        with(authority.expired(HOME)),
        speaking(vec![b"http/1.1".to_vec()]),
        speaking(Vec::new()),
    ] {
        let read = Arc::new(AtomicUsize::new(0));
        let counted = read.clone();
        let (address, _) = home(acceptor, move |_, mut stream| {
            let counted = counted.clone();
            async move {
                let mut bytes = Vec::new();
                let _ = stream.read_to_end(&mut bytes).await;
                counted.fetch_add(bytes.len(), Ordering::SeqCst);
            }
        })
        .await;
        let channel = channel(&authority, address, impatient());
        assert_eq!(burn(&channel, 1).await, None);
        assert_eq!(channel.counts().connections, 0);
        drop(channel);
        assert_eq!(read.load(Ordering::SeqCst), 0);
    }
}

/// A home site that hangs does not affect another.
#[tokio::test]
async fn sites_are_independent_of_each_other() {
    let authority = Authority::new();
    let hangs = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let works = Home::new(&authority).await;
    works.put(1);
    let connector = connector(&authority, vec![authority.credential(AWAY)]);
    let mut other = home_at(hangs.local_addr().unwrap());
    other.vault = [2; 16];
    let mut limits = patient();
    limits.in_flight = 10;
    let sites = vec![other, home_at(works.address)];
    let channel = TlsSiteChannel::open(&connector, sites, limits);
    let mut elsewhere = request(5);
    elsewhere.home.vault = [2; 16];
    let waiting: Vec<_> = (0..20).map(|_| channel.burn_at_home(&elsewhere)).collect();
    assert_eq!(burn(&channel, 1).await, Some(Acknowledgement::Burned));
    assert_eq!(channel.counts().refused, 10);
    drop(waiting);
}
