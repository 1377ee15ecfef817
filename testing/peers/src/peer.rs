//! The table of peers, and whether what is installed fits it.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The name of the program.
    pub program: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// The accepted versions: ranges without their ends, joined by commas.
    pub versions: &'static str,
    /// The argument that makes it print its version.
    asked_by: &'static str,
}

/// All peers.
pub fn table() -> impl Iterator<Item = Peer> {
    let rows = include_str!("../peers.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut columns = row.split_whitespace();
        let mut next = || columns.next().expect("a row has five columns");
        Peer { program: next(), package: next(), versions: next(), asked_by: next() }
    })
}

impl Peer {
    /// The peer of this name, whose version was checked and printed once in this process.
    ///
    /// # Panics
    /// If it is not in the table, not installed, or of another version.
    #[track_caller]
    pub(crate) fn checked(program: &str) -> Self {
        static CHECKED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
        let Some(peer) = table().find(|peer| peer.program == program) else {
            panic!("{program} is not in testing/peers/peers.txt")
        };
        let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        if !checked.contains(peer.program) {
            match peer.version() {
                Ok(version) => eprintln!("peer: {program} {version}"),
                Err(reason) => panic!("{reason}"),
            }
            checked.insert(peer.program);
        }
        peer
    }

    /// The installed version.
    ///
    /// # Errors
    /// A sentence that names the fix, if none is installed or it is not accepted.
    pub fn version(&self) -> Result<String, String> {
        let Self { program, package, versions, asked_by } = self;
        let fix = format!("run scripts/setup-tests, or install Debian's package {package}");
        let output = Command::new(program).arg(asked_by).output().map_err(|error| {
            format!("the tests need {program}, which can't be run: {error}; {fix}")
        })?;
        let answer = String::from_utf8_lossy(&output.stdout);
        let Some((text, version)) = find_version(&answer) else {
            return Err(format!("`{program} {asked_by}` names no version, but {answer:?}; {fix}"));
        };
        if accepts(versions, &version) {
            Ok(text)
        } else {
            Err(format!("{program} is {text}, and the tests accept {versions}; {fix}"))
        }
    }
}

/// The first word that is a version: as it was written, and its numbers.
fn find_version(answer: &str) -> Option<(String, Vec<u32>)> {
    // nghttp2 writes its name and a slash before.
    let words = answer.split(|c: char| c.is_whitespace() || c == '/');
    words.filter(|word| !word.is_empty()).find_map(|word| {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        let numbers: Option<Vec<_>> =
            word[..end].split('.').map(|part| part.parse().ok()).collect();
        numbers.filter(|numbers| numbers.len() > 1).map(|numbers| (word[..end].to_owned(), numbers))
    })
}

fn accepts(versions: &str, version: &[u32]) -> bool {
    let numbers = |text: &str| -> Vec<u32> {
        text.split('.').map(|part| part.parse().expect("the table has numbers")).collect()
    };
    versions.split(',').any(|range| {
        let (from, below) = range.split_once("..").expect("the table has ranges");
        *version >= *numbers(from) && (below.is_empty() || *version < *numbers(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_each_program_prints() {
        for (answer, expected) in [
            ("OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)", "3.0.19"),
            ("etcd Version: 3.4.23\nGit SHA: none\nGo Version: go1.19.8\n", "3.4.23"),
            ("Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)", "156.0.8078.79"),
            ("OpenSSL 3.5.0-beta1 25 Mar 2025", "3.5.0"),
            ("curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1 OpenSSL/3.0.19", "7.88.1"),
            ("h2load nghttp2/1.52.0", "1.52.0"),
        ] {
            assert_eq!(find_version(answer).map(|(text, _)| text).as_deref(), Some(expected));
        }
        assert_eq!(find_version("a program of 1999"), None);
    }

    #[test]
    fn a_range_contains_its_beginning_and_not_its_end() {
        let ranges = "3.4..3.5,3.5.6..3.7";
        for version in [&[3, 4][..], &[3, 4, 23], &[3, 5, 6], &[3, 6, 9]] {
            assert!(accepts(ranges, version), "{version:?}");
        }
        for version in [&[3, 3, 27][..], &[3, 5, 0], &[3, 5, 5], &[3, 7, 0], &[4, 0]] {
            assert!(!accepts(ranges, version), "{version:?}");
        }
        assert!(accepts("120..", &[156, 0]) && !accepts("120..", &[119, 9]));
    }

    #[test]
    fn a_peer_that_is_missing_or_too_old_is_an_error_that_names_the_fix() {
        let absent =
            Peer { program: "tessera-absent", package: "absent", versions: "1..", asked_by: "-V" };
        let old =
            Peer { program: "openssl", package: "openssl", versions: "99..", asked_by: "version" };
        for (peer, says) in [(absent, "can't be run"), (old, "the tests accept 99..")] {
            let reason = peer.version().unwrap_err();
            assert!(
                reason.contains(says) && reason.contains("run scripts/setup-tests"),
                "{reason}"
            );
        }
    }
}
