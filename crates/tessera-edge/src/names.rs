//! What names a client: its certificate, or a cookie.

use std::sync::{Mutex, PoisonError};

use http::header::{COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;
use tessera::crypto::Random;
use tessera_bindings::ClientName;
use tessera_kit::clock::unix;
use tessera_kit::{credential, hex};
use tessera_vault::WrappingKeys;
use zeroize::Zeroizing;

use crate::config::{ClientsSection, NamedBy};

/// What names clients.
pub(crate) struct Naming {
    by: NamedBy,
    cookie: String,
    /// Authenticates cookies: a client can't invent names.
    keys: WrappingKeys,
}

/// A client with a name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamedClient {
    pub(crate) name: ClientName,
    /// What its certificate names.
    pub(crate) identity: Option<Vec<u8>>,
}

/// The last cookie of a connection, which need not be authenticated again.
#[derive(Default)]
pub(crate) struct KnownCookie(Mutex<Option<(Zeroizing<String>, ClientName)>>);

/// How the name of a client begins whose identity is too long.
const DIGEST: &str = "sha256:";

/// The length of the random part of a cookie, in bytes.
const RANDOM: usize = 16;

/// The longest cookie, in characters.
const LONGEST: usize = 256;

impl Naming {
    /// The keys are those of the pool for cookies.
    pub(crate) fn new(section: &ClientsSection, keys: WrappingKeys) -> Self {
        Self { by: section.named_by, cookie: section.cookie.clone(), keys }
    }

    /// Returns who sent a request, on a connection whose peer has this identity, and had this cookie.
    pub(crate) fn client(
        &self,
        identity: Option<&[u8]>,
        headers: &HeaderMap,
        known: &KnownCookie,
    ) -> Option<NamedClient> {
        match self.by {
            NamedBy::Nothing => None,
            NamedBy::Certificate => {
                let identity = identity?.to_vec();
                let name = match ClientName::new(identity.clone()) {
                    Ok(name) => name,
                    // It is too long.
                    Err(_) => {
                        ClientName::new(format!("sha256:{}", credential::fingerprint(&identity)))
                            .ok()?
                    }
                };
                Some(NamedClient { name, identity: Some(identity) })
            }
            NamedBy::Cookie => {
                let value = self.value(headers)?;
                let name = known.name(value).or_else(|| {
                    let name = self.authenticated(value)?;
                    known.set(value, &name);
                    Some(name)
                })?;
                Some(NamedClient { name, identity: None })
            }
        }
    }

    /// Returns what a client's certificate names, from its name; `None` if that doesn't have it.
    pub(crate) fn identity(&self, name: &ClientName) -> Option<Vec<u8>> {
        let is_whole =
            self.by == NamedBy::Certificate && !name.as_bytes().starts_with(DIGEST.as_bytes());
        is_whole.then(|| name.as_bytes().to_vec())
    }

    /// Returns a new cookie for a client that has no name; `None` if clients aren't named so, or without randomness.
    pub(crate) fn new_cookie(&self, random: &dyn Random) -> Option<HeaderValue> {
        if self.by != NamedBy::Cookie {
            return None;
        }
        let mut secret = [0; RANDOM];
        random.fill(&mut secret).ok()?;
        let secret = self.keys.wrap(b"", &secret, unix())?;
        let cookie = format!(
            "{}={}; Path=/; Max-Age=31536000; Secure; HttpOnly; SameSite=Lax",
            self.cookie,
            hex::encode(&secret)
        );
        HeaderValue::try_from(cookie).ok()
    }

    /// Whether a client has as many names as it likes: each request without a cookie gets one.
    pub(crate) fn are_free(&self) -> bool {
        self.by == NamedBy::Cookie
    }

