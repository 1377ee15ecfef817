//! The observer of operations, and the parts of a configuration that it observes.

use crate::operation::Operation;

/// Is notified of every operation. Operations nest: one that begins inside another ends before it, in the same thread.
pub trait Observer: Send + Sync + 'static {
    /// Whether to observe hashes and record protection too, which are frequent.
    const SUITES: bool;

    /// What an observer keeps from the beginning of an operation to its end.
    type Begun;

    /// An operation begins.
    fn begin(&self, operation: Operation) -> Self::Begun;

    /// The operation has ended, of which [`begin`](Self::begin) returned `begun`.
    fn end(&self, operation: Operation, begun: Self::Begun);
}

/// A part of a configuration, or a key made by one, whose work is observed.
pub(crate) struct ObservedPart<T, O: 'static> {
    pub(crate) inner: T,
    pub(crate) by: &'static O,
}

impl<T, O: Observer> ObservedPart<T, O> {
    pub(crate) fn during<R>(&self, operation: Operation, work: impl FnOnce(&T) -> R) -> R {
        during(self.by, operation, || work(&self.inner))
    }
}

/// Runs a closure as this operation.
pub fn during<O: Observer, R>(observer: &O, operation: Operation, work: impl FnOnce() -> R) -> R {
    let begun = observer.begin(operation);
    let result = work();
    observer.end(operation, begun);
    result
}
