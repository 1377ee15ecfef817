//! Identities of peers, for display.

/// Whether it is a list of names, separated by spaces. Anything else is a subject, which may hold any bytes.
fn is_list(blob: &[u8]) -> bool {
    blob.starts_with(b"dns:") || blob.starts_with(b"uri:")
}

/// Formats an identity for display. Anything but printable ASCII is written as `\xHH`, so that a peer can't inject text
/// into a terminal or a log. So are spaces, except between the names of a list: otherwise a subject or PSK identity
/// could end in what looks like a name.
#[must_use]
pub fn identity(blob: &[u8]) -> String {
    let text = blob.escape_ascii().to_string();
    if is_list(blob) { text } else { text.replace(' ', "\\x20") }
}

/// Formats an identity for a backend: names as they are, and anything else as [`identity`] does.
pub(crate) fn identity_for_backend(blob: Vec<u8>) -> Vec<u8> {
    if is_list(&blob) { blob } else { identity(&blob).into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_no_list_has_no_space_for_a_backend_either() {
        let names = b"dns:a.example uri:spiffe://x/it's";
        assert_eq!(identity_for_backend(names.to_vec()), names);
        for (blob, text) in [
            (&b"subject:\x0c\x09 dns:admin.example"[..], r"subject:\x0c\t\x20dns:admin.example"),
            (b"psk:a dns:admin.example", r"psk:a\x20dns:admin.example"),
            (b"sha256:00", "sha256:00"),
        ] {
            assert_eq!(identity_for_backend(blob.to_vec()), text.as_bytes());
            assert_eq!(identity(blob), text);
        }
    }

    #[test]
    fn an_identity_writes_no_control_characters() {
        assert_eq!(identity(b"subject:\x1b[2J\n"), "subject:\\x1b[2J\\n");
    }
}
