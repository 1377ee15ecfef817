//! A thousand hostile messages of a peer, the same in each run with the same seed. Each has one lie, and the grammar
//! knows where it is and what it is: a network, a subscriber or a host that is not allowed there. The local network is
//! 999-70, the peer 001-01, and a third one 208-93.
//!
//! The messages use APIs of roaming and their members. With an honest value in place of the lie many pass, so it is the
//! lie that the guard must detect.

mod answers;
mod bodies;
mod exchanges;
mod heads;
mod json;
mod lies;
mod multiparts;
mod patches;
mod paths;
mod queries;
mod random;
mod table;
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
    /// As the receivers write it: `208-093`, the first digits of a subscriber, a host. Any of them counts.
    pub values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Network,
    Subscriber,
    Host,
}

#[derive(Debug)]
pub struct HostileMessage {
    /// The family, the place and the tricks.
    pub what: Vec<String>,
    pub lie: Lie,
    pub message: Message,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Message {
    /// Of a request; in a response, of the request that it answers.
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

    /// Returns the head of a request, or of the one that a response answers. `None` if HTTP/2 can't carry it.
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

    fn can_be_sent(&self) -> bool {
        self.request().is_some() && (self.status.is_none() || self.response().is_some())
    }

    pub fn body(&self) -> Bytes {
        Bytes::copy_from_slice(&self.body)
    }
}

type Make = fn(&mut Random) -> HostileMessage;

/// The number of messages in each family.
const FAMILIES: [(&str, usize, Make); 11] = [
    ("body", 120, bodies::hostile),
    ("request of open5gs", 80, exchanges::hostile),
    ("any member", 150, table::hostile),
    ("patch", 110, patches::hostile),
    ("query", 110, queries::query),
    ("form", 50, queries::form),
    ("path", 40, paths::hostile),
    ("header", 90, heads::hostile),
    ("multipart", 100, multiparts::hostile),
    ("answer", 80, answers::body),
    ("answer's header", 70, answers::head),
];

/// Returns a thousand of them, and as many with the same tricks and an honest value in place of the lie.
pub fn corpus(seed: u64) -> (Vec<HostileMessage>, Vec<Message>) {
    let mut random = Random::new(seed);
    let mut seen = HashSet::new();
    let (mut all, mut honest) = (Vec::with_capacity(1000), Vec::with_capacity(1000));
    for (family, count, make) in FAMILIES {
        let full = all.len() + count;
        let mut tries = 0;
        while all.len() < full {
            tries += 1;
            assert!(tries < 100 * count, "the grammar has too few of {family}");
            let mut same = random.honest();
            let mut made = make(&mut random);
            let twin = make(&mut same).message;
            if made.message.can_be_sent() && twin.can_be_sent() && seen.insert(made.message.clone())
            {
                made.what.insert(0, family.into());
                all.push(made);
                honest.push(twin);
            }
        }
    }
    (all, honest)
}

/// Returns the same messages without lie or trick.
pub fn honest() -> Vec<(String, Message)> {
    let families = [
        bodies::honest(),
        table::honest(),
        patches::honest(),
        queries::honest(),
        multiparts::honest(),
        answers::honest(),
    ];
    families.into_iter().flatten().collect()
}
