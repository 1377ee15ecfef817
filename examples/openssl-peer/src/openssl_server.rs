//! An OpenSSL server that accepts forward-secret early data, once.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::pkey::{Id, PKey};
use openssl::ssl::{
    AlpnError, ExtensionContext, NameType, Ssl, SslAlert, SslContext, SslContextBuilder, SslMethod,
    SslOptions, SslRef, SslSession, SslVersion, select_next_proto,
};
use openssl::x509::X509;
use tessera::crypto::{KeyForm, Secret};
use tessera::handshake::Reply;
use tessera::resume::{
    Absence, FlightHandle, OneTimeSecret, PutSecret, TakeAnswer, TakePurpose, TakeSecret, Vault,
};
use tessera::wire::NamedGroup;

use crate::Result;
use crate::derive::{self, SUITE};
use crate::ffi::{self, Terms};
use crate::messages::{EXTENSION, TicketExtension, Verdict, X25519, kinds, read_paired};
use crate::openssl_end::OpensslEnd;
use crate::site::{PROTOCOL, SERVER_NAME, Site};

/// A server.
pub struct OpensslServer {
    context: SslContext,
}

/// State shared by a connection's callbacks.
#[derive(Default)]
struct Visit {
    /// The client supports one-time keys of this server's kind.
    lists_kind: bool,
    /// The first identity.
    first: Option<Vec<u8>>,
    /// The PSK of the first identity, if its key was there and has been taken.
    taken: Option<SslSession>,
    /// The verdict to send if its early data isn't accepted.
    verdict: Option<Verdict>,
}

static VISIT: LazyLock<Index<Ssl, Visit>> =
    LazyLock::new(|| Ssl::new_ex_index().expect("OpenSSL has indices"));

impl OpensslServer {
    /// Returns the site's server, with this vault and these groups.
    pub fn new(site: &Site, vault: Arc<dyn Vault>, groups: &str) -> Result<Self> {
        let mut context = SslContext::builder(SslMethod::tls_server())?;
        context.set_min_proto_version(Some(SslVersion::TLS1_3))?;
        context.set_ciphersuites("TLS_AES_128_GCM_SHA256")?;
        context.set_groups_list(groups)?;
        context.set_certificate(&*X509::from_der(&site.certificate)?)?;
        context.set_private_key(&*PKey::private_key_from_der(&site.key)?)?;
        context.set_alpn_select_callback(|_, offered| {
            static OURS: LazyLock<Vec<u8>> =
                LazyLock::new(|| [&[PROTOCOL.len() as u8], PROTOCOL].concat());
            select_next_proto(&OURS, offered).ok_or(AlpnError::ALERT_FATAL)
        });
        context.set_max_early_data(MAX_EARLY_DATA_SIZE)?;
        // With a limit set, OpenSSL would also accept early data under its own tickets. That is rejected here, so they
        // need no single use, and the fallback works wherever a ticket opens.
        context.set_options(SslOptions::from_bits_retain(SSL_OP_NO_ANTI_REPLAY));
        ffi::set_allow_early_data(&mut context, |ssl| {
            ssl.ex_data(*VISIT).is_some_and(|visit| visit.taken.is_some())
        });
        issue_tickets(&mut context, vault.clone())?;
        ffi::set_find_session(&mut context, move |ssl, identity| find(&*vault, ssl, identity));
        Ok(Self { context: context.build() })
    }

    /// Waits for a client.
    pub fn accept(&self) -> Result<OpensslEnd> {
        let mut ssl = Ssl::new(&self.context)?;
        ssl.set_ex_data(*VISIT, Visit::default());
        Ok(OpensslEnd::server(ssl)?)
    }
}

/// Sends a one-time key with each ticket, and the verdict on early data that was rejected.
fn issue_tickets(context: &mut SslContextBuilder, vault: Arc<dyn Vault>) -> Result<()> {
    let places = ExtensionContext::TLS1_3_ONLY
        | ExtensionContext::CLIENT_HELLO
        | ExtensionContext::TLS1_3_ENCRYPTED_EXTENSIONS
        | ExtensionContext::TLS1_3_NEW_SESSION_TICKET;
    context.add_custom_ext(
        EXTENSION,
        places,
        move |ssl, place, _| {
            if place.contains(ExtensionContext::TLS1_3_NEW_SESSION_TICKET) {
                return Ok(issue(&*vault, ssl).map(|ticket| ticket.write()));
            }
            let verdict = ssl.ex_data(*VISIT).and_then(|visit| visit.verdict);
            // A verdict is only for rejected early data.
            let rejected = ffi::early_data_status(ssl) == Some(false);
            Ok(verdict.filter(|_| rejected).map(Verdict::write))
        },
        |ssl, _, body, _| {
            let visit = ssl.ex_data_mut(*VISIT).ok_or(SslAlert::INTERNAL_ERROR)?;
            let listed = body.get(2..).unwrap_or_default();
            visit.lists_kind = listed.chunks(2).any(|kind| kind == &kinds()[2..]);
            Ok(())
        },
    )?;
    Ok(())
}

