//! `multipart/related` (RFC 2387): JSON with NAS or NGAP messages (TS 29.502 §6.1.2.4).

/// More parts than any API uses.
const MOST_PARTS: usize = 32;

/// One part of a body: the headers that matter, and its content as a slice of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    /// Empty if it has none.
    pub(crate) content_type: &'a str,
    /// `content-id`, by which the JSON names it; empty if it has none.
    pub(crate) content_id: &'a str,
    pub(crate) content: &'a [u8],
    /// Offset of the content in the body.
    pub(crate) at: usize,
}

/// Returns the boundary of a content type.
pub(crate) fn boundary(content_type: &str) -> Option<&str> {
    let mut found = content_type.split(';').skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim();
        let unquoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        name.trim().eq_ignore_ascii_case("boundary").then_some(unquoted.unwrap_or(value))
    });
    // RFC 2046 §5.1.1
    let boundary = found.next().filter(|text| (1..=70).contains(&text.len()))?;
    let is_clear = !boundary.contains(['"', '\\', '\r', '\n']) && found.next().is_none();
    is_clear.then_some(boundary)
}

/// Splits a body into its parts. Returns `None` if it is malformed, or has an encoding that hides its content.
pub(crate) fn parts<'a>(body: &'a [u8], boundary: &str) -> Option<Vec<Part<'a>>> {
    let delimiter = format!("--{boundary}");
    let mut lines = Delimiters { body, delimiter: delimiter.as_bytes(), at: 0 };
    let (preamble, mut delimiter_end, mut is_last) = lines.next()?;
    // Some readers skip it, others don't.
    if !body[..preamble].iter().all(u8::is_ascii_whitespace) {
        return None;
    }
    let mut parts = Vec::new();
    while !is_last {
        let (end, next, last) = lines.next()?;
        parts.push(part(body, delimiter_end, end)?);
        if parts.len() > MOST_PARTS {
            return None;
        }
        (delimiter_end, is_last) = (next, last);
    }
    // Only some readers skip what follows the last delimiter.
    body[delimiter_end..].iter().all(u8::is_ascii_whitespace).then_some(parts)
}

/// Finds lines that begin with the delimiter: where the preceding content ends, where the line ends, and whether it is
/// the closing one.
struct Delimiters<'a> {
    body: &'a [u8],
    delimiter: &'a [u8],
    at: usize,
}

impl Delimiters<'_> {
    fn next(&mut self) -> Option<(usize, usize, bool)> {
        loop {
            let rest = self.body.get(self.at..)?;
            let dash = rest.iter().position(|byte| *byte == b'-')?;
            let start = self.at + dash;
            self.at = start + 1;
            let begins_line = start == 0 || self.body[start - 1] == b'\n';
            let Some(after) =
                self.body[start..].strip_prefix(self.delimiter).filter(|_| begins_line)
            else {
                continue;
            };
            let line_len =
                after.iter().position(|byte| *byte == b'\n').map_or(after.len(), |end| end + 1);
            let line = after[..line_len].trim_ascii();
            let is_last = line == b"--";
            // A longer boundary with this one as prefix.
            if !is_last && !line.is_empty() {
                continue;
            }
            self.at = start + self.delimiter.len() + line_len;
            let break_len = match &self.body[..start] {
                [.., b'\r', b'\n'] => 2,
                [.., b'\n'] => 1,
                _ => 0,
            };
            return Some((start - break_len, self.at, is_last));
        }
    }
}

/// Returns the part between these offsets of the body.
fn part(body: &[u8], begins: usize, ends: usize) -> Option<Part<'_>> {
    let (mut content_type, mut content_id) = ("", "");
    let mut rest = body.get(begins..ends)?;
    loop {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (line, after) = (rest[..end].trim_ascii_end(), &rest[end + 1..]);
        rest = after;
        if line.is_empty() {
            return Some(Part { content_type, content_id, content: rest, at: ends - rest.len() });
        }
        // Readers disagree about folded headers.
        let line = std::str::from_utf8(line).ok().filter(|line| !line.starts_with([' ', '\t']))?;
        let (name, value) = line.split_once(':')?;
        let (name, value) = (name.trim(), value.trim());
        let is_text = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        for (known, field) in [("content-type", &mut content_type), ("content-id", &mut content_id)]
        {
            if name.eq_ignore_ascii_case(known) {
                if !field.is_empty() || !is_text {
                    return None;
                }
                *field = value;
            }
        }
        let is_encoding = name.eq_ignore_ascii_case("content-transfer-encoding");
        let is_as_it_is =
            ["binary", "8bit", "7bit"].iter().any(|plain| value.eq_ignore_ascii_case(plain));
        if name.eq_ignore_ascii_case("content-encoding") || is_encoding && !is_as_it_is {
            return None;
        }
    }
}

