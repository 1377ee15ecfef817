//! Questions: whatever may wait is asked, and the owner answers.

/// What an owner says to a question: the answer at once, or that it comes later.
#[derive(Debug)]
pub enum Reply<A> {
    /// The answer.
    Now(A),
    /// The question becomes visible to the driver of the connection, which answers in its own time.
    Later,
}
