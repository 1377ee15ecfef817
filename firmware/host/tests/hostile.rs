//! Peers of images without code for certificates: a server that proves nothing, and messages that no state awaits.
#![cfg(all(feature = "kem-pinned", not(feature = "kem-raw-key")))]
#![allow(clippy::unwrap_used, reason = "the helpers here are tests too")]

use std::sync::{Arc, Mutex};

use tessera::crypto::{Aead, Hash, NONCE_LEN, Nonce, Suite};
use tessera::handshake::{ClientHandshake, Handshake, ServerHandshake};
use tessera::wire::{AlertDescription, NamedGroup};
use tessera::{ClientConnection, Connection, Error, KeyLog, Output, ServerConnection};
use tessera_firmware_host::connection::{Input, Progress, read};
use tessera_firmware_host::ends;

/// HKDF-Expand-Label (RFC 8446 §7.1).
fn expand(hash: &dyn Hash, secret: &[u8], label: &str, context: &[u8], len: usize) -> Vec<u8> {
    let label = ["tls13 ", label].concat();
    let mut info = vec![0, len as u8, label.len() as u8];
    info.extend_from_slice(label.as_bytes());
    info.push(context.len() as u8);
    info.extend_from_slice(context);
    let mut out = vec![0; len];
    hash.expand(secret, &info, &mut out);
    out
}

/// Seals records under a traffic secret.
struct Sealer {
    aead: Box<dyn Aead>,
    iv: [u8; NONCE_LEN],
    number: u64,
}

impl Sealer {
    fn new(suite: &Suite, secret: &[u8]) -> Self {
        let key = expand(suite.hash, secret, "key", &[], suite.aead.key_len());
        let iv = expand(suite.hash, secret, "iv", &[], NONCE_LEN).try_into().unwrap();
        Self { aead: suite.aead.key(&key), iv, number: 0 }
    }

    fn seal(&mut self, typ: u8, content: &[u8]) -> Vec<u8> {
        let mut body = [content, &[typ]].concat();
        let [high, low] = (body.len() as u16 + 16).to_be_bytes();
        let header = [23, 3, 3, high, low];
        let tag = self.aead.seal(&Nonce::for_record(&self.iv, self.number), &header, &mut body);
        self.number += 1;
        [&header[..], &body, &tag].concat()
    }
}

const HANDSHAKE: u8 = 22;

fn message(typ: u8, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u32).to_be_bytes();
    [&[typ, len[1], len[2], len[3]], body].concat()
}

fn suite() -> &'static Suite {
    let config = ends::client();
    config.provider.suite(config.suites[0]).unwrap()
}

/// An end under attack.
struct Victim<H: Handshake> {
    connection: Connection<H>,
    input: Input,
    output: Output,
    progress: Progress,
}

impl<H: Handshake> Victim<H> {
    fn new(connection: Connection<H>, output: Output) -> Self {
        Self { connection, input: Input::new(), output, progress: Progress::default() }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for part in bytes.chunks(1000) {
            self.input.room()[..part.len()].copy_from_slice(part);
            self.input.received(part.len());
            read(&mut self.connection, &mut self.input, &mut self.output, &mut self.progress)?;
        }
        Ok(())
    }

    fn sent(&mut self) -> Vec<u8> {
        let sent = self.output.as_slice().to_vec();
        self.output.consume(sent.len());
        sent
    }
}

fn client() -> Victim<ClientHandshake> {
    let mut output = Output::new();
    let config = ends::client().checked().unwrap();
    let connection =
        ClientConnection::start(config, ends::destination(), ends::NOW, &mut output).unwrap();
    Victim::new(connection, output)
}

/// It agrees on a key, as any server can, and leaves out the PSK.
#[test]
fn a_server_that_neither_has_the_key_nor_shows_a_certificate_is_refused() {
    let mut client = client();
    let hello = client.sent();
    let session_id = &hello[5 + 4 + 2 + 32 + 1..][..32];
    // The group, and the length of a share.
    let share = [NamedGroup::MLKEM768.0.to_be_bytes(), 1184_u16.to_be_bytes()].concat();
    let at = hello.windows(4).position(|window| window == share).unwrap() + 4;
    let group = ends::client().provider.group(NamedGroup::MLKEM768).unwrap();
    let (reply, shared) = group.encapsulate(&hello[at..at + 1184]).unwrap();

    let (suite, hash) = (suite(), suite().hash);
    let extensions = [
        &[0, 43, 0, 2, 3, 4, 0, 51][..],
        &(4 + 1088_u16).to_be_bytes(),
        &NamedGroup::MLKEM768.0.to_be_bytes(),
        &1088_u16.to_be_bytes(),
        &reply,
    ]
    .concat();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &[32],
        session_id,
        &suite.id.0.to_be_bytes(),
        &[0],
        &(extensions.len() as u16).to_be_bytes(),
        &extensions,
    ]
    .concat();
    let server_hello = message(2, &body);
    let early = hash.extract(&[], &vec![0; hash.len()]);
    let nothing = hash.hash(&[]);
    let derived = expand(hash, early.expose(), "derived", nothing.as_ref(), hash.len());
    let secret = hash.extract(&derived, shared.expose());
    let mut transcript = [&hello[5..], &server_hello].concat();
    let hashed = hash.hash(&transcript);
    let traffic = expand(hash, secret.expose(), "s hs traffic", hashed.as_ref(), hash.len());
    let mut sealer = Sealer::new(suite, &traffic);
    let [high, low] = (server_hello.len() as u16).to_be_bytes();
    let mut flight = [&[HANDSHAKE, 3, 3, high, low][..], &server_hello].concat();
    let encrypted_extensions = message(8, &[0, 0]);
    transcript.extend_from_slice(&encrypted_extensions);
    let finished = expand(hash, &traffic, "finished", &[], hash.len());
    let verify_data = hash.hmac(&finished, hash.hash(&transcript).as_ref());
    flight.extend(
        sealer.seal(HANDSHAKE, &[encrypted_extensions, message(20, verify_data.as_ref())].concat()),
    );
    let error = client.take(&flight).unwrap_err();
    assert_eq!(error.alert(), Some(AlertDescription::HANDSHAKE_FAILURE), "{error:?}");
    assert!(!client.progress.is_complete);
}

