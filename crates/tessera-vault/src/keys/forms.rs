//! Ticket keys for servers of other makers, and fingerprints of keys: all derived, so that none reveals the key.

use tessera::crypto::{Hash, Provider, wipe_stack_below};
use tessera::wire::CipherSuite;
use zeroize::Zeroizing;

use super::key::TicketKey;

/// The form of a ticket key as another server takes it: 16 bytes of name, then keys for HMAC-SHA256 and AES-CBC.
///
/// Servers disagree about the order of the two keys (nginx's 48 bytes have AES first, its 80 bytes HMAC). All bytes are
/// random, so servers of one kind agree whatever the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TicketKeyForm {
    /// 80 bytes: 16 of name, 32 for HMAC-SHA256, 32 for AES-256-CBC.
    Aes256,
    /// 48 bytes: 16 of name, 16 for HMAC-SHA256, 16 for AES-128-CBC.
    Aes128,
}

impl TicketKeyForm {
    /// Returns the length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Aes256 => 80,
            Self::Aes128 => 48,
        }
    }

    /// Whether it has no bytes: never.
    #[must_use]
    pub fn is_empty(self) -> bool {
        false
    }
}

/// What the tickets of a pool of other servers have in common. Servers of two domains have independent keys: neither opens
/// the other's tickets.
///
/// A ticket that crosses to a virtual host with other rules for clients' certificates skips these rules (CVE-2025-23419).
/// So servers share a domain only if they serve the same names, to the same tenant, with the same client authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketKeyDomain {
    /// The kind of server: tickets cross between servers of one kind alone.
    pub kind: &'static str,
    /// The operator's name for the pool.
    pub name: String,
}

impl TicketKeyDomain {
    /// Encodes the domain, for [`TicketKey::derive`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.kind.as_bytes(), &[0], self.name.as_bytes()].concat()
    }
}

impl TicketKey {
    /// Derives a key for another server: HKDF-Expand of this key's secret (RFC 5869), bound to the form and to a
    /// `domain`. Keys of two domains are independent: neither opens the other's tickets.
    #[must_use]
    pub fn derive(
        &self,
        provider: &Provider,
        form: TicketKeyForm,
        domain: &[u8],
    ) -> Zeroizing<Vec<u8>> {
        let mut key = Zeroizing::new(vec![0; form.len()]);
        let label: &[u8] = match form {
            TicketKeyForm::Aes256 => b"tessera ticket key 80 v1",
            TicketKeyForm::Aes128 => b"tessera ticket key 48 v1",
        };
        self.expand(provider, label, domain, &mut key);
        key
    }

    /// Returns a fingerprint of the secret for `context`: only an owner of the key can compute it.
    #[must_use]
    pub fn fingerprint(&self, provider: &Provider, context: &[u8]) -> [u8; 16] {
        let mut fingerprint = [0; 16];
        self.expand(provider, b"tessera ticket key fingerprint v1", context, &mut fingerprint);
        fingerprint
    }

    /// Fills `out` from the secret, bound to a purpose and a context, and leaves nothing else in memory.
    fn expand(&self, provider: &Provider, label: &'static [u8], context: &[u8], out: &mut [u8]) {
        self.expand_only(provider, label, context, out);
        wipe_stack_below(provider.stack_depth.derivation);
    }

    #[inline(never)]
    fn expand_only(
        &self,
        provider: &Provider,
        label: &'static [u8],
        context: &[u8],
        out: &mut [u8],
    ) {
        let hash = hash(provider);
        // Another purpose than sealing's: the same secret never serves two.
        let prk = hash.extract(label, &*self.secret);
        hash.expand(prk.expose(), &[label, context].concat(), out);
    }
}

/// The same for all servers that share keys, whatever suites they prefer.
fn hash(provider: &Provider) -> &'static dyn Hash {
    let suite = provider.suite(CipherSuite::TLS_AES_128_GCM_SHA256);
    suite.unwrap_or(provider.suites[0]).hash
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    fn key(secret: u8) -> TicketKey {
        let now = Duration::from_secs(1_800_000_000);
        let key = TicketKey::generate(&tessera_aws_lc::provider(), now, now, now);
        TicketKey { id: [secret; 16], secret: [secret; 32].into(), ..key.expect("random bytes") }
    }

    #[test]
    fn keys_of_other_forms_domains_and_secrets_are_independent() {
        let provider = tessera_aws_lc::provider();
        let mut halves = BTreeSet::new();
        for secret in [1, 2] {
            for form in [TicketKeyForm::Aes256, TicketKeyForm::Aes128] {
                for domain in [&b""[..], b"a", b"ab"] {
                    let derived = key(secret).derive(&provider, form, domain);
                    assert_eq!(derived.len(), form.len());
                    assert_eq!(derived, key(secret).derive(&provider, form, domain));
                    halves.extend(derived.chunks_exact(16).map(<[u8]>::to_vec));
                }
            }
        }
        assert_eq!(halves.len(), 2 * 3 * (5 + 3));
    }

    /// Other members of a fleet must derive the same, whatever version they run.
    #[test]
    fn derived_keys_are_what_they_always_were() {
        let provider = tessera_aws_lc::provider();
        let derived = key(1).derive(&provider, TicketKeyForm::Aes128, b"domain");
        let hex: String = derived.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "a130ac5a8b7154062a55116f5f6a3dadf7622d59c0239e4aa1c8c5b196ad28bcdb83b2c38891e2296e4f1ac11ae34d55"
        );
    }

    #[test]
    fn a_fingerprint_depends_on_the_secret_and_the_context() {
        let provider = tessera_aws_lc::provider();
        let fingerprints = [
            key(1).fingerprint(&provider, b"a"),
            key(1).fingerprint(&provider, b"b"),
            key(2).fingerprint(&provider, b"a"),
        ];
        let distinct: BTreeSet<_> = fingerprints.iter().collect();
        assert_eq!(distinct.len(), fingerprints.len());
        assert_eq!(fingerprints[0], key(1).fingerprint(&provider, b"a"));
    }
}
