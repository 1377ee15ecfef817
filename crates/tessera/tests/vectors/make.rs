//! New vectors of a flight, from connections.

use std::sync::{Arc, Mutex};

use tessera::crypto::{AgreementError, Ephemeral, KeyAgreement, KeyForm, Provider, SharedSecret};
use tessera::handshake::Reply;
use tessera::resume::{ClientSession, FlightHandle, TakeAnswer, TakePurpose, TakeSecret, Vault};
use tessera::wire::{ContentType, HandshakeType, NamedGroup};
use tessera_harness::{EARLY_DATA, Hello, Scene, at, messages, open_all, records};

use crate::answers::EncryptedExtensions;
use crate::flight::put;
use crate::{Case, Values, derive};

/// A ticket, the flight under it, and the server's answer.
pub(crate) fn flight(case: &Case) -> Values {
    let scene = case.scene();
    let (message, session) = issued(&scene);
    let mut values = ticket(case, &scene, message, &session);
    sent_and_answered(case, session, scene, &mut values);
    values
}

/// A ticket, and what both ends keep of it.
pub(crate) fn ticket(
    case: &Case,
    scene: &Scene,
    message: Vec<u8>,
    session: &ClientSession,
) -> Values {
    let ticket = session.forward_secret.as_ref().expect("a ticket");
    vec![
        ("suite", case.suite.0.to_be_bytes().to_vec()),
        ("kind", case.kind.0.to_be_bytes().to_vec()),
        ("exporter secret", scene.secrets.get("EXPORTER_SECRET").expect("of the connection")),
        ("id", ticket.id.to_vec()),
        ("FS secret", ticket.secret.expose().to_vec()),
        ("handle", ticket.handle.0.to_vec()),
        ("seed", seed(scene, &ticket.handle)),
        ("public", ticket.public.clone()),
        ("resumption PSK", session.state.psk.expose().to_vec()),
        ("NewSessionTicket", message),
    ]
}

/// The last ticket of a full handshake, as sent and as the client keeps it.
fn issued(scene: &Scene) -> (Vec<u8>, ClientSession) {
    let mut pair = scene.start(None, at(0));
    pair.run();
    let opened = open_all(&pair.server_sent, &mut scene.server_sealers());
    let messages = opened.iter().flat_map(|(.., content)| messages(content));
    let mut tickets = messages.filter(|it| it[0] == HandshakeType::NEW_SESSION_TICKET.0);
    let session = pair.to_client.sessions.pop();
    (tickets.next_back().expect("a ticket"), session.expect("a session"))
}

/// What the vault keeps of a private key.
fn seed(scene: &Scene, handle: &FlightHandle) -> Vec<u8> {
    let question = TakeSecret::new(*handle, TakePurpose::Accept, at(0).unix);
    let Reply::Now(TakeAnswer::Taken(secret)) = scene.vault.take(&question) else {
        unreachable!("it was put")
    };
    assert_eq!(secret.form, KeyForm::Seed);
    let seed = secret.key.to_vec();
    put(scene, *handle, secret);
    seed
}

/// The client reconnects: its flight, the values behind it, and the server's answer.
fn sent_and_answered(case: &Case, session: ClientSession, scene: Scene, values: &mut Values) {
    let mut scene = case.at_the_flight(scene);
    let exchanged = record_key_exchange(&mut scene.server.provider);
    let hash = scene.suite().hash;
    let mut pair = scene.start(Some(session), at(0));
    let flight = pair.intercept_client();
    let sent = records(&flight);
    let first_hello = sent[0][5..].to_vec();
    let mut hello = first_hello.clone();
    pair.deliver_to_server(&flight);
    if case.retries {
        let retry = pair.intercept_server();
        pair.deliver_to_client(&retry);
        let again = pair.intercept_client();
        pair.deliver_to_server(&again);
        values.push(("first ClientHello", first_hello.clone()));
        values.push(("HelloRetryRequest", records(&retry)[0][5..].to_vec()));
        hello = handshake_record(&again);
    }
    let answer = pair.intercept_server();

    let identities = Hello::read(&hello).identities();
    let (identity, sealed) = (identities[0].0.clone(), &identities[1].0);
    values.push(("encapsulated", identity[5 + 32 + 2..].to_vec()));
    let agreed = agreed(case, &scene, values);
    let psk = derive::psk_for_flight(hash, |name| found(values, name), &identity, &agreed);
    let get = |name: &str| found(values, name);
    let (alone, alone_psk) = derive::alone(hash, get, sealed, &agreed);
    let [binder_key, early_traffic] = derive::early_secrets(hash, &psk, &first_hello);
    let traffic = scene.secrets.get("SERVER_HANDSHAKE_TRAFFIC_SECRET").expect("of the answer");
    let exchanged = exchanged.lock().expect("no panic").clone();
    values.extend([
        ("agreed secret", agreed),
        ("identity", identity),
        ("psk'", psk),
        ("ClientHello", hello),
        ("binder key", binder_key),
        ("early traffic secret", early_traffic),
        ("early data", EARLY_DATA.to_vec()),
        ("early data record", sent.last().expect("early data").clone()),
        ("ServerHello", handshake_record(&answer)),
        ("key exchange", exchanged),
        ("server handshake traffic secret", traffic),
        ("EncryptedExtensions", EncryptedExtensions::of(&scene, &answer).0),
        ("lone identity", alone),
        ("lone psk'", alone_psk),
    ]);
}

/// What both ends agree on with the one-time key.
pub(crate) fn agreed(case: &Case, scene: &Scene, values: &Values) -> Vec<u8> {
    match scene.server.provider.one_time(case.kind) {
        Some(keys) => {
            let key = keys.from_seed(found(values, "seed")).expect("a seed");
            key.open(found(values, "encapsulated")).expect("opens").expose().to_vec()
        }
        None => Vec::new(),
    }
}

/// An earlier value.
pub(crate) fn found<'v>(values: &'v Values, name: &str) -> &'v [u8] {
    let found = values.iter().find(|(listed, _)| *listed == name);
    found.map(|(_, value)| value.as_slice()).expect("an earlier value")
}

/// The first plaintext handshake message of a flight.
fn handshake_record(flight: &[u8]) -> Vec<u8> {
    let records = records(flight);
    let record = records.iter().find(|record| record[0] == ContentType::HANDSHAKE.0);
    record.expect("a handshake message")[5..].to_vec()
}

/// Makes a server's provider record the secret of its next key exchange.
pub(crate) fn record_key_exchange(provider: &mut Provider) -> Arc<Mutex<Vec<u8>>> {
    let secret = Arc::new(Mutex::default());
    let groups = provider.groups.iter().map(|group| {
        let recorded = RecordedGroup { group: *group, secret: secret.clone() };
        &*Box::leak(Box::new(recorded)) as &dyn KeyAgreement
    });
    provider.groups = Vec::leak(groups.collect());
    secret
}

struct RecordedGroup {
    group: &'static dyn KeyAgreement,
    secret: Arc<Mutex<Vec<u8>>>,
}

impl KeyAgreement for RecordedGroup {
    fn group(&self) -> NamedGroup {
        self.group.group()
    }

    fn share_len(&self) -> usize {
        self.group.share_len()
    }

    fn reply_len(&self) -> usize {
        self.group.reply_len()
    }

    fn generate(&self) -> Result<Box<dyn Ephemeral>, AgreementError> {
        self.group.generate()
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), AgreementError> {
        let answer = self.group.encapsulate(share)?;
        *self.secret.lock().expect("no panic") = answer.1.expose().to_vec();
        Ok(answer)
    }
}
