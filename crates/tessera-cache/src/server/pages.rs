//! Numbered values that never move: memory grows by pages instead of doubling.

use alloc::vec::Vec;

/// Values by their numbers.
pub(super) struct Pages<T> {
    pages: Vec<Vec<T>>,
    /// How many there are, which is the next number.
    len: u32,
}

/// How many values a page has.
const PAGE: usize = 1 << 10;

impl<T> Pages<T> {
    pub(super) fn new() -> Self {
        Self { pages: Vec::new(), len: 0 }
    }

    pub(super) fn len(&self) -> u32 {
        self.len
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.pages.get(number as usize / PAGE)?.get(number as usize % PAGE)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.pages.get_mut(number as usize / PAGE)?.get_mut(number as usize % PAGE)
    }

    /// Adds a value and returns its number.
    pub(super) fn push(&mut self, value: T) -> u32 {
        match self.pages.last_mut().filter(|page| page.len() < PAGE) {
            Some(page) => page.push(value),
            None => {
                // The first page grows on demand: most caches are small.
                let room = if self.pages.is_empty() { 4 } else { PAGE };
                let mut page = Vec::with_capacity(room);
                page.push(value);
                self.pages.push(page);
            }
        }
        self.len += 1;
        self.len - 1
    }
}
