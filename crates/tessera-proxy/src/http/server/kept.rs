//! What an answer keeps until its end.

use std::any::Any;
use std::sync::Arc;

use http::Response;

/// An extension of an answer: what it keeps until its last byte was handed over, or nobody wants it any more. Over
/// HTTP/1.1, until its head is sent.
#[derive(Clone)]
pub(super) struct Kept(
    #[expect(dead_code, reason = "it is there to be dropped")] Arc<dyn Any + Send + Sync>,
);

/// Has an answer keep something, such as its place among the requests under way: one whose client reads nothing of it is
/// under way still.
pub fn keep<B>(answer: &mut Response<B>, something: impl Any + Send + Sync) {
    answer.extensions_mut().insert(Kept(Arc::new(something)));
}