/// Writes a body with these parts. Returns its boundary, which occurs in none of them, and the body.
pub(crate) fn write<'a>(parts: impl Iterator<Item = Part<'a>> + Clone) -> (String, Vec<u8>) {
    let boundary = loop {
        let boundary = format!("part-{:016x}", fastrand::u64(..));
        let stands = |part: Part<'_>| {
            part.content.windows(boundary.len()).any(|window| window == boundary.as_bytes())
        };
        if !parts.clone().any(stands) {
            break boundary;
        }
    };
    let mut body = Vec::new();
    for part in parts {
        body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
        for (name, value) in [("Content-Type", part.content_type), ("Content-Id", part.content_id)]
        {
            if !value.is_empty() {
                body.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
        }
        body.extend_from_slice(b"\r\n");
        body.extend_from_slice(part.content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (boundary, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] =
        b"--b\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--b\r\ncontent-id: n1\r\n\
        content-type:application/vnd.3gpp.5gnas\r\n\r\n\x00--bx\r\n--b--\r\n";

    #[test]
    fn parts_are_found() {
        let found = parts(BODY, "b").unwrap();
        assert_eq!(found.len(), 2);
        let at = BODY.windows(2).position(|it| it == b"{\"").unwrap();
        let content = &b"{\"a\":1}"[..];
        let first = Part { content_type: "application/json", content_id: "", content, at };
        assert_eq!(found[0], first);
        assert_eq!(found[1].content_id, "n1");
        assert_eq!(found[1].content, b"\x00--bx");
        assert_eq!(boundary("multipart/related; type=x; boundary=\"b c\""), Some("b c"));
        assert_eq!(boundary("multipart/related;BOUNDARY=b"), Some("b"));
    }

    #[test]
    fn a_written_form_is_read_back() {
        let found = parts(BODY, "b").unwrap();
        let (boundary, body) = write(found.clone().into_iter());
        let again = parts(&body, &boundary).unwrap();
        let inner = |part: &Part<'_>| format!("{part:?}").split(" at:").next().unwrap().to_owned();
        assert_eq!(
            again.iter().map(inner).collect::<Vec<_>>(),
            found.iter().map(inner).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_body_that_readers_parse_differently_is_malformed() {
        for body in [
            &b""[..],
            b"--b\r\n\r\n{}",
            b"x--b\r\n\r\n{}\r\n--b--",
            b"{}\r\n--b\r\n\r\n{}\r\n--b--",
            b"--b\r\n\r\n{}\r\n--b--\r\n{}",
            b"--b\r\ncontent-transfer-encoding: base64\r\n\r\ne30=\r\n--b--",
            b"--b\r\ncontent-encoding: gzip\r\n\r\n{}\r\n--b--",
            b"--b\r\ncontent-type: a\r\ncontent-type: b\r\n\r\n{}\r\n--b--",
            b"--b\r\ncontent-type: a\r\n b\r\n\r\n{}\r\n--b--",
            b"--b\r\nno header\r\n--b--",
        ] {
            assert_eq!(parts(body, "b"), None, "{:?}", String::from_utf8_lossy(body));
        }
        for content_type in [
            "multipart/related",
            "multipart/related; boundary=",
            "multipart/related; boundary=a; boundary=b",
        ] {
            assert_eq!(boundary(content_type), None, "{content_type}");
        }
        let many = "--b\r\n\r\n\r\n".repeat(100);
        assert_eq!(parts(many.as_bytes(), "b"), None);
    }
}