/// Returns a new one-time key, whose private half is in the vault; `None` if the client can't use one.
fn issue(vault: &dyn Vault, ssl: &SslRef) -> Option<TicketExtension> {
    // Early data belongs to the name and the protocol of this connection; there is one of each.
    let fits = ssl.servername(NameType::HOST_NAME) == Some(SERVER_NAME)
        && ssl.selected_alpn_protocol() == Some(PROTOCOL);
    if !fits || !ssl.ex_data(*VISIT)?.lists_kind {
        return None;
    }
    let mut id = [0; 32];
    openssl::rand::rand_bytes(&mut id).ok()?;
    let key = PKey::generate_x25519().ok()?;
    let ticket = TicketExtension {
        kind: X25519,
        id,
        public: key.raw_public_key().ok()?,
        lifetime: LIFETIME.as_secs() as u32,
        max_early_data_size: MAX_EARLY_DATA_SIZE,
    };
    let (fs_secret, _) = derive::fs_secret_and_handle(ssl, &ticket.write()).ok()?;
    let secret = OneTimeSecret {
        kind: NamedGroup(X25519),
        form: KeyForm::Seed,
        key: key.raw_private_key().ok()?.into(),
        fs_secret: Secret::from_slice(&fs_secret[..])?,
    };
    let unix = unix()?;
    // The callback sees only the identity, without the sealed ticket that contains the handle: so the vault knows the
    // key by the ticket's id.
    vault.put(PutSecret::new(FlightHandle(id), secret, unix + LIFETIME, unix)).ok()?;
    Some(ticket)
}

/// Returns the PSK behind an identity, if it's a forward-secret one whose key is still there. OpenSSL checks the binder
/// next, and a wrong one is fatal.
fn find(
    vault: &dyn Vault,
    ssl: &mut SslRef,
    identity: &[u8],
) -> std::result::Result<Option<SslSession>, ErrorStack> {
    // Called for each identity until one is known, and for all of them again after a HelloRetryRequest: then the key is
    // gone, but this connection has it. Early data belongs to the first identity, so no ClientHello takes more than one
    // key.
    let Some(visit) = ssl.ex_data_mut(*VISIT) else { return Ok(None) };
    if let Some(first) = &visit.first {
        return Ok(visit.taken.clone().filter(|_| first == identity));
    }
    visit.first = Some(identity.to_vec());
    let Some((id, encapsulated)) = read_paired(identity) else { return Ok(None) };
    let question = TakeSecret::new(FlightHandle(*id), TakePurpose::Accept, unix());
    let Reply::Now(taken) = vault.take(&question) else { return Ok(None) };
    let verdict = match &taken {
        // If it isn't accepted here, no other server can accept it.
        TakeAnswer::Taken(_) | TakeAnswer::Absent(Absence::Burned) => Verdict::Burned,
        TakeAnswer::Absent(Absence::Used) => Verdict::Used,
        _ => Verdict::Unknown,
    };
    visit.verdict = Some(verdict);
    let TakeAnswer::Taken(secret) = taken else { return Ok(None) };
    // After the take, any error is fatal.
    let session = session_of(ssl, &secret, encapsulated, identity)?;
    if let Some(visit) = ssl.ex_data_mut(*VISIT) {
        visit.taken = Some(session.clone());
    }
    Ok(Some(session))
}

fn session_of(
    ssl: &SslRef,
    secret: &OneTimeSecret,
    encapsulated: &[u8],
    identity: &[u8],
) -> std::result::Result<SslSession, ErrorStack> {
    let key = PKey::private_key_from_raw_bytes(&secret.key, Id::X25519)?;
    let agreed = derive::agree(&key, encapsulated)?;
    let fs_secret = secret.fs_secret.expose();
    let psk = derive::psk_for_flight(fs_secret, &agreed, identity)?;
    let terms = Terms {
        psk: &psk[..],
        suite: SUITE,
        protocol: PROTOCOL,
        server_name: SERVER_NAME,
        max_early_data_size: MAX_EARLY_DATA_SIZE,
    };
    ffi::session_of(ssl, &terms)
}

fn unix() -> Option<Duration> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok()
}

/// openssl/ssl.h; the `openssl` crate has no name for it.
const SSL_OP_NO_ANTI_REPLAY: u64 = 1 << 24;

/// How long a key is kept.
const LIFETIME: Duration = Duration::from_secs(3600);

/// In bytes.
const MAX_EARLY_DATA_SIZE: u32 = 16 * 1024;
