//! Paths that mean the same to everyone.

/// A path as any server may read it: percent-decoded, without the parameters of its segments (`;`, RFC 3986 §3.3) and without
/// empty segments. `/%61dmin`, `//admin` and `/admin;x` are what `/admin` is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CanonicalPath(Vec<u8>);

impl CanonicalPath {
    /// Reads a [plain](is_plain_path) path.
    pub(crate) fn of(path: &str) -> Self {
        let decoded = percent_decoded(path);
        let mut all = Vec::with_capacity(decoded.len());
        for segment in decoded.split(|byte| *byte == b'/') {
            let name = segment.split(|byte| *byte == b';').next().unwrap_or_default();
            if !name.is_empty() {
                all.push(b'/');
                all.extend_from_slice(name);
            }
        }
        if all.is_empty() || decoded.ends_with(b"/") {
            all.push(b'/');
        }
        Self(all)
    }

    /// Returns the path as a server that ignores case may read it.
    pub(crate) fn in_any_case(&self) -> Self {
        if self.0.is_ascii() {
            return Self(self.0.to_ascii_lowercase());
        }
        // Some letters are another's lower case only by way of its upper case: U+017F is an `s`.
        let text = String::from_utf8_lossy(&self.0).to_uppercase().to_lowercase();
        Self(text.into_bytes())
    }

    /// Whether it is `other` or below it.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        match self.0.strip_prefix(&other.0[..]) {
            Some(rest) => rest.is_empty() || other.0.ends_with(b"/") || rest.starts_with(b"/"),
            None => false,
        }
    }

    /// Returns its length in bytes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Whether a path means the same to everyone: it has no segment `.` or `..`, not even percent-encoded or with parameters, no
/// backslash, and no encoded slash or NUL.
pub(crate) fn is_plain_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_dots = |segment: &str| {
        let segment = segment.replace("%2e", ".").replace("%3b", ";");
        matches!(segment.split(';').next(), Some("." | ".."))
    };
    !["%2f", "%5c", "%00", "\\"].iter().any(|it| lower.contains(it))
        && !lower.split('/').any(is_dots)
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        let escaped = digit(0).zip(digit(1)).filter(|_| *first == b'%');
        match escaped.and_then(|(high, low)| u8::try_from(16 * high + low).ok()) {
            Some(byte) => {
                decoded.push(byte);
                rest = &after[2..];
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_a_path_are_the_same() {
        let admin = CanonicalPath::of("/admin");
        for path in ["/%61dmin", "//admin", "/admin;x=1", "/%61%64min%3bx", "/;x/admin", "/ad%6Din"]
        {
            assert_eq!(CanonicalPath::of(path), admin, "{path}");
            let below = format!("{path}/x");
            assert!(CanonicalPath::of(&below).is_below(&admin), "{below}");
        }
        for path in ["/admins", "/Admin", "/%2561dmin", "/adm%69", "/adm%i", "/admin%"] {
            assert!(!CanonicalPath::of(path).is_below(&admin), "{path}");
        }
        let folder = CanonicalPath::of("/admin/");
        assert!(CanonicalPath::of("/admin//x").is_below(&folder) && !admin.is_below(&folder));
        let root = CanonicalPath::of("/");
        assert!(admin.is_below(&root) && CanonicalPath::of("//").is_below(&root));
    }

    #[test]
    fn a_path_in_other_letters_is_the_same_in_any_case() {
        let state = CanonicalPath::of("/State").in_any_case();
        for path in ["/STATE", "/%53tate", "/%C5%BFtate"] {
            assert_eq!(CanonicalPath::of(path).in_any_case(), state, "{path}");
        }
        assert_ne!(CanonicalPath::of("/states").in_any_case(), state);
    }

    #[test]
    fn dots_with_parameters_are_dots() {
        for path in ["/a/..;/b", "/a/%2e.;x=1/b", "/a/..%3b/b", "/a%00"] {
            assert!(!is_plain_path(path), "{path}");
        }
        assert!(is_plain_path("/a/x;..") && is_plain_path("/a/..x;y/"));
    }
}
