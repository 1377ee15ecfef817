//! Every state receives every message and record that is unexpected there. What the peer sent before
//! is real: it is decrypted, cut short, and sealed again.

use tessera::crypto::{Provider, Suite};
use tessera::wire::{AlertDescription, CipherSuite, ContentType, HandshakeType};
use tessera::{Error, Output};
use tessera_harness::{
    Mode, Pair, ReceivedData, Scene, Sealer, message, messages, open_all, plain, records,
};

/// The end under test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Victim {
    Client,
    Server,
}

/// A state: the mode and how many of the peer's messages after its first hello were accepted.
/// `None` is the state before that hello.
#[derive(Clone, Copy, Debug)]
struct State {
    victim: Victim,
    mode: Mode,
    taken: Option<usize>,
    /// The expected messages.
    expected: &'static [HandshakeType],
}

const fn state(
    victim: Victim,
    mode: Mode,
    taken: Option<usize>,
    expected: &'static [HandshakeType],
) -> State {
    State { victim, mode, taken, expected }
}

const CERTIFICATES: &[HandshakeType] =
    &[HandshakeType::CERTIFICATE, HandshakeType::CERTIFICATE_REQUEST];

const STATES: &[State] = &[
    state(Victim::Server, Mode::Full, None, &[HandshakeType::CLIENT_HELLO]),
    state(Victim::Server, Mode::Retry, None, &[HandshakeType::CLIENT_HELLO]),
    state(Victim::Server, Mode::Full, Some(0), &[HandshakeType::FINISHED]),
    state(Victim::Server, Mode::Mutual, Some(0), &[HandshakeType::CERTIFICATE]),
    state(Victim::Server, Mode::Mutual, Some(1), &[HandshakeType::CERTIFICATE_VERIFY]),
    state(Victim::Server, Mode::Mutual, Some(2), &[HandshakeType::FINISHED]),
    state(Victim::Server, Mode::PskDhe, Some(0), &[HandshakeType::FINISHED]),
    state(Victim::Server, Mode::PskOnly, Some(0), &[HandshakeType::FINISHED]),
    state(Victim::Server, Mode::Replayable, Some(0), &[HandshakeType::END_OF_EARLY_DATA]),
    state(Victim::Server, Mode::FsDhe, Some(0), &[HandshakeType::END_OF_EARLY_DATA]),
    state(Victim::Server, Mode::FsDhe, Some(1), &[HandshakeType::FINISHED]),
    state(Victim::Server, Mode::FsKe, Some(0), &[HandshakeType::END_OF_EARLY_DATA]),
    state(Victim::Server, Mode::Full, Some(1), &[HandshakeType::KEY_UPDATE]),
    state(Victim::Server, Mode::Kem, Some(0), &[HandshakeType::KEM_ENCAPSULATION]),
    state(Victim::Server, Mode::Kem, Some(1), &[HandshakeType::FINISHED]),
    state(Victim::Server, Mode::Kem, Some(2), &[HandshakeType::KEY_UPDATE]),
    state(Victim::Server, Mode::KemMutual, Some(0), &[HandshakeType::KEM_ENCAPSULATION]),
    state(Victim::Server, Mode::KemMutual, Some(1), &[HandshakeType::CERTIFICATE]),
    state(Victim::Server, Mode::KemMutual, Some(2), &[HandshakeType::FINISHED]),
    state(Victim::Client, Mode::Full, None, &[HandshakeType::SERVER_HELLO]),
    state(Victim::Client, Mode::Retry, None, &[HandshakeType::SERVER_HELLO]),
    state(Victim::Client, Mode::FsDhe, None, &[HandshakeType::SERVER_HELLO]),
    state(Victim::Client, Mode::Full, Some(0), &[HandshakeType::ENCRYPTED_EXTENSIONS]),
    state(Victim::Client, Mode::Full, Some(1), CERTIFICATES),
    state(Victim::Client, Mode::Mutual, Some(2), &[HandshakeType::CERTIFICATE]),
    state(Victim::Client, Mode::Mutual, Some(3), &[HandshakeType::CERTIFICATE_VERIFY]),
    state(Victim::Client, Mode::Mutual, Some(4), &[HandshakeType::FINISHED]),
    state(Victim::Client, Mode::Kem, Some(1), CERTIFICATES),
    state(Victim::Client, Mode::Kem, Some(2), &[HandshakeType::FINISHED]),
    state(Victim::Client, Mode::KemMutual, Some(2), &[HandshakeType::CERTIFICATE]),
    state(Victim::Client, Mode::KemMutual, Some(3), &[HandshakeType::KEM_ENCAPSULATION]),
    state(Victim::Client, Mode::KemMutual, Some(4), &[HandshakeType::FINISHED]),
    state(Victim::Client, Mode::PskDhe, Some(0), &[HandshakeType::ENCRYPTED_EXTENSIONS]),
    state(Victim::Client, Mode::PskDhe, Some(1), &[HandshakeType::FINISHED]),
    state(Victim::Client, Mode::FsDhe, Some(1), &[HandshakeType::FINISHED]),
    state(
        Victim::Client,
        Mode::Full,
        Some(4),
        &[HandshakeType::NEW_SESSION_TICKET, HandshakeType::KEY_UPDATE],
    ),
];

