//! What a member acknowledges: the keys that its server holds, in their order.

use std::collections::BTreeMap;
use std::time::Duration;

use tessera::crypto::Provider;
use tessera_vault::TicketKey;

/// The version that this code writes. The first had ids alone.
const VERSION: u8 = 2;

/// A member's acknowledgement. In bytes: version, the number of keys, their ids, their fingerprints; the member's
/// instance, when it joined and when it acknowledged these keys; what it compares with others. Later versions may append.
///
/// A fingerprint is derived from the key's secret for this member: no member can acknowledge a key that it doesn't have,
/// nor copy another's acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Acknowledgement {
    /// The keys of its server: the issuing one, the next one, then the earlier ones. Id and fingerprint of each.
    pub(crate) keys: Vec<([u8; 16], [u8; 16])>,
    /// Random, for each life of a member.
    pub(crate) instance: [u8; 16],
    /// Since the Unix epoch, by the member's clock.
    pub(crate) joined_at: Duration,
    /// Since the Unix epoch, by the member's clock.
    pub(crate) since: Duration,
    /// What members of one kind must have in common.
    pub(crate) traits: MemberTraits,
}

/// What a member's server is, and what it must have in common with the other members of its kind: without it their
/// tickets don't cross, in silence. Envoy, for example, refuses a ticket of a server with other names or another issuer in
/// its certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberTraits {
    /// The kind: only members of one kind are compared. Empty: this member is compared with none.
    pub kind: String,
    /// The values to compare, by their names: both public, since the store holds them in the clear.
    pub values: BTreeMap<String, String>,
}

impl MemberTraits {
    /// Returns how a member of the same kind differs, as `name: "own value" here, "other" there`.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        if self.kind != other.kind || self.kind.is_empty() {
            return None;
        }
        let names = self.values.keys().chain(other.values.keys());
        let (get, absent) = (|of: &Self, name: &String| of.values.get(name).cloned(), "nothing");
        let differs = |name: &&String| get(self, name) != get(other, name);
        let name = names.into_iter().find(differs)?;
        let shown = |of: &Self| get(of, name).map_or(absent.to_owned(), |it| format!("{it:?}"));
        Some(format!("{name}: {} here, {} there", shown(self), shown(other)))
    }
}

impl Acknowledgement {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let count = u16::try_from(self.keys.len()).unwrap_or(u16::MAX);
        let keys = || self.keys.iter().take(count.into());
        let mut out = vec![VERSION];
        out.extend_from_slice(&count.to_be_bytes());
        keys().for_each(|(id, _)| out.extend_from_slice(id));
        keys().for_each(|(_, fingerprint)| out.extend_from_slice(fingerprint));
        out.extend_from_slice(&self.instance);
        for time in [self.joined_at, self.since] {
            out.extend_from_slice(&(time.as_millis() as u64).to_be_bytes());
        }
        let MemberTraits { kind, values } = &self.traits;
        put_text(&mut out, kind);
        // Without a count, what a later version appends would look like more of them.
        let count = u16::try_from(values.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_be_bytes());
        for (name, value) in values.iter().take(count.into()) {
            put_text(&mut out, name);
            put_text(&mut out, value);
        }
        out
    }

    /// Decodes an acknowledgement; `None` if it is of the first version, or malformed: it acknowledges nothing.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&version, rest) = bytes.split_first()?;
        if version < VERSION {
            return None;
        }
        let (count, rest) = rest.split_first_chunk()?;
        let len = usize::from(u16::from_be_bytes(*count)) * 16;
        let (ids, rest) = rest.split_at_checked(len)?;
        let (fingerprints, rest) = rest.split_at_checked(len)?;
        let (ids, _) = ids.as_chunks();
        let (fingerprints, _) = fingerprints.as_chunks();
        let (instance, rest) = rest.split_first_chunk()?;
        let (joined_at, rest) = rest.split_first_chunk()?;
        let (since, rest) = rest.split_first_chunk()?;
        let (kind, rest) = take_text(rest)?;
        let (count, mut rest) = rest.split_first_chunk()?;
        let mut values = BTreeMap::new();
        for _ in 0..u16::from_be_bytes(*count) {
            let (name, after) = take_text(rest)?;
            let (value, after) = take_text(after)?;
            values.insert(name, value);
            rest = after;
        }
        Some(Self {
            keys: ids.iter().copied().zip(fingerprints.iter().copied()).collect(),
            instance: *instance,
            joined_at: Duration::from_millis(u64::from_be_bytes(*joined_at)),
            since: Duration::from_millis(u64::from_be_bytes(*since)),
            traits: MemberTraits { kind, values },
        })
    }

    /// Whether the server of this member holds the key.
    pub(crate) fn covers(&self, key: &TicketKey, member: &[u8], provider: &Provider) -> bool {
        let wanted = fingerprint(key, member, provider);
        self.keys.iter().any(|(id, fingerprint)| *id == key.id && *fingerprint == wanted)
    }
}

