//! Changes of a body, made all at once.

use bytes::{Bytes, BytesMut};

use super::super::source::Source;

/// What is to be changed.
#[derive(Default)]
pub(in super::super) struct Edits {
    /// By the address in memory, which is a place in the body.
    list: Vec<Edit>,
    /// Whether something must change that stands behind escapes.
    needs_tree: bool,
    saw_addresses: bool,
}

struct Edit {
    address: usize,
    len: usize,
    with: String,
}

impl Edits {
    /// Puts a text in the place of a slice.
    pub(in super::super) fn replace(&mut self, slice: &str, with: String, source: Source) {
        match source {
            Source::Body => {
                self.list.push(Edit { address: slice.as_ptr().addr(), len: slice.len(), with })
            }
            Source::Escaped => self.needs_tree = true,
            Source::Fixed => {}
        }
    }

    /// There are lists of addresses of functions.
    pub(in super::super) fn saw_addresses(&mut self) {
        self.saw_addresses = true;
    }

    /// How much there is.
    pub(in super::super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether a text must be rewritten as a tree, since the last call; `addresses` says whether lists of them are to
    /// go.
    pub(in super::super) fn needs_tree(&mut self, addresses: bool) -> bool {
        let saw_addresses = std::mem::take(&mut self.saw_addresses);
        std::mem::take(&mut self.needs_tree) || addresses && saw_addresses
    }

    /// Puts a text in the place of a slice, and of all that was to be changed in it since there were so many.
    pub(in super::super) fn replace_whole(&mut self, len: usize, slice: &str, with: String) {
        self.list.truncate(len);
        self.replace(slice, with, Source::Body);
    }

    /// The body with all changes; none if there are none.
    pub(in super::super) fn applied(mut self, body: &Bytes) -> Option<Bytes> {
        if self.list.is_empty() {
            return None;
        }
        self.list.sort_by_key(|edit| edit.address);
        let start = body.as_ptr().addr();
        let grown: usize = self.list.iter().map(|edit| edit.with.len()).sum();
        let mut out = BytesMut::with_capacity(body.len() + grown);
        let mut done = 0;
        for edit in &self.list {
            let at = edit.address.checked_sub(start)?;
            out.extend_from_slice(body.get(done..at)?);
            out.extend_from_slice(edit.with.as_bytes());
            done = at + edit.len;
        }
        out.extend_from_slice(body.get(done..)?);
        Some(out.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_stand_where_the_slices_were() {
        let body = Bytes::from_static(b"one two three");
        let text = std::str::from_utf8(&body).unwrap();
        let mut edits = Edits::default();
        edits.replace(&text[8..], "3".into(), Source::Body);
        edits.replace(&text[..3], "first".into(), Source::Body);
        edits.replace("elsewhere", "x".into(), Source::Fixed);
        assert_eq!(edits.applied(&body).unwrap(), "first two 3");
        assert_eq!(Edits::default().applied(&body), None);
    }
}