/// A reached state, and how the peer seals what comes next.
struct ReachedState {
    pair: Pair,
    victim: Victim,
    sealer: Option<Sealer>,
    connected: bool,
}

impl ReachedState {
    fn new(provider: Provider, state: State) -> Self {
        let scene = Scene::new(provider, state.mode);
        let mut pair = scene.pair();
        let is_client = state.victim == Victim::Client;
        if state.mode == Mode::Retry {
            pair.client_to_server();
            if is_client {
                pair.server_to_client();
                pair.client_to_server();
            }
        } else if is_client {
            pair.client_to_server();
        }
        let Some(taken) = state.taken else {
            return Self { pair, victim: state.victim, sealer: None, connected: false };
        };
        if !is_client {
            pair.client_to_server();
            pair.server_to_client();
        }
        let suite = suite(provider);
        let labels: &[&str] = match state.victim {
            Victim::Server => &[
                "CLIENT_EARLY_TRAFFIC_SECRET",
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
                "CLIENT_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET",
                "CLIENT_TRAFFIC_SECRET_0",
            ],
            Victim::Client => &[
                "SERVER_HANDSHAKE_TRAFFIC_SECRET",
                "SERVER_AUTHENTICATED_HANDSHAKE_TRAFFIC_SECRET",
                "SERVER_TRAFFIC_SECRET_0",
            ],
        };
        let sealer = |label: &&str| scene.secrets.sealer(suite, label);
        let sealers = || -> Vec<Sealer> { labels.iter().filter_map(sealer).collect() };
        let (mut openers, mut closers) = (sealers(), sealers());
        // The early data itself was delivered.
        if !is_client && sealer(&labels[0]).is_some() {
            openers[0].number = 1;
            closers[0].number = 1;
        }
        let (mut epoch, mut delivered) = (0, 0);
        for flight in 0..2 {
            if flight == 1 && delivered == taken {
                break;
            }
            let _moved = match (flight, is_client) {
                (0, _) => false,
                (_, true) => pair.client_to_server(),
                (_, false) => pair.server_to_client(),
            };
            // Only now may the secrets of later epochs be known.
            let known = sealers().into_iter();
            openers.extend(known.skip(openers.len()));
            closers.extend(sealers().into_iter().skip(closers.len()));
            let output = if is_client { &mut pair.server_output } else { &mut pair.client_output };
            let flight = take(output);
            for (sealed_in, typ, content) in open_all(&flight, &mut openers) {
                if sealed_in == 0 {
                    deliver(&mut pair, state.victim, &plain(typ, &content));
                    continue;
                }
                for message in messages(&content) {
                    if delivered < taken {
                        epoch = sealed_in - 1;
                        let record = closers[epoch].seal(typ, &message);
                        deliver(&mut pair, state.victim, &record);
                        delivered += 1;
                        epoch += usize::from(ends_epoch(&state, message[0]));
                    }
                }
            }
        }
        assert_eq!(delivered, taken, "{state:?}");
        closers.extend(sealers().into_iter().skip(closers.len()));
        let connected = match state.victim {
            Victim::Client => pair.to_client.complete,
            Victim::Server => pair.to_server.complete,
        };
        let sealer = closers.into_iter().nth(epoch);
        assert!(sealer.is_some());
        let reached = Self { pair, victim: state.victim, sealer, connected };
        assert_eq!(reached.received().error, None, "{state:?}");
        reached
    }

