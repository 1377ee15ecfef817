//! Connection IDs and reset tokens under a key that outlives restarts: a server that knows nothing of an association but
//! the connection ID in a datagram can still compute its token (`docs/dtls-mobility.md`).
//!
//! ```text
//!   connection ID: nonce ‖ number XOR HMAC(mask key, nonce)      token: HMAC(token key, number)
//! ```
//!
//! The number is the association's; it is random, and all of its connection IDs have it, each under a nonce of its own, so
//! that an observer can't link them.

use std::collections::HashSet;
use std::time::Duration;

use tessera::crypto::{Hash, Random};
use tessera::{ConnectionId, ResetToken, Zeroizing};

/// The key of connection IDs and reset tokens, of one instance of a server: one that restarts has it again, and no other
/// has it.
#[derive(Clone)]
pub struct ResetKey(Box<Zeroizing<[u8; ResetKey::LEN]>>);

impl ResetKey {
    /// The length of a key, in bytes.
    pub const LEN: usize = 32;

    /// Creates a key of random bytes.
    #[must_use]
    pub fn new(bytes: &[u8; Self::LEN]) -> Self {
        Self(Box::new(Zeroizing::new(*bytes)))
    }
}

/// No bytes: an attacker who has them can end associations.
impl std::fmt::Debug for ResetKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ResetKey")
    }
}

/// What the connection IDs of an association have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct AssociationNumber([u8; NUMBER_LEN]);

/// Makes connection IDs and tokens, and resets.
pub(crate) struct Resets {
    key: ResetKey,
    hash: &'static dyn Hash,
    /// The numbers of the associations that there are: their tokens are no one's but their clients'.
    live: HashSet<AssociationNumber>,
    /// How many resets may still be sent in this second.
    left: u32,
    second: Duration,
}

impl Resets {
    pub(crate) fn new(key: ResetKey, hash: &'static dyn Hash) -> Self {
        Self { key, hash, live: HashSet::new(), left: MAX_RESETS, second: Duration::ZERO }
    }

    /// Returns a number for a new association; `None` without randomness, or if it is taken.
    pub(crate) fn draw(&self, random: &dyn Random) -> Option<AssociationNumber> {
        let mut number = [0; NUMBER_LEN];
        random.fill(&mut number).ok()?;
        let number = AssociationNumber(number);
        (!self.live.contains(&number)).then_some(number)
    }

    /// Notes that the association with this connection ID is here.
    pub(crate) fn add(&mut self, id: &ConnectionId) {
        if let Some(number) = self.number_of(id) {
            self.live.insert(number);
        }
    }

    /// Notes that the association with this connection ID is gone.
    pub(crate) fn end(&mut self, id: &ConnectionId) {
        if let Some(number) = self.number_of(id) {
            self.live.remove(&number);
        }
    }

    /// Makes a connection ID of an association of random bytes.
    pub(crate) fn make_id(&self, number: AssociationNumber, bytes: &mut [u8]) {
        let (nonce, masked) = bytes.split_at_mut(bytes.len() - NUMBER_LEN);
        masked.copy_from_slice(&self.mask(nonce, number.0));
    }

    /// Returns the number in a connection ID, which may be one that this key never made.
    pub(crate) fn number_of(&self, id: &ConnectionId) -> Option<AssociationNumber> {
        let (nonce, masked) = id.as_ref().split_last_chunk()?;
        Some(AssociationNumber(self.mask(nonce, *masked)))
    }

    /// Returns the token of an association.
    pub(crate) fn token(&self, number: AssociationNumber) -> ResetToken {
        let mac = self.mac(b"tessera reset token", &number.0);
        let mut token = Zeroizing::new([0; ResetToken::LEN]);
        token.copy_from_slice(&mac.as_ref()[..ResetToken::LEN]);
        ResetToken::new(&token, self.hash)
    }

    /// Returns a reset that answers a datagram of `len` bytes with the connection ID of no association: a shorter one,
    /// so that two servers can't answer each other for ever. `None`: it is too short, or too many were sent in this
    /// second.
    pub(crate) fn reset(
        &mut self,
        id: &ConnectionId,
        len: usize,
        now: Duration,
        random: &dyn Random,
    ) -> Option<Vec<u8>> {
        let number = self.number_of(id).filter(|number| !self.live.contains(number))?;
        let len = len.saturating_sub(1).min(ResetToken::LONGEST_RESET);
        if len < ResetToken::SHORTEST_RESET {
            return None;
        }
        let second = Duration::from_secs(now.as_secs());
        if second != self.second {
            (self.second, self.left) = (second, MAX_RESETS);
        }
        self.left = self.left.checked_sub(1)?;
        let mut bytes = [0; ResetToken::LONGEST_RESET];
        let bytes = &mut bytes[..len - 1 - ResetToken::LEN];
        random.fill(bytes).ok()?;
        let mut reset = Vec::with_capacity(len);
        self.token(number).write_reset(bytes, &mut reset);
        Some(reset)
    }

