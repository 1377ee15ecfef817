//! Values that an answer holds until its end.

use std::any::Any;
use std::sync::Arc;

use http::Response;

/// An extension of an answer: a value held until its last byte was passed on, or the client cancels. Over HTTP/1.1,
/// until its head is sent.
#[derive(Clone)]
pub(super) struct HeldValue(
    #[expect(dead_code, reason = "it is there to be dropped")] Arc<dyn Any + Send + Sync>,
);

/// Makes an answer hold a value, such as its place among the open requests: a request whose client doesn't read the
/// answer is still open.
pub fn keep<B>(answer: &mut Response<B>, something: impl Any + Send + Sync) {
    answer.extensions_mut().insert(HeldValue(Arc::new(something)));
}