    fn received(&self) -> &ReceivedData {
        match self.victim {
            Victim::Client => &self.pair.to_client,
            Victim::Server => &self.pair.to_server,
        }
    }

    fn inject(&mut self, typ: ContentType, content: &[u8]) -> Option<Error> {
        let record = match &mut self.sealer {
            Some(sealer) => sealer.seal(typ, content),
            None => plain(typ, content),
        };
        self.inject_bytes(&record)
    }

    fn inject_bytes(&mut self, bytes: &[u8]) -> Option<Error> {
        let output = match self.victim {
            Victim::Client => &mut self.pair.client_output,
            Victim::Server => &mut self.pair.server_output,
        };
        take(output);
        deliver(&mut self.pair, self.victim, bytes);
        let error = self.received().error.clone();
        if let Some(error) = &error {
            self.check_ended(error);
        }
        error
    }

    /// Checks that the alert was sent, and that the connection stays ended.
    fn check_ended(&mut self, error: &Error) {
        let mut later = Output::new();
        let (output, again) = match self.victim {
            Victim::Client => (
                &self.pair.client_output,
                self.pair.client.read(self.pair.now, &mut [], &mut later).err(),
            ),
            Victim::Server => (
                &self.pair.server_output,
                self.pair.server.read(self.pair.now, &mut [], &mut later).err(),
            ),
        };
        assert_eq!(again.as_ref(), Some(error));
        assert!(later.is_empty());
        let sent = records(output.as_slice());
        assert_eq!(sent.is_empty(), error.alert().is_none(), "{error:?}");
        if let (Some(alert), Some(last)) = (error.alert(), sent.last())
            && last[0] == ContentType::ALERT.0
        {
            assert_eq!(last[5..], [2, alert.0]);
        }
    }
}

/// Whether what the peer sends after a message of this type is under other keys.
fn ends_epoch(state: &State, typ: u8) -> bool {
    let by_kem = match state.victim {
        Victim::Server => HandshakeType::KEM_ENCAPSULATION,
        Victim::Client => HandshakeType::CERTIFICATE,
    };
    let typ = HandshakeType(typ);
    typ == HandshakeType::END_OF_EARLY_DATA
        || typ == HandshakeType::FINISHED
        || state.mode.is_kem() && typ == by_kem
}

fn suite(provider: Provider) -> &'static Suite {
    provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256).expect("every provider has it")
}

fn take(output: &mut Output) -> Vec<u8> {
    let bytes = output.as_slice().to_vec();
    output.consume(bytes.len());
    bytes
}

fn deliver(pair: &mut Pair, victim: Victim, bytes: &[u8]) {
    match victim {
        Victim::Client => pair.deliver_to_client(bytes),
        Victim::Server => pair.deliver_to_server(bytes),
    }
}

fn alert_of(error: Option<Error>) -> Option<AlertDescription> {
    error.and_then(|error| error.alert())
}

