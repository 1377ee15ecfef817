//! An OpenSSL client that reconnects with forward-secret early data.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::pkey::PKey;
use openssl::ssl::{
    ExtensionContext, Ssl, SslAlert, SslContext, SslContextBuilder, SslMethod, SslRef, SslSession,
    SslSessionCacheMode, SslVerifyMode, SslVersion,
};
use openssl::x509::X509;
use tessera::Zeroizing;

use crate::Result;
use crate::derive::{self, Key, SUITE};
use crate::ffi::{self, Terms};
use crate::messages::{EXTENSION, TicketExtension, Verdict, X25519, kinds};
use crate::openssl_end::OpensslEnd;
use crate::site::{PROTOCOL, SERVER_NAME, Site};

/// A ticket with everything to reconnect once.
pub struct Ticket {
    /// The server's extension about the one-time key.
    pub extension: TicketExtension,
    /// The name of its flight.
    pub handle: [u8; 32],
    sealed: Vec<u8>,
    psk: Zeroizing<Vec<u8>>,
    fs_secret: Key,
    received: Instant,
}

impl Ticket {
    /// Whether the server may still have the key, by its extension.
    fn is_fresh(&self) -> bool {
        self.received.elapsed() < Duration::from_secs(self.extension.lifetime.into())
    }
}

/// A client, and the tickets that it got.
pub struct OpensslClient {
    context: SslContext,
    tickets: Arc<Mutex<Vec<Ticket>>>,
}

/// State shared by a connection's callbacks.
#[derive(Default)]
struct Visit {
    /// The extension of the ticket that is being read.
    extension: Option<TicketExtension>,
    verdict: Option<Verdict>,
}

static VISIT: LazyLock<Index<Ssl, Visit>> =
    LazyLock::new(|| Ssl::new_ex_index().expect("OpenSSL has indices"));

impl OpensslClient {
    /// Creates a client that trusts the site, with these groups; it sends a share for the first.
    pub fn new(site: &Site, groups: &str) -> Result<Self> {
        let mut context = SslContext::builder(SslMethod::tls_client())?;
        context.set_min_proto_version(Some(SslVersion::TLS1_3))?;
        // A PSK has the hash of a suite, and early data its suite: a single suite avoids ambiguity.
        context.set_ciphersuites("TLS_AES_128_GCM_SHA256")?;
        context.set_groups_list(groups)?;
        context.set_alpn_protos(&[&[PROTOCOL.len() as u8], PROTOCOL].concat())?;
        context.cert_store_mut().add_cert(X509::from_der(&site.root)?)?;
        context.set_verify(SslVerifyMode::PEER);
        let tickets = Arc::new(Mutex::new(Vec::new()));
        keep_tickets(&mut context, tickets.clone())?;
        ffi::set_use_session(&mut context);
        Ok(Self { context: context.build(), tickets })
    }

    /// Takes a ticket for early data: it is removed before anything is sent.
    pub fn pop(&self) -> Option<Ticket> {
        let mut tickets = self.tickets.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(Ticket::is_fresh);
        tickets.pop()
    }

    /// Connects without a PSK.
    pub fn connect(&self) -> Result<OpensslEnd> {
        Ok(OpensslEnd::client(self.ssl()?, b"")?)
    }

    /// Connects with a ticket, and sends this early data.
    pub fn come_back(&self, ticket: Ticket, early_data: &[u8]) -> Result<OpensslEnd> {
        let Ticket { extension, sealed, psk, fs_secret, .. } = ticket;
        let mut ssl = self.ssl()?;
        let ephemeral = PKey::generate_x25519()?;
        let agreed = derive::agree(&ephemeral, &extension.public)?;
        let encapsulated = ephemeral.raw_public_key()?;
        let identity = derive::lone_identity(&extension.id, &encapsulated, &sealed, &psk)?;
        let psk = derive::psk_for_flight(&fs_secret[..], &agreed, &identity)?;
        let terms = Terms {
            psk: &psk[..],
            suite: SUITE,
            protocol: PROTOCOL,
            server_name: SERVER_NAME,
            max_early_data_size: extension.max_early_data_size,
        };
        let session = ffi::session_of(&ssl, &terms)?;
        ffi::offer(&mut ssl, identity, session);
        Ok(OpensslEnd::client(ssl, early_data)?)
    }

    /// Returns the server's verdict on early data that it rejected. It must not be trusted before the handshake is
    /// complete.
    pub fn verdict(end: &OpensslEnd) -> Option<Verdict> {
        end.ssl().ex_data(*VISIT).and_then(|visit| visit.verdict).filter(|_| end.complete)
    }

    fn ssl(&self) -> std::result::Result<Ssl, ErrorStack> {
        let mut ssl = Ssl::new(&self.context)?;
        ssl.set_hostname(SERVER_NAME)?;
        ssl.param_mut().set_host(SERVER_NAME)?;
        ssl.set_ex_data(*VISIT, Visit::default());
        Ok(ssl)
    }
}

/// Reads `forward_secret_early_data`, and keeps each ticket that comes with it.
fn keep_tickets(
    context: &mut SslContextBuilder,
    tickets: Arc<Mutex<Vec<Ticket>>>,
) -> std::result::Result<(), ErrorStack> {
    let places = ExtensionContext::TLS1_3_ONLY
        | ExtensionContext::CLIENT_HELLO
        | ExtensionContext::TLS1_3_ENCRYPTED_EXTENSIONS
        | ExtensionContext::TLS1_3_NEW_SESSION_TICKET;
    context.add_custom_ext(
        EXTENSION,
        places,
        |_, _, _| Ok(Some(kinds())),
        |ssl, place, body, _| {
            let visit = ssl.ex_data_mut(*VISIT).ok_or(SslAlert::INTERNAL_ERROR)?;
            if place.contains(ExtensionContext::TLS1_3_ENCRYPTED_EXTENSIONS) {
                visit.verdict = Some(Verdict::read(body));
            } else {
                let extension = TicketExtension::read(body).ok_or(SslAlert::DECODE_ERROR)?;
                visit.extension = Some(extension).filter(|extension| extension.kind == X25519);
            }
            Ok(())
        },
    )?;
    // Called for each ticket, after its extensions were read. OpenSSL itself keeps none.
    context.set_session_cache_mode(
        SslSessionCacheMode::CLIENT | SslSessionCacheMode::NO_INTERNAL_STORE,
    );
    context.set_new_session_callback(move |ssl, session| {
        if let Some(ticket) = ticket_of(ssl, &session) {
            tickets.lock().unwrap_or_else(PoisonError::into_inner).push(ticket);
        }
    });
    Ok(())
}

/// Returns the ticket that was just read, if a one-time key came with it.
fn ticket_of(ssl: &mut SslRef, session: &SslSession) -> Option<Ticket> {
    let extension = ssl.ex_data_mut(*VISIT)?.extension.take()?;
    // Of a TLS 1.3 session this is the ticket's PSK.
    let mut psk = Zeroizing::new(vec![0; session.master_key_len()]);
    session.master_key(&mut psk);
    let (fs_secret, handle) = derive::fs_secret_and_handle(ssl, &extension.write()).ok()?;
    let sealed = ffi::ticket_of(session);
    Some(Ticket { extension, handle, sealed, psk, fs_secret, received: Instant::now() })
}
