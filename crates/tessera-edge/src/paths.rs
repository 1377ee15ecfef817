//! Paths that mean the same to everyone.

/// Whether `path` is `prefix` or below it.
pub(crate) fn is_below(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// Whether a path means the same to everyone: it has no segment `.` or `..`, not even percent-encoded, no backslash, and no
/// encoded slash.
pub(crate) fn is_plain_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_dots = |segment: &str| matches!(segment.replace("%2e", ".").as_str(), "." | "..");
    !lower.contains("%2f")
        && !lower.contains("%5c")
        && !lower.contains('\\')
        && !lower.split('/').any(is_dots)
}