/// One well-formed message of every type, and of unknown types.
fn every_message(provider: Provider) -> Vec<Vec<u8>> {
    let mut pair = Scene::new(provider, Mode::Full).pair();
    pair.client_to_server();
    let client_hello = pair.client_sent[5..].to_vec();
    let server_hello = records(pair.server_output.as_slice()).remove(0)[5..].to_vec();
    let ticket = [&[0, 0, 14, 16, 1, 2, 3, 4, 1, 0, 0, 4][..], &[9; 4], &[0, 0]].concat();
    let certificate = [&[0, 0, 0, 9, 0, 0, 4][..], &[0x30; 4], &[0, 0]].concat();
    let request = [0, 0, 8, 0, 13, 0, 4, 0, 2, 8, 7];
    let verify = [&[8, 7, 0, 64][..], &[0x55; 64]].concat();
    let encapsulation = [&[0, 4, 64][..], &[7; 1088]].concat();
    let made: [(u8, &[u8]); 18] = [
        (HandshakeType::KEM_ENCAPSULATION.0, &encapsulation),
        (HandshakeType::NEW_SESSION_TICKET.0, &ticket),
        (HandshakeType::END_OF_EARLY_DATA.0, &[]),
        (HandshakeType::ENCRYPTED_EXTENSIONS.0, &[0, 0]),
        (HandshakeType::CERTIFICATE.0, &certificate),
        (HandshakeType::CERTIFICATE_REQUEST.0, &request),
        (HandshakeType::CERTIFICATE_VERIFY.0, &verify),
        (HandshakeType::FINISHED.0, &[7; 32]),
        (HandshakeType::KEY_UPDATE.0, &[0]),
        (HandshakeType::MESSAGE_HASH.0, &[7; 32]),
        // hello_request, hello_verify_request, hello_retry_request, server_key_exchange,
        // server_hello_done, client_key_exchange, next_protocol; and an unknown one.
        (0, &[]),
        (3, &[254, 255, 0]),
        (6, &[3, 4, 0, 0]),
        (12, &[1, 2, 3]),
        (14, &[]),
        (16, &[1, 2, 3]),
        (67, &[1, 2, 3]),
        (0xaa, &[1, 2, 3]),
    ];
    let made = made.iter().map(|(typ, body)| message(HandshakeType(*typ), body));
    [client_hello, server_hello].into_iter().chain(made).collect()
}

#[test]
fn every_message_that_a_state_does_not_expect_is_refused() {
    let provider = tessera_null_provider::provider();
    let messages = every_message(provider);
    for state in STATES {
        for message in &messages {
            let mut reached = ReachedState::new(provider, *state);
            let error = reached.inject(ContentType::HANDSHAKE, message);
            if state.expected.contains(&HandshakeType(message[0])) {
                // Expected here; other tests check its content.
                continue;
            }
            let expected = Some(AlertDescription::UNEXPECTED_MESSAGE);
            assert_eq!(alert_of(error), expected, "{state:?}, message {}", message[0]);
        }
    }
}

