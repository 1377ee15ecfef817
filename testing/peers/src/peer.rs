//! The table of peers, and the check of the installed versions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The name of the program.
    pub program: &'static str,
    /// Where Debian installs it, if that need not be in `PATH`: `*` stands for a directory per version, of which the
    /// newest accepted one is used.
    place: Option<&'static str>,
    /// Its Debian package.
    pub package: &'static str,
    /// The accepted versions: half-open ranges, joined by commas.
    pub versions: &'static str,
    /// The argument for printing its version; `dpkg` for the version of its package.
    asked_by: &'static str,
}

/// Returns all peers.
pub fn table() -> impl Iterator<Item = Peer> {
    let rows = include_str!("../peers.txt").lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut columns = row.split_whitespace();
        let mut next = || columns.next().expect("a row has five columns");
        let program = next();
        let place = program.contains('/').then_some(program);
        let program = program.rsplit_once('/').map_or(program, |(_, name)| name);
        Peer { program, place, package: next(), versions: next(), asked_by: next() }
    })
}

impl Peer {
    /// Returns the peer of this name and the path of its program, whose version was checked and printed once in this
    /// process.
    ///
    /// # Panics
    /// If it is not in the table, not installed, or of another version.
    #[track_caller]
    pub(crate) fn checked(program: &str) -> (Self, PathBuf) {
        static CHECKED: Mutex<BTreeMap<&str, PathBuf>> = Mutex::new(BTreeMap::new());
        let Some(peer) = table().find(|peer| peer.program == program) else {
            panic!("{program} is not in testing/peers/peers.txt")
        };
        let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = checked.get(peer.program) {
            return (peer, path.clone());
        }
        match peer.installed() {
            Ok((path, version)) => {
                eprintln!("peer: {program} {version}");
                checked.insert(peer.program, path.clone());
                (peer, path)
            }
            Err(reason) => panic!("{reason}"),
        }
    }

    /// Returns the installed version.
    ///
    /// # Errors
    /// A sentence with the fix, if none is installed or it is not accepted.
    pub fn version(&self) -> Result<String, String> {
        self.installed().map(|(_, version)| version)
    }

    /// Returns the newest accepted one that is installed.
    fn installed(&self) -> Result<(PathBuf, String), String> {
        let mut places = self.places();
        if places.is_empty() {
            places.push(self.place.unwrap_or(self.program).into());
        }
        let mut newest: Result<(PathBuf, String, Vec<u32>), String> = Err(String::new());
        for path in places {
            match (self.accepted(&path), &newest) {
                (Ok((text, version)), Ok((.., before))) if version > *before => {
                    newest = Ok((path, text, version));
                }
                (Ok((text, version)), Err(_)) => newest = Ok((path, text, version)),
                (Err(reason), Err(_)) => newest = Err(reason),
                (_, Ok(_)) => {}
            }
        }
        newest.map(|(path, text, _)| (path, text))
    }

    /// Returns where it is installed, in all versions. Without fixed places, the first in `PATH`.
    fn places(&self) -> Vec<PathBuf> {
        let Some(place) = self.place else { return vec![self.program.into()] };
        let Some((above, below)) = place.split_once("/*/") else { return vec![place.into()] };
        let versions = fs::read_dir(above).into_iter().flatten().flatten();
        versions.map(|version| version.path().join(below)).filter(|path| path.is_file()).collect()
    }

    /// Returns the version of this program, as text and as numbers, if it is accepted.
    fn accepted(&self, path: &Path) -> Result<(String, Vec<u32>), String> {
        let Self { program, package, versions, asked_by, .. } = self;
        let fix = format!("run scripts/setup-tests, or install Debian's package {package}");
        let mut question = Command::new(path);
        if *asked_by == "dpkg" {
            question = Command::new("dpkg-query");
            question.args(["--show", "--showformat=${Version}", package]);
        } else {
            question.arg(asked_by);
        }
        let output = question.output().map_err(|error| {
            format!("the tests need {program}, which can't be run: {error}; {fix}")
        })?;
        // stunnel prints it to standard error.
        let answer = [output.stdout, output.stderr].concat();
        let answer = String::from_utf8_lossy(&answer);
        let Some((text, version)) = find_version(&answer) else {
            return Err(format!("`{program} {asked_by}` names no version, but {answer:?}; {fix}"));
        };
        if accepts(versions, &version) {
            Ok((text, version))
        } else {
            Err(format!("{program} is {text}, and the tests accept {versions}; {fix}"))
        }
    }
}

/// Returns the first word that is a version: as written, and its numbers.
fn find_version(answer: &str) -> Option<(String, Vec<u32>)> {
    // nghttp2 writes its name and a slash before, Redis `v=`, dpkg an epoch and a colon, Go its name.
    let words = answer.split(|c: char| c.is_whitespace() || "/=:".contains(c));
    words.filter(|word| !word.is_empty()).find_map(|word| {
        let word = word.strip_prefix("go").unwrap_or(word);
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
    fn a_program_outside_of_the_path_is_found_where_debian_puts_it() {
        let peer = Peer {
            program: "openssl",
            place: Some("/usr/*/openssl"),
            package: "openssl",
            versions: "3.0..",
            asked_by: "version",
        };
        let (path, version) = peer.installed().unwrap();
        assert_eq!((path, version), ("/usr/bin/openssl".into(), peer.version().unwrap()));
    }

    #[test]
    fn a_version_is_found_in_what_each_program_prints() {
        for (answer, expected) in [
            ("OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)", "3.0.19"),
            ("etcd Version: 3.4.23\nGit SHA: none\nGo Version: go1.19.8\n", "3.4.23"),
            ("Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)", "156.0.8078.79"),
            ("OpenSSL 3.5.0-beta1 25 Mar 2025", "3.5.0"),
            ("curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1 OpenSSL/3.0.19", "7.88.1"),
            ("h2load nghttp2/1.52.0", "1.52.0"),
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"),
            ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", "7.0.15"),
            ("mosquitto version 2.0.11\n\nmosquitto is an MQTT v5.0 broker.", "2.0.11"),
            ("stunnel 5.68 on x86_64-pc-linux-gnu platform\nCompiled with", "5.68"),
            ("2:3.87.1-1+deb12u4", "3.87.1"),
            ("go version go1.19.8 linux/amd64", "1.19.8"),
            ("HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/", "2.6.12"),
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
        let peer = |program, place, versions| Peer {
            program,
            place,
            package: "package",
            versions,
            asked_by: "version",
        };
        for (peer, says) in [
            (peer("tessera-absent", None, "1.."), "can't be run"),
            (peer("absent", Some("/usr/lib/absent/*/bin/absent"), "1.."), "can't be run"),
            (peer("openssl", None, "99.."), "the tests accept 99.."),
            (peer("openssl", Some("/usr/*/openssl"), "99.."), "the tests accept 99.."),
        ] {
            let reason = peer.version().unwrap_err();
            assert!(
                reason.contains(says) && reason.contains("run scripts/setup-tests"),
                "{reason}"
            );
        }
    }
}
