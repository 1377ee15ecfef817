//! Peers that are not sites, and sites that misbehave: they are disconnected, and harm no other.

use std::io;
use std::time::Duration;

use crate::common::{
    self, AWAY, Authority, HOME, Home, acceptor, burn, channel, connector, patient, server, until,
    uri,
};
use tessera::Destination;
use tessera::auth::Credential;
use tessera::handshake::ClientAuthentication;
use tessera_pki::rcgen::DnType;
use tessera_sites::{KnownSites, PROTOCOL, ServerLimits, SiteProof, server_config};
use tessera_tokio::{Acceptor, ClientStream};
use tessera_vault::Acknowledgement;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Stream = ClientStream<TcpStream>;

async fn connect(authority: &Authority, credentials: Vec<Credential>, home: &Home) -> Stream {
    let socket = TcpStream::connect(home.address).await.unwrap();
    let destination = Destination { server_name: HOME.into(), ..Destination::default() };
    connector(authority, credentials).connect(destination, socket).await.unwrap()
}

/// Connects with the certificate of a site.
async fn site(authority: &Authority, home: &Home) -> Stream {
    connect(authority, vec![authority.credential(AWAY)], home).await
}

fn ping(id: u64) -> Vec<u8> {
    [&[2][..], &id.to_be_bytes()].concat()
}

fn burning(id: u64, number: u32) -> Vec<u8> {
    let request = common::request(number);
    [&[1][..], &id.to_be_bytes(), &request.home.vault, &[0; 8], &request.handle.0].concat()
}

/// Returns what the home site answers to these bytes, until it ends the connection.
async fn answers(mut stream: Stream, bytes: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(bytes).await?;
    stream.flush().await?;
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).await?;
    Ok(answers)
}

/// The home site still works for legitimate peers.
async fn works(authority: &Authority, home: &Home, number: u32) {
    home.put(number);
    let channel = channel(authority, home.address, patient());
    assert_eq!(burn(&channel, number).await, Some(Acknowledgement::Burned));
}

#[tokio::test]
async fn a_peer_that_is_no_site_is_refused_whichever_authority_signed_its_certificate() {
    let authority = Authority::new();
    let others = Authority::new();
    let home = Home::new(&authority).await;
    home.put(1);
    let of_subject = |subject: &str| {
        let named = authority.0.issue_with(&[], |params| {
            params.distinguished_name.push(DnType::CommonName, subject);
        });
        named.credential()
    };
    let of_uri = authority.0.issue_with(&[AWAY], |params| uri(params, "dns:away.example"));
    let strangers = [
        vec![],
        vec![authority.credential("other.example")],
        vec![authority.credential("not-away.example")],
        vec![authority.credential("away.example.other.example")],
        vec![others.credential(AWAY)],
        vec![authority.expired(AWAY)],
        // Names that only resemble a site's.
        vec![of_subject("x dns:away.example x")],
        vec![of_uri.credential()],
    ];
    let count = strangers.len() as u64;
    for credentials in strangers {
        // A client may consider the handshake complete until the alert arrives.
        let stream = connect(&authority, credentials, &home).await;
        assert!(answers(stream, &burning(1, 1)).await.is_err());
    }
    until(|| home.server.counts().refused == count).await;
    let counts = home.server.counts();
    assert_eq!((counts.connections, counts.requests), (0, 0));
    assert!(home.accepts(1), "nothing was burned");
    works(&authority, &home, 2).await;
}