    /// Removes the cookie from what a service sees: it isn't the service's.
    pub(crate) fn hide(&self, headers: &mut HeaderMap) {
        if self.by != NamedBy::Cookie || !headers.contains_key(COOKIE) {
            return;
        }
        let is_other = |pair: &&[u8]| {
            name_and_value(pair).is_none_or(|(name, _)| name != self.cookie.as_bytes())
        };
        let others: Vec<_> = pairs(headers).filter(is_other).map(<[u8]>::to_vec).collect();
        headers.remove(COOKIE);
        if let Ok(value) = HeaderValue::try_from(others.join(&b"; "[..]))
            && !others.is_empty()
        {
            headers.insert(COOKIE, value);
        }
    }

    /// Removes the cookie from what a client sees of a service's response: only this proxy sets it.
    pub(crate) fn hide_set(&self, headers: &mut HeaderMap) {
        let is_ours = |value: &HeaderValue| {
            let pair = value.as_bytes().split(|&byte| byte == b';').next();
            pair.and_then(name_and_value).is_some_and(|(name, _)| name == self.cookie.as_bytes())
        };
        if self.by != NamedBy::Cookie || !headers.get_all(SET_COOKIE).iter().any(is_ours) {
            return;
        }
        let lines = headers.get_all(SET_COOKIE).iter();
        let others: Vec<_> = lines.filter(|value| !is_ours(value)).cloned().collect();
        headers.remove(SET_COOKIE);
        for other in others {
            headers.append(SET_COOKIE, other);
        }
    }

    /// Returns the value of the one cookie that could be ours.
    fn value<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let mut found = pairs(headers)
            .filter_map(name_and_value)
            .filter(|(name, _)| *name == self.cookie.as_bytes());
        let (_, value) = found.next()?;
        let is_plain = value.len() <= LONGEST
            && value.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
        let value = std::str::from_utf8(value).ok().filter(|_| is_plain)?;
        // Two of them name no client: which one a client means can't be known.
        found.next().is_none().then_some(value)
    }

    /// Returns the name of the holder of a cookie that a proxy of the pool has set.
    fn authenticated(&self, value: &str) -> Option<ClientName> {
        self.keys.unwrap(b"", &hex::decode(value)?, unix())?;
        // The store and its readers learn no cookie from the name.
        let name = format!("cookie:{}", credential::fingerprint(value.as_bytes()));
        ClientName::new(name).ok()
    }
}

