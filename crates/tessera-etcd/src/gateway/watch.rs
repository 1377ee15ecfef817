//! The answer to a watch, which has no end.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame};
use serde_json::{Value, json};
use tessera_store::{ChangedEntry, StoreError, Watch};

use super::requests::{Event, Selection};

/// It waits for the next changes only once the client has read the last.
pub(super) struct WatchBody {
    selection: Selection,
    /// The message with which it begins.
    created: Option<Bytes>,
    /// `None` after the end of the watch.
    next: Option<Next>,
}

type Next = Pin<Box<dyn Future<Output = (Box<dyn Watch>, Changes)> + Send>>;

type Changes = Result<Vec<ChangedEntry>, StoreError>;

impl WatchBody {
    pub(super) fn new(watch: Box<dyn Watch>, selection: Selection) -> Self {
        let created = line(&json!({ "created": true }));
        Self { selection, created: Some(created), next: Some(next(watch)) }
    }

    /// Returns the message with these changes; `None` if no selected key is among them.
    fn message(&self, changes: &[ChangedEntry]) -> Option<Bytes> {
        let selected = changes.iter().filter(|change| self.selection.selects(change.key()));
        let events: Vec<_> = selected.map(Event::new).collect();
        (!events.is_empty()).then(|| line(&json!({ "events": events })))
    }
}

impl Body for WatchBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(created) = self.created.take() {
            return Poll::Ready(Some(Ok(Frame::data(created))));
        }
        while let Some(waiting) = &mut self.next {
            let (watch, changes) = ready!(waiting.as_mut().poll(context));
            let message = match changes {
                Ok(changes) => {
                    self.next = Some(next(watch));
                    self.message(&changes)
                }
                Err(error) => {
                    self.next = None;
                    let reason = error.to_string();
                    Some(line(&json!({ "canceled": true, "cancel_reason": reason })))
                }
            };
            if let Some(message) = message {
                return Poll::Ready(Some(Ok(Frame::data(message))));
            }
        }
        Poll::Ready(None)
    }
}

fn next(mut watch: Box<dyn Watch>) -> Next {
    Box::pin(async move {
        let changes = watch.next().await;
        (watch, changes)
    })
}

fn line(result: &Value) -> Bytes {
    format!("{}\n", json!({ "result": result })).into()
}