/// One of several names, a certificate byte for byte, and an identity from another verifier.
#[tokio::test]
async fn a_site_is_known_by_any_of_its_proofs() {
    let authority = Authority::new();
    let several = authority.0.issue_with(&["b.example", AWAY], |_| ()).credential();
    let exact = authority.0.issue("c.example");
    let (der, exact) = (exact.der(), exact.credential());
    let named = authority.credential("d.example");
    let known = KnownSites::new(authority.verifier())
        .with("a", SiteProof::DnsName("Away.Example".to_owned()))
        .with("c", SiteProof::Certificate(der))
        .with("d", SiteProof::Identity(b"dns:d.example".to_vec()));
    let config = server_config(server(authority.credential(HOME)), known).unwrap();
    let home = Home::with(Acceptor::new(config), ServerLimits::default()).await;
    for credential in [several, exact, named] {
        let mut stream = connect(&authority, vec![credential], &home).await;
        stream.write_all(&ping(1)).await.unwrap();
        stream.flush().await.unwrap();
        let mut pong = [0; 9];
        stream.read_exact(&mut pong).await.unwrap();
        assert_eq!(pong[..], ping(1));
    }
    // The same name in another certificate is not that certificate.
    let stream = connect(&authority, vec![authority.credential("c.example")], &home).await;
    assert!(answers(stream, &ping(1)).await.is_err());
}

/// A ticket is valid no longer than the site is on the list.
#[tokio::test]
async fn a_ticket_does_not_outlive_the_list_of_sites() {
    let authority = Authority::new();
    let config = server(authority.credential(HOME));
    let knows = |name: &str| {
        let known =
            KnownSites::new(authority.verifier()).with("away", SiteProof::DnsName(name.to_owned()));
        server_config(config.clone(), known).unwrap()
    };
    let acceptor = Acceptor::new(knows(AWAY));
    let home = Home::with(acceptor.clone(), ServerLimits::default()).await;
    let connector = connector(&authority, vec![authority.credential(AWAY)]);
    let again = async || {
        let socket = TcpStream::connect(home.address).await.unwrap();
        let destination = Destination { server_name: HOME.into(), ..Destination::default() };
        let mut stream = connector.connect(destination, socket).await.unwrap();
        let resumed = stream.facts().psk.is_some();
        stream.write_all(&ping(1)).await.unwrap();
        stream.flush().await.unwrap();
        let pong = stream.read_exact(&mut [0; 9]).await;
        (resumed, pong.is_ok())
    };
    assert_eq!(again().await, (false, true));
    assert_eq!(again().await, (true, true));
    acceptor.replace(knows("other.example"));
    assert_eq!(again().await, (false, false));
}

/// An acceptor that accepts any client doesn't make them sites.
#[tokio::test]
async fn a_configuration_without_sites_answers_no_one() {
    let authority = Authority::new();
    for authentication in [
        ClientAuthentication::None,
        ClientAuthentication::Optional(authority.verifier()),
        ClientAuthentication::Required(authority.verifier()),
    ] {
        let mut config = server(authority.credential(HOME));
        config.protocols = vec![PROTOCOL.to_vec()];
        config.client_authentication = authentication;
        let acceptor = Acceptor::new(config.checked().unwrap());
        let home = Home::with(acceptor, ServerLimits::default()).await;
        home.put(1);
        let stream = site(&authority, &home).await;
        assert!(!matches!(answers(stream, &burning(1, 1)).await, Ok(bytes) if !bytes.is_empty()));
        until(|| home.server.counts().refused == 1).await;
        assert!(home.accepts(1));
    }
}

#[tokio::test]
async fn a_malformed_request_ends_its_connection_and_no_other() {
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    home.put(1);
    let garbage: [Vec<u8>; 6] = [
        vec![0; 100],
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xff; 16_384],
        // Ids that don't ascend: a repeated request.
        [ping(7), ping(7)].concat(),
        [burning(7, 1), burning(7, 1)].concat(),
        [ping(7), burning(6, 2)].concat(),
    ];
    let count = garbage.len() as u64;
    for bytes in garbage {
        let _ = answers(site(&authority, &home).await, &bytes).await;
    }
    until(|| home.server.counts().malformed == count).await;
    assert!(!home.accepts(1), "the first of two was a request");
    works(&authority, &home, 2).await;
}