impl KnownCookie {
    fn name(&self, value: &str) -> Option<ClientName> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A gateway's connection carries cookies of several clients: none may learn from the time what another's is.
        known
            .as_ref()
            .filter(|it| it.0.as_bytes().ct_eq(value.as_bytes()).into())
            .map(|it| it.1.clone())
    }

    fn set(&self, value: &str, name: &ClientName) {
        let known = Some((Zeroizing::new(value.to_owned()), name.clone()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

/// Returns the pairs of all Cookie fields (RFC 6265 §4.2.1): HTTP/2 may split them (RFC 9113 §8.2.3). Other cookies may have
/// any bytes.
fn pairs(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let fields = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes);
    let pairs = fields.flat_map(|field| field.split(|byte| *byte == b';'));
    pairs.map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
}

fn name_and_value(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = pair.iter().position(|byte| *byte == b'=')?;
    Some((&pair[..at], &pair[at + 1..]))
}

#[cfg(test)]
mod tests {
    use tessera_vault::{EpochKey, WrappingPurpose};
    use zeroize::Zeroizing;

    use super::*;

    fn naming(by: NamedBy) -> Naming {
        let keys = WrappingKeys::new(&tessera_aws_lc::provider(), WrappingPurpose::ClientCookie);
        keys.add(EpochKey::forever([1; 16], Zeroizing::new([7; 32])), unix()).unwrap();
        Naming::new(&ClientsSection { named_by: by, ..ClientsSection::default() }, keys)
    }

    fn cookies(fields: &[&str]) -> HeaderMap {
        fields.iter().map(|field| (COOKIE, HeaderValue::from_str(field).unwrap())).collect()
    }

    #[test]
    fn a_service_sets_no_cookie_of_ours() {
        let lines = ["a=b; Path=/", "tessera-client=king; Path=/", "tessera-client-too=1"];
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(SET_COOKIE, HeaderValue::from_static(line));
        }
        let left = |headers: &HeaderMap| headers.get_all(SET_COOKIE).iter().count();
        naming(NamedBy::Certificate).hide_set(&mut headers);
        assert_eq!(left(&headers), 3);
        naming(NamedBy::Cookie).hide_set(&mut headers);
        assert_eq!(headers.get_all(SET_COOKIE).iter().collect::<Vec<_>>(), [lines[0], lines[2]]);
    }

    #[test]
    fn a_cookie_that_a_proxy_set_names_a_client_and_the_name_reveals_nothing() {
        let naming = naming(NamedBy::Cookie);
        let set = naming.new_cookie(tessera_aws_lc::provider().random).unwrap();
        let pair = set.to_str().unwrap().split(';').next().unwrap().to_owned();
        let known = KnownCookie::default();
        let client = |fields: &[&str]| naming.client(None, &cookies(fields), &known);
        let named = client(&[&pair]).unwrap();
        assert_eq!(client(&["a=b; c=d", &format!("x=y; {pair}")]).unwrap(), named);
        let (_, secret) = pair.split_once('=').unwrap();
        assert!(!String::from_utf8_lossy(named.name.as_bytes()).contains(secret));
        for bad in [
            "tessera-client=",
            "tessera-client=00",
            // Invented, changed, in another spelling, too long, and two.
            &format!("tessera-client={}", "0".repeat(secret.len())),
            &format!("tessera-client={}0", &secret[..secret.len() - 1].replacen('a', "b", 1)),
            &pair.to_uppercase(),
            &format!("{pair}00"),
            &format!("{pair}; tessera-client=00000000000000000000000000000000"),
        ] {
            assert_eq!(client(&[bad]), None, "{bad}");
        }
    }

    #[test]
    fn other_cookies_may_have_any_bytes() {
        let naming = naming(NamedBy::Cookie);
        let set = naming.new_cookie(tessera_aws_lc::provider().random).unwrap();
        let pair = set.as_bytes().split(|byte| *byte == b';').next().unwrap();
        let field = [&b"a=\xffb; "[..], pair].concat();
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_bytes(&field).unwrap());
        assert!(naming.client(None, &headers, &KnownCookie::default()).is_some());
        naming.hide(&mut headers);
        assert_eq!(headers[COOKIE].as_bytes(), b"a=\xffb");
    }

    #[test]
    fn a_service_sees_all_other_cookies() {
        let naming = naming(NamedBy::Cookie);
        let mut headers = cookies(&["a=b; tessera-client=00; c=d", "e=f"]);
        naming.hide(&mut headers);
        assert_eq!(headers[COOKIE], "a=b; c=d; e=f");
        let mut headers = cookies(&["tessera-client=00"]);
        naming.hide(&mut headers);
        assert!(headers.is_empty());
    }

    #[test]
    fn a_certificate_names_a_client_even_if_its_names_are_long() {
        let naming = naming(NamedBy::Certificate);
        let client = |identity: &[u8]| {
            naming.client(Some(identity), &HeaderMap::new(), &KnownCookie::default())
        };
        assert_eq!(client(b"dns:drone.example").unwrap().name.as_bytes(), b"dns:drone.example");
        let long = [b'a'; 1024];
        let named = client(&long).unwrap();
        assert!(named.name.as_bytes().starts_with(b"sha256:"));
        assert_eq!(
            (named.identity.as_deref(), naming.identity(&named.name)),
            (Some(&long[..]), None)
        );
        let short = client(b"dns:drone.example").unwrap();
        assert_eq!(naming.identity(&short.name), short.identity);
        assert_eq!(naming.client(None, &HeaderMap::new(), &KnownCookie::default()), None);
        assert!(naming.new_cookie(tessera_aws_lc::provider().random).is_none());
    }
}
