//! Safe wrappers of calls that the `openssl` crate lacks. All unsafe code of this example is here.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_uchar, c_void};
use std::ptr;
use std::sync::LazyLock;

use foreign_types::{ForeignType, ForeignTypeRef};
use openssl::error::ErrorStack;
use openssl::ex_data::Index;
use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslRef, SslSession, SslSessionRef};
use openssl_sys as sys;

type UseSession = unsafe extern "C" fn(
    *mut sys::SSL,
    *const sys::EVP_MD,
    *mut *const c_uchar,
    *mut usize,
    *mut *mut sys::SSL_SESSION,
) -> c_int;
type FindSession =
    unsafe extern "C" fn(*mut sys::SSL, *const c_uchar, usize, *mut *mut sys::SSL_SESSION) -> c_int;
type AllowEarlyData = unsafe extern "C" fn(*mut sys::SSL, *mut c_void) -> c_int;

// openssl/ssl.h, 1.1.1 and later.
unsafe extern "C" {
    fn SSL_CTX_set_psk_use_session_callback(
        context: *mut sys::SSL_CTX,
        callback: Option<UseSession>,
    );
    fn SSL_CTX_set_psk_find_session_callback(
        context: *mut sys::SSL_CTX,
        callback: Option<FindSession>,
    );
    fn SSL_CTX_set_allow_early_data_cb(
        context: *mut sys::SSL_CTX,
        callback: Option<AllowEarlyData>,
        argument: *mut c_void,
    );
    fn SSL_CIPHER_find(ssl: *mut sys::SSL, id: *const c_uchar) -> *const sys::SSL_CIPHER;
    fn SSL_SESSION_new() -> *mut sys::SSL_SESSION;
    fn SSL_SESSION_set1_master_key(
        session: *mut sys::SSL_SESSION,
        key: *const c_uchar,
        len: usize,
    ) -> c_int;
    fn SSL_SESSION_set_cipher(
        session: *mut sys::SSL_SESSION,
        cipher: *const sys::SSL_CIPHER,
    ) -> c_int;
    fn SSL_SESSION_set_protocol_version(session: *mut sys::SSL_SESSION, version: c_int) -> c_int;
    fn SSL_SESSION_set1_alpn_selected(
        session: *mut sys::SSL_SESSION,
        protocol: *const c_uchar,
        len: usize,
    ) -> c_int;
    fn SSL_SESSION_set1_hostname(session: *mut sys::SSL_SESSION, name: *const c_char) -> c_int;
    fn SSL_SESSION_get0_ticket(
        session: *const sys::SSL_SESSION,
        ticket: *mut *const c_uchar,
        len: *mut usize,
    );
    fn SSL_get_early_data_status(ssl: *const sys::SSL) -> c_int;
}

/// The external PSK that a client's connection offers.
struct Offer {
    identity: Vec<u8>,
    session: SslSession,
}

type SessionLookup = Result<Option<SslSession>, ErrorStack>;
type Find = Box<dyn Fn(&mut SslRef, &[u8]) -> SessionLookup + Send + Sync>;
type EarlyDataFilter = Box<dyn Fn(&SslRef) -> bool + Send + Sync>;

static OFFER: LazyLock<Index<Ssl, Offer>> =
    LazyLock::new(|| Ssl::new_ex_index().expect("OpenSSL has indices"));
static FIND: LazyLock<Index<SslContext, Find>> =
    LazyLock::new(|| SslContext::new_ex_index().expect("OpenSSL has indices"));
static ALLOW: LazyLock<Index<SslContext, EarlyDataFilter>> =
    LazyLock::new(|| SslContext::new_ex_index().expect("OpenSSL has indices"));

/// Makes the connections of a client's context offer the PSK passed to [`offer`].
pub(crate) fn set_use_session(context: &mut SslContextBuilder) {
    // SAFETY: the context is live, and the callback is a function.
    unsafe { SSL_CTX_set_psk_use_session_callback(context.as_ptr(), Some(use_session)) }
}

/// Sets the external PSK of this connection: the same before and after a HelloRetryRequest.
pub(crate) fn offer(ssl: &mut SslRef, identity: Vec<u8>, session: SslSession) {
    ssl.set_ex_data(*OFFER, Offer { identity, session });
}

unsafe extern "C" fn use_session(
    ssl: *mut sys::SSL,
    _hash: *const sys::EVP_MD,
    identity: *mut *const c_uchar,
    identity_len: *mut usize,
    session: *mut *mut sys::SSL_SESSION,
) -> c_int {
    // SAFETY: OpenSSL passes a live connection and places to write to; it copies the identity before anything else
    // happens to the connection, and takes the reference to the session.
    unsafe {
        let offer = SslRef::from_ptr(ssl).ex_data(*OFFER);
        *identity = offer.map_or(ptr::null(), |offer| offer.identity.as_ptr());
        *identity_len = offer.map_or(0, |offer| offer.identity.len());
        *session = offer.map_or(ptr::null_mut(), |offer| into_reference(offer.session.clone()));
    }
    1
}

/// Looks up the session of an external PSK's identity, on the server's side. After a HelloRetryRequest it is called
/// again. An error ends the connection.
pub(crate) fn set_find_session(
    context: &mut SslContextBuilder,
    find: impl Fn(&mut SslRef, &[u8]) -> SessionLookup + Send + Sync + 'static,
) {
    context.set_ex_data(*FIND, Box::new(find));
    // SAFETY: the context is live, and the callback is a function.
    unsafe { SSL_CTX_set_psk_find_session_callback(context.as_ptr(), Some(find_session)) }
}

