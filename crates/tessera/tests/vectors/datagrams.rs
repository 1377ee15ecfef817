//! Flights over datagrams, and the answer that counts their records (docs/0rtt-fs.md §16).

use std::time::Duration;

use tessera::crypto::{Hash, NONCE_LEN, Nonce, Suite};
use tessera::resume::ClientSession;
use tessera::wire::{CipherSuite, ContentType, HandshakeType};
use tessera::{AssociationOptions, Role};
use tessera_harness::{
    DatagramPair, Hello, Link, Mode, Scene, Trace, at, expand_prefixed_label, lossless, to,
};

use crate::flight::put_secret;
use crate::make::{self, agreed, found, record_key_exchange};
use crate::{Case, Values, X25519};

const CASES: [Case; 2] = [
    Case { section: "datagrams", ..X25519 },
    Case {
        section: "datagrams, sha384, psk_ke",
        suite: CipherSuite::TLS_AES_256_GCM_SHA384,
        mode: Mode::FsKe,
        ..X25519
    },
];

/// The client's datagrams: the ClientHello with the first record of early data, and one more record in each of the
/// others.
const DATAGRAMS: [&str; 4] = ["datagram 0", "datagram 1", "datagram 2", "datagram 3"];
const EARLY_DATA: [&str; 4] = ["early data 0", "early data 1", "early data 2", "early data 3"];

/// The order in which datagrams come: the ClientHello is answered without record 2, so record 3 comes after a gap.
const ARRIVAL: [u8; 3] = [3, 1, 0];
const LATE: usize = 2;
const TAKEN: usize = 2;