/// Puts a text with its length before it; at most 65,535 bytes of it.
fn put_text(out: &mut Vec<u8>, text: &str) {
    let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&len.to_be_bytes());
    out.extend_from_slice(text.as_bytes().get(..len.into()).unwrap_or_default());
}

/// Takes such a text from the front, and returns the rest.
fn take_text(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (text, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
    Some((String::from_utf8_lossy(text).into_owned(), rest))
}

/// Returns the fingerprint by which a member acknowledges a key.
pub(crate) fn fingerprint(key: &TicketKey, member: &[u8], provider: &Provider) -> [u8; 16] {
    key.fingerprint(provider, &[b"acknowledged", &key.id[..], member].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(secret: u8) -> TicketKey {
        TicketKey::forever([secret; 16], [secret; 32].into())
    }

    fn acknowledgement(keys: &[u8], member: &[u8]) -> Acknowledgement {
        let provider = tessera_aws_lc::provider();
        let keys = keys.iter().map(|secret| key(*secret));
        Acknowledgement {
            keys: keys.map(|key| (key.id, fingerprint(&key, member, &provider))).collect(),
            instance: [9; 16],
            joined_at: Duration::from_millis(5),
            since: Duration::from_millis(7),
            traits: MemberTraits {
                kind: "envoy".into(),
                values: [("issuer".into(), "CN=a".into()), ("names".into(), String::new())].into(),
            },
        }
    }

    #[test]
    fn an_acknowledgement_is_read_back_and_later_versions_may_append() {
        let written = acknowledgement(&[1, 2], b"a");
        let bytes = written.encode();
        assert_eq!(Acknowledgement::decode(&bytes).as_ref(), Some(&written));
        for more in [&b"?"[..], &[0, 4, 0, 0, 0, 1].repeat(6)] {
            let later = [&[3], &bytes[1..], more].concat();
            assert_eq!(Acknowledgement::decode(&later).as_ref(), Some(&written));
        }
        for cut in 0..bytes.len() {
            assert_eq!(Acknowledgement::decode(&bytes[..cut]), None, "{cut}");
        }
        // The first version had ids alone.
        assert_eq!(Acknowledgement::decode(&[&[1, 0, 1][..], &[1; 16]].concat()), None);
    }

    #[test]
    fn an_acknowledgement_covers_the_keys_that_the_member_has() {
        let provider = tessera_aws_lc::provider();
        let covers = |it: &Acknowledgement, key: &TicketKey, member: &[u8]| {
            it.covers(key, member, &provider)
        };
        let good = acknowledgement(&[1, 2], b"a");
        assert!(covers(&good, &key(1), b"a") && covers(&good, &key(2), b"a"));
        assert!(!covers(&good, &key(3), b"a"));
        assert!(!covers(&good, &key(1), b"b"), "copied from another member");
        let forged = TicketKey { id: [1; 16], ..key(3) };
        assert!(!covers(&good, &forged, b"a"), "other bytes under the same id");
    }

    #[test]
    fn members_of_one_kind_that_differ_are_found() {
        let traits = acknowledgement(&[], b"a").traits;
        let mut other = traits.clone();
        assert_eq!(traits.difference(&other), None);
        other.values.insert("issuer".into(), "CN=b".into());
        let difference = traits.difference(&other);
        assert_eq!(difference.as_deref(), Some("issuer: \"CN=a\" here, \"CN=b\" there"));
        other.values.remove("issuer");
        let difference = traits.difference(&other);
        assert_eq!(difference.as_deref(), Some("issuer: \"CN=a\" here, nothing there"));
        other.kind = "haproxy".into();
        assert_eq!(traits.difference(&other), None);
    }
}
