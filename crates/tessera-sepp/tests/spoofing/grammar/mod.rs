//! A thousand hostile messages of a peer, the same for a seed in each run. Each has one lie, and the grammar knows where it is and
//! what it is: a network, a subscriber or a host that may not stand there. The own network is 999-70, the peer 001-01,
//! and a third one 208-93.

mod answers;
mod bodies;
mod heads;
mod json;
mod lies;
mod multiparts;
mod patches;
mod paths;
mod queries;
mod random;
mod tricks;
mod uris;

use std::collections::HashSet;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, request, response};

use self::random::Random;

/// Where the lie is, and what it is.
#[derive(Debug, Clone)]
pub struct Lie {
    /// The member, parameter or header as its API names it, or `path`.
    pub member: &'static str,
    pub kind: Kind,
    /// As the receivers write it: `208-093`, the first digits of a subscriber, a host. Any of them.
    pub values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Network,
    Subscriber,
    Host,
}

#[derive(Debug)]
pub struct Hostile {
    /// The family and the tricks.
    pub what: String,
    pub lie: Lie,
    pub message: Message,
}

#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Of a request; of a response, that of the request that it answers.
    pub method: &'static str,
    pub path: String,
    /// Of a response.
    pub status: Option<u16>,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    /// What a patch is applied to.
    pub resource: Option<&'static str>,
}

impl Message {
    pub fn header(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    fn headers(&self, map: &mut HeaderMap) -> Option<()> {
        for (name, value) in &self.headers {
            let name = name.parse::<http::HeaderName>().ok()?;
            map.append(name, value.as_slice().try_into().ok()?);
        }
        Some(())
    }

    /// Of a request, or of the one that a response answers. None if HTTP/2 can't carry it.
    pub fn request(&self) -> Option<request::Parts> {
        let built = Request::builder().method(self.method).uri(self.path.as_bytes()).body(());
        let (mut parts, ()) = built.ok()?.into_parts();
        if self.status.is_none() {
            self.headers(&mut parts.headers)?;
        }
        Some(parts)
    }

    pub fn response(&self) -> Option<response::Parts> {
        let (mut parts, ()) = Response::builder().status(self.status?).body(()).ok()?.into_parts();
        self.headers(&mut parts.headers)?;
        Some(parts)
    }

    pub fn body(&self) -> Bytes {
        Bytes::copy_from_slice(&self.body)
    }
}

type Make = fn(&mut Random) -> Hostile;

/// How many of each family there are.
const FAMILIES: [(&str, usize, Make); 9] = [
    ("body", 290, bodies::hostile),
    ("patch", 120, patches::hostile),
    ("query", 120, queries::query),
    ("form", 60, queries::form),
    ("path", 50, paths::hostile),
    ("header", 110, heads::hostile),
    ("multipart", 100, multiparts::hostile),
    ("answer", 80, answers::body),
    ("answer's header", 70, answers::head),
];

/// A thousand of them.
pub fn corpus(seed: u64) -> Vec<Hostile> {
    let mut random = Random::new(seed);
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(1000);
    for (family, count, make) in FAMILIES {
        let full = all.len() + count;
        let mut tries = 0;
        while all.len() < full {
            tries += 1;
            assert!(tries < 100 * count, "the grammar has too few of {family}");
            let mut made = make(&mut random);
            let can_be_sent = made.message.request().is_some()
                && (made.message.status.is_none() || made.message.response().is_some());
            if can_be_sent && seen.insert(format!("{:?}", made.message)) {
                made.what = format!("{family}: {}", made.what);
                all.push(made);
            }
        }
    }
    all
}

/// The same messages without a lie and without a trick.
pub fn honest() -> Vec<(String, Message)> {
    let families = [
        bodies::honest(),
        patches::honest(),
        queries::honest(),
        multiparts::honest(),
        answers::honest(),
    ];
    families.into_iter().flatten().collect()
}
