//! The reader programs: each is a file next to this one, and gets all messages at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::Command;
use std::time::Duration;

use tessera_test_peers::{Directory, Network, Process};

use super::unread;
use crate::grammar::Message;

pub struct Program {
    pub name: &'static str,
    /// The tricks that are lost on it.
    pub unread: &'static [&'static str],
    path: String,
    arguments: Vec<String>,
    /// Its build directory, while it runs.
    _directory: Directory,
}

/// Longer than the slowest takes.
const PATIENCE: Duration = Duration::from_secs(120);

impl Program {
    /// Built with Debian's libcjson, like open5gs.
    pub fn c() -> Self {
        let compile = |source: &str, program: &str| {
            let mut command = Command::new("cc");
            command.args(["-O1", "-o", program, source, "-lcjson"]);
            command
        };
        let source = ("receiver.c", include_str!("receiver.c"));
        Self::compiled("C, cJSON", unread::C, source, compile, LIBCJSON)
    }

    pub fn go() -> Self {
        let compile = |source: &str, program: &str| {
            let mut command = Command::new("go");
            command.args(["build", "-o", program, source]).env("GO111MODULE", "off");
            command
        };
        let source = ("receiver.go", include_str!("receiver.go"));
        let lack = "it takes Go 1.22 or later";
        Self::compiled("Go, encoding/json", unread::GO, source, compile, lack)
    }

    pub fn node() -> Self {
        let version = Command::new("node").arg("--version").output();
        assert!(
            version.is_ok_and(|version| version.status.success()),
            "node can't be started: this test takes Node.js 20 or later"
        );
        let directory = Directory::new();
        let source = directory.write("receiver.js", include_str!("receiver.js"));
        Self {
            name: "Node.js, URL",
            unread: unread::NODE,
            path: "node".into(),
            arguments: vec![source],
            _directory: directory,
        }
    }

    fn compiled(
        name: &'static str,
        unread: &'static [&'static str],
        (file, source): (&str, &str),
        compile: impl Fn(&str, &str) -> Command,
        lack: &str,
    ) -> Self {
        let directory = Directory::new();
        let (source, path) = (directory.write(file, source), directory.path("receiver"));
        let mut command = compile(&source, &path);
        let compiler = command.get_program().to_string_lossy().into_owned();
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{compiler} can't be started ({error}): {lack}"));
        assert!(
            output.status.success(),
            "{compiler} can't compile {file}: {lack}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Self { name, unread, path, arguments: Vec::new(), _directory: directory }
    }

    /// Returns its output for these messages.
    pub fn reads(&self, names: &BTreeSet<&str>, messages: &BTreeMap<usize, Message>) -> String {
        let mut input = String::new();
        for name in names {
            let _ = writeln!(input, "name {name}");
        }
        for (number, message) in messages {
            write(&mut input, *number, message);
        }
        let mut process =
            Process::start_compiled(self.name, &self.path, Network::None, &self.arguments);
        process.tell(&input).end_input();
        let succeeded = process.ends_within(PATIENCE);
        assert!(succeeded, "{} failed: {}", self.name, process.stderr());
        process.stdout()
    }
}

const LIBCJSON: &str = "run scripts/setup-tests, or install Debian's package libcjson-dev";

fn write(input: &mut String, number: usize, message: &Message) {
    let _ = writeln!(input, "message {number}");
    if message.status.is_none() {
        let _ = writeln!(input, "path {}", hex(message.path.as_bytes()));
    }
    if let Some(resource) = message.resource {
        let _ = writeln!(input, "resource {}", hex(resource.as_bytes()));
    }
    for (name, value) in &message.headers {
        let _ = writeln!(input, "header {} {}", hex(name.as_bytes()), hex(value));
    }
    if !message.body.is_empty() {
        let _ = writeln!(input, "body {}", hex(&message.body));
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
