//! Counts the instructions that the calling thread retires in user space, if the kernel supports it.

use std::cell::RefCell;
use std::io;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

thread_local! {
    /// Exists while a [`CountingGuard`] does.
    static COUNTER: RefCell<Option<Counter>> = const { RefCell::new(None) };
}

/// While it lives, [`retired`] counts in this thread. At other times there are no system calls for it.
pub(crate) struct CountingGuard(());

impl CountingGuard {
    /// Begins to count.
    ///
    /// # Errors
    /// Starts to count; the error is why the kernel can't: virtual machines often have no counter, and containers no
    /// permission.
    pub(crate) fn begin() -> Result<Self, String> {
        let mut counter =
            Builder::new().kind(Hardware::INSTRUCTIONS).build().map_err(|error| why_not(&error))?;
        counter.enable().map_err(|error| why_not(&error))?;
        COUNTER.with(|place| place.replace(Some(counter)));
        Ok(Self(()))
    }
}

fn why_not(error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "this machine shows no counter of its processor",
        io::ErrorKind::PermissionDenied => "sysctl kernel.perf_event_paranoid=2 allows it",
        _ => "the kernel refuses",
    };
    format!("{why} (perf_event_open, instructions: {error})")
}

impl Drop for CountingGuard {
    fn drop(&mut self) {
        COUNTER.with(|place| place.replace(None));
    }
}

/// Returns the instructions since the [`CountingGuard`] of this thread began; 0 without one.
pub(crate) fn retired() -> u64 {
    COUNTER.with(|place| {
        let mut place = place.borrow_mut();
        place.as_mut().and_then(|counter| counter.read().ok()).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_is_more_instructions_unless_a_reason_is_reported() {
        assert_eq!(retired(), 0);
        match CountingGuard::begin() {
            Ok(_counting) => {
                let work = |times: u64| {
                    let before = retired();
                    std::hint::black_box(
                        (0..times)
                            .fold(7u64, |sum, at| std::hint::black_box(sum.wrapping_mul(31) ^ at)),
                    );
                    retired() - before
                };
                assert!(work(100_000) > work(1_000), "instructions");
            }
            Err(reason) => assert!(reason.contains("instructions: "), "{reason}"),
        }
        assert_eq!(retired(), 0);
    }
}
