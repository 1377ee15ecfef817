//! The streams on which Envoys asked for the keys, and what they answered.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// All streams that ask for the secret.
#[derive(Default)]
pub(super) struct Subscriptions {
    streams: Mutex<Streams>,
    /// Has a permit when anything has changed; one installation waits for it.
    changed: Notify,
}

#[derive(Default)]
struct Streams {
    last_id: u64,
    by_id: BTreeMap<u64, Stream>,
}

struct Stream {
    node: String,
    answer: Option<Answer>,
}

/// What an Envoy answered last.
pub(super) struct Answer {
    pub(super) version: u64,
    /// Why it refused the version.
    pub(super) refusal: Option<String>,
}

/// What all Envoys answered about a version.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Each has confirmed it.
    Accepted,
    /// No Envoy is subscribed.
    Nobody,
    /// One has refused it.
    Refused { node: String, reason: String },
    /// These haven't answered yet.
    Waiting(Vec<String>),
}

/// A stream that asks for the secret, until it is dropped.
pub(super) struct Subscription {
    id: u64,
    of: Arc<Subscriptions>,
}

impl Subscriptions {
    /// Adds a stream of the Envoy with this id.
    pub(super) fn add(self: &Arc<Self>, node: &str) -> Subscription {
        let mut streams = self.lock();
        streams.last_id += 1;
        let id = streams.last_id;
        streams.by_id.insert(id, Stream { node: node.into(), answer: None });
        drop(streams);
        self.changed.notify_one();
        Subscription { id, of: self.clone() }
    }

    pub(super) fn verdict(&self, version: u64) -> Verdict {
        let streams = self.lock();
        if streams.by_id.is_empty() {
            return Verdict::Nobody;
        }
        let mut waiting = Vec::new();
        for Stream { node, answer } in streams.by_id.values() {
            match answer.as_ref().filter(|answer| answer.version == version) {
                Some(Answer { refusal: Some(reason), .. }) => {
                    return Verdict::Refused { node: node.clone(), reason: reason.clone() };
                }
                Some(Answer { refusal: None, .. }) => (),
                None => waiting.push(node.clone()),
            }
        }
        if waiting.is_empty() { Verdict::Accepted } else { Verdict::Waiting(waiting) }
    }

    /// Whether an Envoy has refused this version.
    pub(super) fn has_refusal(&self, version: u64) -> bool {
        matches!(self.verdict(version), Verdict::Refused { .. })
    }

    /// Waits until a stream came, answered or went, since the last call.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Notes an answer.
    pub(super) fn answers(&self, answer: Answer) {
        if let Some(stream) = self.of.lock().by_id.get_mut(&self.id) {
            stream.answer = Some(answer);
        }
        self.of.changed.notify_one();
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.of.lock().by_id.remove(&self.id);
        self.of.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stream_must_answer_and_one_that_left_does_not_count() {
        let all = Arc::new(Subscriptions::default());
        assert_eq!(all.verdict(1), Verdict::Nobody);
        let (a, b) = (all.add("a"), all.add("b"));
        let waiting =
            |nodes: &[&str]| Verdict::Waiting(nodes.iter().map(|it| (*it).into()).collect());
        assert_eq!(all.verdict(1), waiting(&["a", "b"]));
        a.answers(Answer { version: 1, refusal: None });
        assert_eq!(all.verdict(1), waiting(&["b"]));
        b.answers(Answer { version: 1, refusal: Some("why".into()) });
        let refused = Verdict::Refused { node: "b".into(), reason: "why".into() };
        assert_eq!(all.verdict(1), refused);
        assert!(all.has_refusal(1) && !all.has_refusal(2));
        // An answer to an earlier version.
        assert_eq!(all.verdict(2), waiting(&["a", "b"]));
        drop(b);
        assert_eq!(all.verdict(1), Verdict::Accepted);
        drop(a);
        assert_eq!(all.verdict(1), Verdict::Nobody);
    }
}