/// Keeps the secrets of both ends.
#[derive(Default)]
struct Secrets(Mutex<Vec<(String, Vec<u8>)>>);

impl KeyLog for Secrets {
    fn log(&self, label: &str, _: &[u8; 32], secret: &[u8]) {
        self.0.lock().unwrap().push((label.into(), secret.into()));
    }
}

impl Secrets {
    fn sealer(&self, label: &str) -> Sealer {
        let secrets = self.0.lock().unwrap();
        let (_, secret) = secrets.iter().find(|(it, _)| it == label).unwrap();
        Sealer::new(suite(), secret)
    }
}

/// All that a handshake may have, with contents that would be right elsewhere.
fn messages() -> Vec<Vec<u8>> {
    let certificate = message(11, &[0, 0, 0, 7, 0, 0, 2, 0x30, 0, 0, 0]);
    let request = message(13, &[0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3]);
    let verify = message(15, &[4, 3, 0, 1, 0]);
    let encapsulation = message(30, &[&[0, 4, 64][..], &[7; 1088]].concat());
    let compressed = message(25, &[0, 1, 0, 0, 1, 0, 0, 1, 0]);
    let retry = message(2, &[&[3, 3][..], &[0; 40]].concat());
    let mut all = vec![certificate, request, verify, encapsulation, compressed, retry];
    all.extend([0, 1, 3, 4, 5, 6, 12, 14, 16, 22, 23, 254, 255].map(|typ| message(typ, &[])));
    all
}

/// Both ends once the server has answered the client's hello, and what the one that attacks knows.
fn hello() -> (Victim<ClientHandshake>, Victim<ServerHandshake>, Arc<Secrets>) {
    let secrets = Arc::new(Secrets::default());
    let mut client = client();
    let mut config = ends::server().unwrap();
    config.key_log = Some(secrets.clone());
    let connection = ServerConnection::start(config.checked().unwrap(), ends::NOW);
    let mut server = Victim::new(connection, Output::new());
    server.take(&client.sent()).unwrap();
    (client, server, secrets)
}

/// A server that has the key, and sends one of them before its EncryptedExtensions, after it, or at the end.
#[test]
fn a_server_that_sends_what_no_state_awaits_is_refused() {
    for at in 0..3 {
        for bad in messages() {
            let (mut client, mut server, secrets) = hello();
            let flight = server.sent();
            let hello = 5 + usize::from(u16::from_be_bytes([flight[3], flight[4]]));
            let mut sealer = secrets.sealer("SERVER_HANDSHAKE_TRAFFIC_SECRET");
            let what = bad[0];
            let result = match at {
                0 => client.take(&[&flight[..hello], &sealer.seal(HANDSHAKE, &bad)].concat()),
                1 => {
                    let sealed = [
                        sealer.seal(HANDSHAKE, &message(8, &[0, 0])),
                        sealer.seal(HANDSHAKE, &bad),
                    ];
                    client.take(&[&flight[..hello], &sealed.concat()].concat())
                }
                _ => {
                    client.take(&flight).unwrap();
                    assert!(client.progress.is_complete);
                    let mut sealer = secrets.sealer("SERVER_TRAFFIC_SECRET_0");
                    client.take(&sealer.seal(HANDSHAKE, &bad))
                }
            };
            // Without sessions a ticket is passed over.
            if (at, what) == (2, 4) {
                assert_eq!(result, Ok(()));
                continue;
            }
            let Err(error) = result else { panic!("{at}, {what}: it is accepted") };
            assert!(matches!(error, Error::Protocol { .. }), "{at}, {what}: {error:?}");
            assert_eq!(client.progress.is_complete, at == 2);
        }
    }
}

/// A client that knows the key, and sends one of them before its Finished, or after it.
#[test]
fn a_client_that_sends_what_no_state_awaits_is_refused() {
    for is_late in [false, true] {
        for bad in messages() {
            let (mut client, mut server, secrets) = hello();
            let mut sealer = secrets.sealer("CLIENT_HANDSHAKE_TRAFFIC_SECRET");
            if is_late {
                client.take(&server.sent()).unwrap();
                server.take(&client.sent()).unwrap();
                assert!(server.progress.is_complete);
                sealer = secrets.sealer("CLIENT_TRAFFIC_SECRET_0");
            }
            let error = server.take(&sealer.seal(HANDSHAKE, &bad)).expect_err("it is refused");
            assert!(matches!(error, Error::Protocol { .. }), "{}: {error:?}", bad[0]);
            assert_eq!(server.progress.is_complete, is_late);
        }
    }
}
