//! What the servers of a pool have in common, and BoringSSL's sessions lack.

use std::time::Duration;

use tessera::crypto::Secret;
use tessera::resume::{Ancestry, Carrier, SessionState};
use tessera::wire::CipherSuite;

use crate::context::SessionContext;
use crate::session::BoringSession;

/// A pool of servers that resume each other's sessions.
///
/// Its members serve the same names to the same clients. BoringSSL compares no server_name on a resumption, so a ticket
/// for one name of the pool is good for all of them; what must stay apart needs another pool, with other ticket keys.
#[derive(Debug, Clone)]
pub struct Pool {
    /// Names the pool in each session.
    pub context: SessionContext,
    /// The DNS names of the pool, in any case; `*.` as the first label covers one label. Other names, and clients that send
    /// none, keep this server's own tickets.
    pub names: Vec<String>,
    /// The scope of the pool's sessions at this server
    /// ([`ServerConfig::scope`](tessera::ServerConfig::scope)).
    pub scope: Vec<u8>,
    /// The epoch of this server's policy for which the pool's sessions count
    /// ([`ServerConfig::policy_epoch`](tessera::ServerConfig::policy_epoch)). A ticket doesn't contain it: with a new
    /// epoch, revoke the pool's keys too.
    pub policy_epoch: u64,
    /// The longest life of a ticket of another server. Envoy states two days, whatever its configuration.
    pub max_lifetime: Duration,
}

/// The longest chain of resumptions at an Envoy, in seconds: `SSL_DEFAULT_SESSION_AUTH_TIMEOUT` in BoringSSL.
const LONGEST_CHAIN: u64 = 7 * 24 * 3600;

impl Pool {
    /// Creates a pool in the default scope and epoch, with tickets that live for at most a day.
    #[must_use]
    pub fn new(context: SessionContext, names: Vec<String>) -> Self {
        Self {
            context,
            names,
            scope: Vec::new(),
            policy_epoch: 0,
            max_lifetime: Duration::from_secs(24 * 3600),
        }
    }

    /// Returns the session for the pool; `None` if other servers lack what it depends on, or would forget a restriction.
    pub(crate) fn session_for_all(&self, session: &SessionState) -> Option<BoringSession> {
        let SessionState {
            suite,
            psk,
            protocol,
            server_name,
            peer,
            accepted_by,
            external_psk,
            authenticated_at,
            policy_epoch,
            scope,
            ancestry,
            issued_at,
            lifetime,
            age_add,
            max_early_data_size,
            companion,
            carrier,
        } = session;
        let is_anonymous = peer.is_none() && accepted_by.is_none() && external_psk.is_none();
        // What comes back is sent again with an exchange, and counts as classical.
        let is_exchanged = *ancestry != Ancestry::PskOnly;
        let has_early_data = companion.is_some() || *max_early_data_size > 0;
        let is_ours = *scope == self.scope && *policy_epoch == self.policy_epoch;
        let is_of_all = is_anonymous
            && is_exchanged
            && !has_early_data
            && is_ours
            && *carrier == Carrier::STREAM
            && server_name.as_ref().is_some_and(|name| self.covers(name))
            && is_psk_of(*suite, psk);
        let time = issued_at / 1000;
        let chain = LONGEST_CHAIN.checked_sub(time.saturating_sub(*authenticated_at))?;
        let auth_timeout = u32::try_from(chain).ok()?;
        is_of_all.then(|| BoringSession {
            suite: *suite,
            psk: psk.duplicate(),
            time,
            timeout: (*lifetime).min(auth_timeout),
            auth_timeout,
            context: self.context.0.to_vec(),
            age_add: *age_add,
            protocol: protocol.clone(),
        })
    }