    fn mask(&self, nonce: &[u8], mut number: [u8; NUMBER_LEN]) -> [u8; NUMBER_LEN] {
        let mask = self.mac(b"tessera connection id", nonce);
        number.iter_mut().zip(mask.as_ref()).for_each(|(byte, mask)| *byte ^= mask);
        number
    }

    fn mac(&self, label: &[u8], message: &[u8]) -> tessera::crypto::Digest {
        self.hash.hmac(&**self.key.0, &[label, &[0], message].concat())
    }
}

/// The length of an association's number, in bytes.
const NUMBER_LEN: usize = 5;

/// The least length of connection IDs with numbers, in bytes: three of the nonce.
pub(crate) const SHORTEST_ID: usize = NUMBER_LEN + 3;

/// The most resets in a second.
const MAX_RESETS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    /// A provider's randomness isn't needed: each call has other bytes.
    struct Counter(std::sync::atomic::AtomicU8);

    impl Random for Counter {
        fn fill(&self, out: &mut [u8]) -> Result<(), tessera::crypto::RandomFailed> {
            out.fill(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            Ok(())
        }
    }

    #[test]
    fn the_vectors_of_resets_are_reproduced() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/dtls-mobility-vectors.txt");
        let text = std::fs::read_to_string(path).expect("the file is there");
        let vectors = tessera_harness::Trace::read(&text);
        let get = |name: &str| vectors.get("reset", name);
        let hash = tessera_aws_lc::provider().sha256().expect("SHA-256");
        let key = ResetKey::new(get("key").try_into().expect("32 bytes"));
        let mut resets = Resets::new(key, hash);
        let number = AssociationNumber(get("number").try_into().expect("5 bytes"));
        for index in 0..2 {
            let mut id = [0; 8];
            id[..3].copy_from_slice(get(&format!("nonce {index}")));
            resets.make_id(number, &mut id);
            assert_eq!(id, get(&format!("connection ID {index}")));
            let id = ConnectionId::new(&id).expect("short");
            assert_eq!(resets.number_of(&id), Some(number));
        }
        let id = ConnectionId::new(get("connection ID 1")).expect("short");
        let random = Known(get("random bytes").to_vec());
        let reset = resets.reset(&id, 1200, Duration::ZERO, &random).expect("a reset");
        assert_eq!(reset, get("reset"));
        assert_eq!(get("token").len(), ResetToken::LEN);
    }

    /// Returns the bytes of the vectors.
    struct Known(Vec<u8>);

    impl Random for Known {
        fn fill(&self, out: &mut [u8]) -> Result<(), tessera::crypto::RandomFailed> {
            out.copy_from_slice(&self.0);
            Ok(())
        }
    }

    #[test]
    fn the_token_of_an_association_that_is_there_is_never_sent() {
        let hash = tessera_aws_lc::provider().sha256().expect("SHA-256");
        let mut resets = Resets::new(ResetKey::new(&[1; ResetKey::LEN]), hash);
        let random = Counter(1.into());
        let number = resets.draw(&random).expect("a number");
        let id = |nonce: u8| {
            let mut bytes = [nonce; 8];
            resets.make_id(number, &mut bytes);
            ConnectionId::new(&bytes).expect("short")
        };
        let (first, second) = (id(1), id(2));
        resets.add(&first);
        assert_ne!(first.as_ref()[3..], second.as_ref()[3..], "they can't be linked");
        assert_eq!(resets.number_of(&first), resets.number_of(&second));
        let mut reset = |id| resets.reset(id, 60, Duration::ZERO, &random).is_some();
        assert!(!reset(&first) && !reset(&second));
        resets.end(&second);
        let mut reset = |id| resets.reset(id, 60, Duration::ZERO, &random).is_some();
        assert!(reset(&first) && reset(&second));
    }

    #[test]
    fn resets_to_changed_connection_ids_of_one_association_have_nothing_in_common() {
        let hash = tessera_aws_lc::provider().sha256().expect("SHA-256");
        let mut resets = Resets::new(ResetKey::new(&[1; ResetKey::LEN]), hash);
        let random = Counter(1.into());
        let number = resets.draw(&random).expect("a number");
        let mut reset = |nonce: u8| {
            let mut bytes = [nonce; 8];
            resets.make_id(number, &mut bytes);
            bytes[7] ^= 1;
            let id = ConnectionId::new(&bytes).expect("short");
            resets.reset(&id, 60, Duration::ZERO, &random).expect("no association has this number")
        };
        assert_ne!(reset(1)[27..], reset(2)[27..], "an observer can link them");
    }
}