unsafe extern "C" fn find_session(
    ssl: *mut sys::SSL,
    identity: *const c_uchar,
    identity_len: usize,
    session: *mut *mut sys::SSL_SESSION,
) -> c_int {
    // SAFETY: OpenSSL passes a live connection, an identity of this length and a place to write to, and takes the
    // reference to the session. The context outlives the connection, and its data no longer changes.
    unsafe {
        let ssl = SslRef::from_ptr_mut(ssl);
        let identity = match identity_len {
            0 => &[],
            len => std::slice::from_raw_parts(identity, len),
        };
        let find = ssl.ssl_context().ex_data(*FIND).map(|find| find as *const Find);
        let found = find.map_or(Ok(None), |find| (*find)(ssl, identity));
        let is_settled = found.is_ok();
        *session = found.ok().flatten().map_or(ptr::null_mut(), into_reference);
        is_settled.into()
    }
}

/// Has the final decision on a connection's early data, on the server's side.
pub(crate) fn set_allow_early_data(
    context: &mut SslContextBuilder,
    allow: impl Fn(&SslRef) -> bool + Send + Sync + 'static,
) {
    context.set_ex_data(*ALLOW, Box::new(allow));
    // SAFETY: the context is live, the callback is a function, and ignores its argument.
    unsafe {
        SSL_CTX_set_allow_early_data_cb(context.as_ptr(), Some(allow_early_data), ptr::null_mut());
    }
}

unsafe extern "C" fn allow_early_data(ssl: *mut sys::SSL, _argument: *mut c_void) -> c_int {
    // SAFETY: OpenSSL passes a live connection.
    let ssl = unsafe { SslRef::from_ptr(ssl) };
    ssl.ssl_context().ex_data(*ALLOW).is_some_and(|allow| allow(ssl)).into()
}

/// Turns the session into a reference for OpenSSL to own.
fn into_reference(session: SslSession) -> *mut sys::SSL_SESSION {
    let pointer = session.as_ptr();
    std::mem::forget(session);
    pointer
}

/// What OpenSSL needs to know about a PSK, and compares before it accepts early data.
pub(crate) struct Terms<'a> {
    /// The PSK.
    pub(crate) psk: &'a [u8],
    /// The suite, as on the wire.
    pub(crate) suite: [u8; 2],
    /// The application protocol.
    pub(crate) protocol: &'a [u8],
    /// The server's name.
    pub(crate) server_name: &'a str,
    /// In bytes; 0 for none.
    pub(crate) max_early_data_size: u32,
}

/// Returns a session made of a PSK, for the callbacks.
pub(crate) fn session_of(ssl: &SslRef, terms: &Terms<'_>) -> Result<SslSession, ErrorStack> {
    let server_name = CString::new(terms.server_name).map_err(|_| ErrorStack::get())?;
    // SAFETY: the connection is live, every pointer is valid for the length passed with it, OpenSSL copies the data,
    // and the new session is owned here from its first check on.
    unsafe {
        let session = SSL_SESSION_new();
        if session.is_null() {
            return Err(ErrorStack::get());
        }
        let session = SslSession::from_ptr(session);
        let it = session.as_ptr();
        let cipher = SSL_CIPHER_find(ssl.as_ptr(), terms.suite.as_ptr());
        if cipher.is_null() {
            return Err(ErrorStack::get());
        }
        check(SSL_SESSION_set_cipher(it, cipher))?;
        check(SSL_SESSION_set_protocol_version(it, sys::TLS1_3_VERSION))?;
        check(SSL_SESSION_set1_master_key(it, terms.psk.as_ptr(), terms.psk.len()))?;
        let protocol = terms.protocol;
        check(SSL_SESSION_set1_alpn_selected(it, protocol.as_ptr(), protocol.len()))?;
        check(SSL_SESSION_set1_hostname(it, server_name.as_ptr()))?;
        check(sys::SSL_SESSION_set_max_early_data(it, terms.max_early_data_size))?;
        Ok(session)
    }
}

fn check(result: c_int) -> Result<(), ErrorStack> {
    if result == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}

/// Returns the ticket of a session.
pub(crate) fn ticket_of(session: &SslSessionRef) -> Vec<u8> {
    let mut ticket = ptr::null();
    let mut len = 0;
    // SAFETY: the session is live; it owns the ticket, which is copied at once.
    unsafe {
        SSL_SESSION_get0_ticket(session.as_ptr(), &mut ticket, &mut len);
        if ticket.is_null() { Vec::new() } else { std::slice::from_raw_parts(ticket, len).to_vec() }
    }
}

/// Whether early data was offered and rejected (Some(false)) or accepted (Some(true)).
pub(crate) fn early_data_status(ssl: &SslRef) -> Option<bool> {
    // SAFETY: the connection is live.
    match unsafe { SSL_get_early_data_status(ssl.as_ptr()) } {
        SSL_EARLY_DATA_REJECTED => Some(false),
        SSL_EARLY_DATA_ACCEPTED => Some(true),
        _ => None,
    }
}

const SSL_EARLY_DATA_REJECTED: c_int = 1;
const SSL_EARLY_DATA_ACCEPTED: c_int = 2;