    /// Returns the session of a member of the pool, as this server's own, for a connection with this server_name; `None` if
    /// it is another pool's, or the name isn't the pool's.
    pub(crate) fn own_session(&self, session: BoringSession, name: &str) -> Option<SessionState> {
        if session.context != self.context.0
            || !self.covers(name)
            || !is_psk_of(session.suite, &session.psk)
        {
            return None;
        }
        let max_lifetime = u32::try_from(self.max_lifetime.as_secs()).unwrap_or(u32::MAX);
        let chain = LONGEST_CHAIN.saturating_sub(session.auth_timeout.into());
        Some(SessionState {
            suite: session.suite,
            psk: session.psk,
            protocol: session.protocol,
            server_name: Some(name.into()),
            peer: None,
            accepted_by: None,
            external_psk: None,
            authenticated_at: session.time.saturating_sub(chain),
            policy_epoch: self.policy_epoch,
            scope: self.scope.clone(),
            ancestry: Ancestry::Classical,
            issued_at: session.time.checked_mul(1000)?,
            lifetime: session.timeout.min(session.auth_timeout).min(max_lifetime),
            age_add: session.age_add,
            max_early_data_size: 0,
            companion: None,
            carrier: Carrier::STREAM,
        })
    }

    /// RFC 9525 §6.3: a wildcard is a whole label, the leftmost.
    fn covers(&self, name: &str) -> bool {
        let below = name.split_once('.').filter(|(label, _)| !label.is_empty());
        self.names.iter().any(|own| match own.strip_prefix("*.") {
            Some(own) => below.is_some_and(|(_, below)| own.eq_ignore_ascii_case(below)),
            None => own.eq_ignore_ascii_case(name),
        })
    }
}

/// Whether BoringSSL has the suite, with a PSK of this length.
fn is_psk_of(suite: CipherSuite, psk: &Secret) -> bool {
    let hash_len = match suite {
        CipherSuite::TLS_AES_128_GCM_SHA256 | CipherSuite::TLS_CHACHA20_POLY1305_SHA256 => 32,
        CipherSuite::TLS_AES_256_GCM_SHA384 => 48,
        _ => return false,
    };
    psk.expose().len() == hash_len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool::new(SessionContext([7; 32]), vec!["a.example".into()])
    }

    fn session(suite: CipherSuite, psk_len: usize) -> BoringSession {
        BoringSession {
            suite,
            psk: Secret::from_slice(&vec![5; psk_len]).expect("a PSK"),
            time: 1_800_000_000,
            timeout: 100,
            auth_timeout: 100,
            context: vec![7; 32],
            age_add: 1,
            protocol: None,
        }
    }

    #[test]
    fn a_psk_of_another_length_than_its_suites_hash_is_none() {
        let opens = |suite, len| pool().own_session(session(suite, len), "a.example").is_some();
        assert!(opens(CipherSuite::TLS_AES_128_GCM_SHA256, 32));
        assert!(opens(CipherSuite::TLS_AES_256_GCM_SHA384, 48));
        for len in [0, 31, 33, 48] {
            assert!(!opens(CipherSuite::TLS_AES_128_GCM_SHA256, len), "{len}");
        }
        assert!(!opens(CipherSuite::TLS_AES_256_GCM_SHA384, 32));
        assert!(!opens(CipherSuite(0xc02b), 32), "a suite of TLS 1.2");
    }

    #[test]
    fn a_ticket_lives_no_longer_than_its_chain_in_both_directions() {
        let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
        let opened = |timeout, auth_timeout| {
            let session = BoringSession { timeout, auth_timeout, ..session(suite, 32) };
            pool().own_session(session, "a.example").expect("a session")
        };
        assert_eq!(opened(100, 200).lifetime, 100);
        assert_eq!(opened(200, 100).lifetime, 100);
        let mut own = opened(100, 7 * 24 * 3600);
        let sealed = |own: &SessionState| {
            let sealed = pool().session_for_all(own).expect("a session");
            (sealed.timeout, sealed.auth_timeout)
        };
        assert_eq!(sealed(&own), (100, 7 * 24 * 3600));
        own.authenticated_at -= 7 * 24 * 3600 - 10;
        assert_eq!(sealed(&own), (10, 10));
    }

    #[test]
    fn a_time_that_no_clock_has_is_none() {
        let far = |time| {
            let suite = CipherSuite::TLS_AES_128_GCM_SHA256;
            pool().own_session(BoringSession { time, ..session(suite, 32) }, "a.example")
        };
        assert!(far(u64::MAX).is_none() && far(u64::MAX / 1000).is_some());
        assert_eq!(far(0).map(|session| session.authenticated_at), Some(0));
    }
}