/// Half a request, then nothing; no request at all; no byte of TLS.
#[tokio::test]
async fn a_silent_peer_loses_its_place_and_harms_no_other() {
    let authority = Authority::new();
    let mut limits = ServerLimits::default();
    limits.connections.idle = Duration::from_millis(300);
    let acceptor = acceptor(&authority, authority.credential(HOME));
    let home = Home::with(acceptor, limits).await;
    home.put(1);
    let mut half = site(&authority, &home).await;
    half.write_all(&burning(1, 1)[..64]).await.unwrap();
    half.flush().await.unwrap();
    let mut nothing = site(&authority, &home).await;
    let mut no_tls = TcpStream::connect(home.address).await.unwrap();
    works(&authority, &home, 2).await;
    for stream in [&mut half, &mut nothing] {
        assert!(stream.read_to_end(&mut Vec::new()).await.is_err());
    }
    let _ = no_tls.read_to_end(&mut Vec::new()).await;
    assert!(home.accepts(1), "half a request is none");
}

/// It keeps sending requests, and reads no answer. The home site stops reading, and others are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_reads_no_answers_is_not_read_either() {
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    let greedy = site(&authority, &home).await;
    let (reader, mut writer) = tokio::io::split(greedy);
    let flooding = tokio::spawn(async move {
        for id in 0.. {
            if writer.write_all(&burning(id, 1)).await.is_err() || writer.flush().await.is_err() {
                break;
            }
        }
    });
    // Far more than 64 answers ahead and the kernel's buffers can hold.
    let mut before = home.server.counts().requests;
    loop {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let now = home.server.counts().requests;
        if now == before && now > 0 {
            break;
        }
        before = now;
    }
    works(&authority, &home, 2).await;
    flooding.abort();
    drop(reader);
}

/// A site that sends as fast as it can is read at its rate; another's requests pass at once.
#[tokio::test]
async fn a_flooding_site_is_slowed_down_and_others_are_not() {
    let authority = Authority::new();
    let known = KnownSites::new(authority.verifier())
        .with("flood", SiteProof::DnsName("flood.example".to_owned()))
        .with("away", SiteProof::DnsName(AWAY.to_owned()));
    let config = server_config(server(authority.credential(HOME)), known).unwrap();
    let mut limits = ServerLimits::default();
    limits.requests_per_second = 20;
    limits.connections_per_site = 2;
    let home = Home::with(Acceptor::new(config), limits).await;
    let flood = || async {
        let mut stream =
            connect(&authority, vec![authority.credential("flood.example")], &home).await;
        let all: Vec<u8> = (0..1000).flat_map(|id| burning(id, 1)).collect();
        stream.write_all(&all).await.unwrap();
        stream.flush().await.unwrap();
        stream
    };
    let streams = [flood().await, flood().await];
    until(|| home.server.counts().requests >= 20).await;
    // No more connections either.
    let third = connect(&authority, vec![authority.credential("flood.example")], &home).await;
    assert!(!matches!(answers(third, &ping(1)).await, Ok(bytes) if !bytes.is_empty()));
    assert_eq!(home.server.counts().refused, 1);
    works(&authority, &home, 2).await;
    assert!(home.server.counts().requests < 1000, "both together keep the pace of one site");
    drop(streams);
}

/// A request that arrives twice, over two connections, has no further effect.
#[tokio::test]
async fn a_repeated_request_changes_nothing() {
    let authority = Authority::new();
    let home = Home::new(&authority).await;
    (1..=2).for_each(|number| home.put(number));
    assert!(home.accepts(2));
    let mut heard = Vec::new();
    for _ in 0..3 {
        let mut stream = site(&authority, &home).await;
        stream.write_all(&[burning(1, 1), burning(2, 2)].concat()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        heard.push((bytes[9], bytes[18 + 9]));
    }
    assert_eq!(heard, [(0, 1); 3], "burned and used");
}
