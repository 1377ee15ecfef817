//! JSON as it is forwarded.

use std::fmt;

/// What was read, rewritten. As long as the output is byte for byte the text that came, nothing is copied: a receiver reads
/// what was judged either way.
pub(in crate::guard) struct ForwardedJson<'t> {
    came: &'t str,
    /// How many of its bytes are the output, as long as there is no other text.
    len: usize,
    /// The whole output, from the first difference on.
    other: Option<String>,
    /// A comma comes before the next byte.
    has_comma: bool,
}

/// A position in the output.
#[derive(Clone, Copy)]
pub(in crate::guard) struct Mark {
    len: usize,
    has_comma: bool,
}

impl<'t> ForwardedJson<'t> {
    pub(super) fn of(came: &'t str) -> Self {
        Self { came, len: 0, other: None, has_comma: false }
    }

    pub(super) fn push_str(&mut self, text: &str) {
        if std::mem::take(&mut self.has_comma) {
            self.append(",");
        }
        self.append(text);
    }

    fn append(&mut self, text: &str) {
        if let Some(other) = &mut self.other {
            return other.push_str(text);
        }
        let (same, rest) = self.came.split_at(self.len);
        if rest.as_bytes().starts_with(text.as_bytes()) {
            self.len += text.len();
            return;
        }
        let mut other = String::with_capacity(self.came.len() + self.came.len() / 8 + text.len());
        other.push_str(same);
        other.push_str(text);
        self.other = Some(other);
    }

    /// Puts a comma before what follows, if anything does.
    pub(super) fn separate(&mut self) {
        self.has_comma = true;
    }

    /// Writes the end of a list or object, without a comma before it.
    pub(super) fn end(&mut self, bracket: &str) {
        self.has_comma = false;
        self.append(bracket);
    }

    /// Returns the output so far.
    pub(super) fn text(&self) -> &str {
        self.other.as_deref().unwrap_or_else(|| &self.came[..self.len])
    }

    pub(super) fn len(&self) -> usize {
        self.text().len()
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { len: self.len(), has_comma: self.has_comma }
    }

    /// Takes back the output since then.
    pub(super) fn back_to(&mut self, mark: Mark) {
        match &mut self.other {
            Some(other) => other.truncate(mark.len),
            None => self.len = mark.len,
        }
        self.has_comma = mark.has_comma;
    }

    /// Returns the text to forward in place of what came; `None` if it is the same.
    pub(super) fn into_other(self) -> Option<String> {
        match self.other {
            // Something followed, such as white space.
            None if self.len < self.came.len() => Some(self.text().to_owned()),
            None => None,
            Some(other) => (other != self.came).then_some(other),
        }
    }
}

impl Mark {
    pub(super) fn len(self) -> usize {
        self.len
    }
}

impl fmt::Write for ForwardedJson<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes these parts, of which `|` is a comma before what follows.
    fn written<'t>(came: &'t str, parts: &[&str]) -> ForwardedJson<'t> {
        let mut out = ForwardedJson::of(came);
        for part in parts {
            match *part {
                "|" => out.separate(),
                "]" => out.end("]"),
                part => out.push_str(part),
            }
        }
        out
    }

    #[test]
    fn what_comes_out_as_it_came_is_not_another_text() {
        let parts = ["[", "1", "|", "2", "|", "]"];
        assert_eq!(written("[1,2]", &parts).into_other(), None);
        for came in ["[1, 2]", "[1,2] ", " [1,2]", "[1,2,3]", "[1,3]", ""] {
            assert_eq!(written(came, &parts).into_other().as_deref(), Some("[1,2]"), "{came}");
        }
    }

    #[test]
    fn what_is_taken_back_does_not_come_out_and_the_comma_before_it_stays() {
        for came in ["[1,2]", "[1,x,2]", "[1 ,2]"] {
            let mut out = written(came, &["[", "1", "|"]);
            let mark = out.mark();
            out.push_str("x");
            out.back_to(mark);
            out.push_str("2");
            out.end("]");
            assert_eq!(out.text(), "[1,2]", "{came}");
            assert_eq!(out.into_other().is_none(), came == "[1,2]", "{came}");
        }
    }
}