/// The sections.
pub(crate) fn make() -> [(&'static str, Values); 2] {
    CASES.each_ref().map(|case| (case.section, flight(case)))
}

/// Checks that a server with the secret takes as many records of a section's flight as the vectors do, answers so, and
/// takes nothing after its answer.
pub(crate) fn check(vectors: &Trace) {
    for case in &CASES {
        let get = |name: &str| vectors.get(case.section, name);
        assert_eq!(get("arrival"), ARRIVAL);
        let scene = case.scene();
        put_secret(&scene, case, vectors);
        let mut pair = start(&scene, None);
        let answer = answer(&mut pair, &DATAGRAMS.map(get));
        assert_eq!(pair.to_server.early_data, EARLY_DATA.map(get)[..TAKEN].concat());
        let [extensions, _] = protected_messages(&scene, &answer);
        assert_eq!(extensions, get("EncryptedExtensions"), "{}", case.section);
    }
}

/// A ticket, the flight under it, and the server's answer.
fn flight(case: &Case) -> Values {
    let mut scene = case.scene();
    let (message, session) = issued(&scene);
    let mut values = make::ticket(case, &scene, message, &session);
    let exchanged = record_key_exchange(&mut scene.server.provider);
    let mut pair = start(&scene, Some(session));
    let data = EARLY_DATA.map(|name| name.as_bytes().to_vec());
    for data in &data {
        assert_eq!(pair.client.write_early_data(data), Ok(true));
    }
    pair.transmit();
    let datagrams: [Vec<u8>; 4] =
        pair.sent[Role::Client as usize].clone().try_into().expect("one for each record");
    let answer = answer(&mut pair, &datagrams.each_ref().map(Vec::as_slice));
    assert_eq!(pair.to_server.early_data, data[..TAKEN].concat());

    let hello = plaintext_message(&datagrams[0]);
    let hash = scene.suite().hash;
    let identity = Hello::read(&without_cookie(&hello)).identities().remove(0).0;
    values.push(("encapsulated", identity[5 + 32 + 2..].to_vec()));
    let agreed = agreed(case, &scene, &values);
    let extracted = hash.extract(found(&values, "FS secret"), &agreed);
    let psk = derive_secret(hash, extracted.expose(), "0rttfs", &identity);
    let early = hash.extract(&[], &psk);
    let [extensions, _] = protected_messages(&scene, &answer);
    values.extend([
        ("agreed secret", agreed),
        ("identity", identity),
        ("psk'", psk),
        ("binder key", derive_secret(hash, early.expose(), "ext binder", &[])),
        ("early traffic secret", derive_secret(hash, early.expose(), "c e traffic", &hello)),
        ("ClientHello", hello),
    ]);
    values.extend(EARLY_DATA.into_iter().zip(data));
    values.extend(DATAGRAMS.into_iter().zip(datagrams));
    let traffic = scene.secrets.get("SERVER_HANDSHAKE_TRAFFIC_SECRET").expect("of the answer");
    values.extend([
        ("arrival", ARRIVAL.to_vec()),
        ("ServerHello", plaintext_message(&answer)),
        ("key exchange", exchanged.lock().expect("no panic").clone()),
        ("server handshake traffic secret", traffic),
        ("EncryptedExtensions", extensions),
        ("answer", answer),
    ]);
    values
}

/// The last ticket of a full handshake, as in a transcript and as the client keeps it.
fn issued(scene: &Scene) -> (Vec<u8>, ClientSession) {
    let mut pair = start(scene, None);
    pair.link = lossless(Duration::from_millis(20));
    pair.run();
    let secret = scene.secrets.get("SERVER_TRAFFIC_SECRET_0").expect("of the connection");
    let opener = Opener::new(scene.suite(), &secret, APPLICATION_EPOCH);
    let sent = &pair.sent[Role::Server as usize];
    let messages = sent.iter().flat_map(|datagram| opener.messages(datagram));
    let mut tickets = messages.filter(|it| it[0] == HandshakeType::NEW_SESSION_TICKET.0);
    let session = pair.to_client.sessions.pop();
    (tickets.next_back().expect("a ticket"), session.expect("a session"))
}

/// Both ends, on a link that delivers nothing.
fn start(scene: &Scene, session: Option<ClientSession>) -> DatagramPair {
    let options = [AssociationOptions::default(), AssociationOptions::default()];
    let link: Link = Box::new(|_, _, _| Vec::new());
    DatagramPair::start(&scene.client, &scene.server, to(session), options, (at(0), link))
        .expect("starts")
}

/// Delivers the client's datagrams as they come, and returns the server's, which answers them.
fn answer(pair: &mut DatagramPair, datagrams: &[&[u8]; 4]) -> Vec<u8> {
    for number in ARRIVAL {
        pair.deliver(Role::Server, datagrams[usize::from(number)].to_vec());
    }
    assert_eq!(pair.to_server.error, None);
    pair.transmit();
    let [answer] = &pair.sent[Role::Server as usize][..] else { unreachable!("one datagram") };
    let answer = answer.clone();
    let taken = pair.to_server.early_data.clone();
    pair.deliver(Role::Server, datagrams[LATE].to_vec());
    assert_eq!(pair.to_server.early_data, taken, "the answer closes epoch 1");
    answer
}

/// EncryptedExtensions and Finished of the server's answer, the scene's newest.
fn protected_messages(scene: &Scene, answer: &[u8]) -> [Vec<u8>; 2] {
    let secret = scene.secrets.get("SERVER_HANDSHAKE_TRAFFIC_SECRET").expect("of the answer");
    let messages = Opener::new(scene.suite(), &secret, HANDSHAKE_EPOCH).messages(answer);
    messages.try_into().expect("no certificate")
}

/// The message of a datagram's first record, which is plaintext.
fn plaintext_message(datagram: &[u8]) -> Vec<u8> {
    let (_, content) = split_record(datagram).0;
    whole_messages(content).remove(0)
}

/// Splits a datagram after its first record: (header, content), rest (RFC 9147 §4).
fn split_record(datagram: &[u8]) -> ((&[u8], &[u8]), &[u8]) {
    let is_protected = datagram[0] & 0b1110_0000 == 0b0010_0000;
    // A unified header here has a number of 16 bits and a length.
    let header_len = if is_protected { 5 } else { 13 };
    let (header, rest) = datagram.split_at(header_len);
    let len = u16::from_be_bytes([header[header_len - 2], header[header_len - 1]]);
    let (content, rest) = rest.split_at(usize::from(len));
    ((header, content), rest)
}

/// Messages that are whole in one record, as transcripts have them (RFC 9147 §5.2).
fn whole_messages(mut content: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let [typ, a, b, c, _, _, 0, 0, 0, len @ ..] = content {
        assert!(len.starts_with(&[*a, *b, *c]), "a fragment");
        let (body, rest) = len[3..].split_at(u32::from_be_bytes([0, *a, *b, *c]) as usize);
        messages.push([&[*typ, *a, *b, *c], body].concat());
        content = rest;
    }
    assert_eq!(content, b"");
    messages
}

/// A ClientHello without DTLS's legacy_cookie, which is empty, as TLS has it.
fn without_cookie(hello: &[u8]) -> Vec<u8> {
    let cookie = 4 + 2 + 32 + 1 + usize::from(hello[4 + 2 + 32]);
    assert_eq!(hello[cookie], 0);
    [&hello[..cookie], &hello[cookie + 1..]].concat()
}

/// Derive-Secret with DTLS's labels (RFC 9147 §5.9).
fn derive_secret(hash: &dyn Hash, secret: &[u8], label: &str, messages: &[u8]) -> Vec<u8> {
    let mut out = vec![0; hash.len()];
    let transcript = hash.hash(messages);
    expand_prefixed_label(hash, secret, &format!("dtls13{label}"), transcript.as_ref(), &mut out);
    out
}

/// The keys of one direction and epoch (RFC 9147 §4.2.3).
struct Opener {
    suite: &'static Suite,
    epoch: u8,
    key: Vec<u8>,
    iv: [u8; NONCE_LEN],
    number_key: Vec<u8>,
}

impl Opener {
    fn new(suite: &'static Suite, secret: &[u8], epoch: u8) -> Self {
        let len = suite.aead.key_len();
        let (mut key, mut iv, mut number_key) = (vec![0; len], [0; NONCE_LEN], vec![0; len]);
        expand_prefixed_label(suite.hash, secret, "dtls13key", &[], &mut key);
        expand_prefixed_label(suite.hash, secret, "dtls13iv", &[], &mut iv);
        expand_prefixed_label(suite.hash, secret, "dtls13sn", &[], &mut number_key);
        Self { suite, epoch, key, iv, number_key }
    }

    /// The handshake messages that a datagram has in this epoch.
    fn messages(&self, mut datagram: &[u8]) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        while !datagram.is_empty() {
            let ((header, content), rest) = split_record(datagram);
            datagram = rest;
            if header.len() != 5 || header[0] & 3 != self.epoch & 3 {
                continue;
            }
            let mut inner = self.open(header, content);
            inner.truncate(inner.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
            if inner.pop() == Some(ContentType::HANDSHAKE.0) {
                messages.extend(whole_messages(&inner));
            }
        }
        messages
    }

    fn open(&self, header: &[u8], content: &[u8]) -> Vec<u8> {
        let sample = content.first_chunk().expect("a sample");
        let mask = self.suite.aead.header_key(&self.number_key).mask(sample);
        let mut header = header.to_vec();
        header[1] ^= mask[0];
        header[2] ^= mask[1];
        let number = u16::from_be_bytes([header[1], header[2]]);
        let nonce = Nonce::for_record(&self.iv, number.into());
        let mut inner = content.to_vec();
        let opened = self.suite.aead.key(&self.key).open(&nonce, &header, &mut inner);
        inner.truncate(opened.expect("a record of this epoch"));
        inner
    }
}

const HANDSHAKE_EPOCH: u8 = 2;
const APPLICATION_EPOCH: u8 = 3;
