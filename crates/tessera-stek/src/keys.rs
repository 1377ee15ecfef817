//! The ring's keys in the form of another server.

use std::time::Duration;

use tessera::crypto::Provider;
use tessera_ring::{InstallRefused, RingKeys};
use tessera_vault::{TicketKey, TicketKeyForm};
use tokio::time::Instant;
use zeroize::Zeroizing;

pub use tessera_vault::TicketKeyDomain;

/// A ticket key as another server takes it: 48 or 80 bytes, of which the first 16 are its name, in the clear in each
/// ticket.
pub type ServerKey = Zeroizing<Vec<u8>>;

/// Derives the ring's keys for the servers of a domain.
pub struct ServerKeys {
    provider: Provider,
    form: TicketKeyForm,
    domain: Vec<u8>,
}

/// The keys of a server: each has another task.
pub struct ServerKeySet {
    /// Seals tickets. Without an issuing key in the ring it is random, and exists nowhere else: no other server opens its
    /// tickets.
    pub issuing: ServerKey,
    /// Opens tickets; the issuing key after the next rotation.
    pub next: Option<ServerKey>,
    /// Open tickets; the newest first.
    pub earlier: Vec<ServerKey>,
}

impl ServerKeySet {
    /// Returns the issuing key, the next one, and the earlier ones.
    pub fn in_order(&self) -> impl Iterator<Item = &ServerKey> {
        [&self.issuing].into_iter().chain(&self.next).chain(&self.earlier)
    }
}

/// Random keys that exist nowhere else, for the places that the ring has no key for. They stay the same while they are
/// needed, so that an unchanged ring changes nothing.
#[derive(Default)]
pub(crate) struct Fillers {
    /// Seals, while the ring has no issuing key; since when.
    issuing: Option<(ServerKey, Instant)>,
    others: Vec<ServerKey>,
}

/// How long a random key seals. An outage may last for days, and a key that never changes opens all tickets of them.
const FILLER_SEALS_FOR: Duration = Duration::from_secs(3600);

impl ServerKeys {
    /// Creates the keys of a domain.
    #[must_use]
    pub fn new(provider: &Provider, form: TicketKeyForm, domain: &TicketKeyDomain) -> Self {
        Self { provider: *provider, form, domain: domain.encode() }
    }

    /// Returns the form of its keys.
    #[must_use]
    pub fn form(&self) -> TicketKeyForm {
        self.form
    }

    /// Derives the issuing key; `None` if the ring has none.
    #[must_use]
    pub fn issuing(&self, keys: &RingKeys) -> Option<ServerKey> {
        let derive = |key: &TicketKey| key.derive(&self.provider, self.form, &self.domain);
        keys.issuing.as_deref().map(derive)
    }

    /// Derives the keys. A random one seals if the ring has none.
    pub(crate) fn derive(
        &self,
        keys: &RingKeys,
        fillers: &mut Fillers,
    ) -> Result<ServerKeySet, InstallRefused> {
        let derive = |key: &TicketKey| key.derive(&self.provider, self.form, &self.domain);
        let issuing = match self.issuing(keys) {
            Some(key) => {
                // Destroyed: the next time that the ring has none takes another.
                fillers.issuing = None;
                key
            }
            None => self.stand_in(fillers)?,
        };
        Ok(ServerKeySet {
            issuing,
            next: keys.next.as_deref().map(derive),
            earlier: keys.earlier.iter().map(|key| derive(key)).collect(),
        })
    }

    fn stand_in(&self, fillers: &mut Fillers) -> Result<ServerKey, InstallRefused> {
        let current = fillers.issuing.take().filter(|(_, at)| at.elapsed() < FILLER_SEALS_FOR);
        let (key, at) = match current {
            Some(current) => current,
            None => (self.random()?, Instant::now()),
        };
        fillers.issuing = Some((key.clone(), at));
        Ok(key)
    }

    /// Returns so many random keys that seal nothing.
    pub(crate) fn fill<'f>(
        &self,
        fillers: &'f mut Fillers,
        count: usize,
    ) -> Result<&'f [ServerKey], InstallRefused> {
        fillers.others.truncate(count);
        while fillers.others.len() < count {
            fillers.others.push(self.random()?);
        }
        Ok(&fillers.others)
    }

    /// Returns a key that exists nowhere else.
    pub(crate) fn random(&self) -> Result<ServerKey, InstallRefused> {
        let mut key = Zeroizing::new(vec![0; self.form.len()]);
        let filled = self.provider.random.fill(&mut key);
        filled.map_err(|_| InstallRefused("the system has no random bytes".into()))?;
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_issuing(provider: &Provider) -> RingKeys {
        let hour = Duration::from_secs(3600);
        let key = TicketKey::generate(provider, hour, hour, hour).unwrap();
        RingKeys { issuing: Some(Box::new(key)), ..RingKeys::default() }
    }

    #[test]
    fn a_random_key_seals_for_one_outage_and_no_longer_than_an_hour() {
        let provider = tessera_aws_lc::provider();
        let domain = TicketKeyDomain { kind: "haproxy", name: "www".into() };
        let keys = ServerKeys::new(&provider, TicketKeyForm::Aes256, &domain);
        let mut fillers = Fillers::default();
        let issuing = |ring: &RingKeys, fillers: &mut Fillers| {
            keys.derive(ring, fillers).map(|keys| keys.issuing).unwrap()
        };
        let empty = RingKeys::default();
        let first = issuing(&empty, &mut fillers);
        assert_eq!((first.len(), issuing(&empty, &mut fillers)), (80, first.clone()));
        let ring = with_issuing(&provider);
        assert_ne!(issuing(&ring, &mut fillers), first);
        let second = issuing(&empty, &mut fillers);
        assert_ne!(second, first, "another outage");
        if let Some((_, since)) = &mut fillers.issuing {
            *since = since.checked_sub(FILLER_SEALS_FOR).unwrap();
        }
        assert_ne!(issuing(&empty, &mut fillers), second, "an hour later");
        let filled = keys.fill(&mut fillers, 2).unwrap().to_vec();
        assert_eq!(keys.fill(&mut fillers, 2).unwrap(), filled);
        assert_eq!(keys.fill(&mut fillers, 1).unwrap(), &filled[..1]);
        assert_ne!(keys.fill(&mut fillers, 2).unwrap(), filled, "destroyed in between");
    }
}