#[test]
fn every_record_that_a_state_does_not_expect_is_refused() {
    let provider = tessera_null_provider::provider();
    let unexpected = Some(AlertDescription::UNEXPECTED_MESSAGE);
    for state in STATES {
        let fresh = || ReachedState::new(provider, *state);
        let takes_data = state.expected.contains(&HandshakeType::KEY_UPDATE)
            || state.expected.contains(&HandshakeType::END_OF_EARLY_DATA);
        let protected = state.taken.is_some();

        let error = fresh().inject(ContentType::APPLICATION_DATA, b"data");
        assert_eq!(alert_of(error), if takes_data { None } else { unexpected }, "{state:?}");
        for typ in [0, 19, 24, 25, 26, 255] {
            let error = fresh().inject(ContentType(typ), b"data");
            assert_eq!(alert_of(error), unexpected, "{state:?}, type {typ}");
        }
        for typ in [ContentType::HANDSHAKE, ContentType::ALERT] {
            assert_eq!(alert_of(fresh().inject(typ, b"")), unexpected, "{state:?}, empty {typ:?}");
        }
        let error = fresh().inject(ContentType::ALERT, &[2, 40]);
        let expected = Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE);
        assert_eq!(error, Some(expected), "{state:?}");
        for alert in [&[2][..], &[2, 40, 0], &[2, 40, 2, 40]] {
            let error = fresh().inject(ContentType::ALERT, alert);
            assert_eq!(alert_of(error), Some(AlertDescription::DECODE_ERROR), "{state:?}");
        }

        // RFC 8446 §5: dropped between the first hello and the peer's Finished, and only there.
        let mut reached = fresh();
        let first =
            state.taken.is_none() && state.victim == Victim::Server && state.mode != Mode::Retry;
        let may_come = !reached.connected && !first;
        let error = reached.inject_bytes(&plain(ContentType::CHANGE_CIPHER_SPEC, &[1]));
        assert_eq!(alert_of(error), if may_come { None } else { unexpected }, "{state:?}");
        for content in [&[][..], &[0], &[1, 1]] {
            let error = fresh().inject_bytes(&plain(ContentType::CHANGE_CIPHER_SPEC, content));
            assert_eq!(alert_of(error), unexpected, "{state:?}, {content:?}");
        }

        if protected {
            let error = fresh().inject(ContentType::CHANGE_CIPHER_SPEC, &[1]);
            assert_eq!(alert_of(error), unexpected, "{state:?}, protected change_cipher_spec");
            let error = fresh().inject_bytes(&plain(ContentType::HANDSHAKE, &[20, 0, 0, 0]));
            assert_eq!(alert_of(error), unexpected, "{state:?}, handshake in plaintext");
            let error = fresh().inject_bytes(&plain(ContentType::APPLICATION_DATA, &[7; 40]));
            let expected = Some(AlertDescription::BAD_RECORD_MAC);
            assert_eq!(alert_of(error), expected, "{state:?}, not sealed");
            let mut reached = fresh();
            let padding = reached.sealer.as_mut().map(|sealer| sealer.seal_inner(&[0; 100]));
            let error = reached.inject_bytes(&padding.unwrap_or_default());
            assert_eq!(alert_of(error), unexpected, "{state:?}, padding alone");
        }
    }
}

#[test]
fn a_message_that_crosses_a_change_of_keys_is_refused() {
    let provider = tessera_null_provider::provider();
    let unexpected = Some(AlertDescription::UNEXPECTED_MESSAGE);
    // After the messages that change the peer's keys nothing may follow under the old ones
    // (RFC 8446 §5.1), not even the beginning of a message.
    let mut reached = ReachedState::new(provider, state(Victim::Server, Mode::FsDhe, Some(0), &[]));
    let bytes = [message(HandshakeType::END_OF_EARLY_DATA, &[]), vec![20]].concat();
    assert_eq!(alert_of(reached.inject(ContentType::HANDSHAKE, &bytes)), unexpected);
    for victim in [Victim::Client, Victim::Server] {
        let taken = if victim == Victim::Client { 4 } else { 1 };
        let mut reached = ReachedState::new(provider, state(victim, Mode::Full, Some(taken), &[]));
        let update = message(HandshakeType::KEY_UPDATE, &[0]);
        let bytes = [update.as_slice(), &update].concat();
        assert_eq!(alert_of(reached.inject(ContentType::HANDSHAKE, &bytes)), unexpected);
        // A record of another type between the parts of a message.
        let mut reached = ReachedState::new(provider, state(victim, Mode::Full, Some(taken), &[]));
        assert_eq!(reached.inject(ContentType::HANDSHAKE, &update[..2]), None);
        assert_eq!(alert_of(reached.inject(ContentType::APPLICATION_DATA, b"data")), unexpected);
    }
    // A ServerHello with something after it in the same record.
    let scene = Scene::new(provider, Mode::Full);
    let mut pair = scene.pair();
    pair.client_to_server();
    let flight = take(&mut pair.server_output);
    let mut hello = records(&flight)[0][5..].to_vec();
    hello.push(8);
    pair.deliver_to_client(&plain(ContentType::HANDSHAKE, &hello));
    assert_eq!(alert_of(pair.to_client.error), unexpected);
}
