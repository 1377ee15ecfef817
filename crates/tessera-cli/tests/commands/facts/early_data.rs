//! Scenes with early data: its outcome, and what the client reports.

use std::fs;

use super::{EARLY, Stage};
use crate::closing::ended_before_the_answer;
use crate::document::DOCUMENT;
use crate::program::{P256, Pki, Server};

impl Stage {
    /// Returns the options of a client that keeps its sessions in a directory of this name.
    fn early<'a>(&self, server: &'a Server, sessions: &'a str) -> Vec<&'a str> {
        let trust = ["--fingerprint", &server.fingerprint, "--sessions", sessions];
        [&[server.address.as_str(), EARLY], &trust[..]].concat()
    }

    pub(super) fn early_data_that_is_accepted_or_used(&self) {
        let server = self.serve(&[EARLY]);
        let (sessions, data) = (self.path("accepted"), self.directory.write("data", "early"));
        let options = self.early(&server, &sessions);
        self.connect(&options, 0);
        // A copied session, which no correct client has.
        let copy = self.path("copy");
        copy_all(&sessions, &copy);
        for (sessions, told, code) in [(&sessions, "accepted", 0), (&copy, "rejected-used", 1)] {
            let mut options = self.early(&server, sessions);
            options.extend(["--early-data", &data]);
            assert_eq!(self.connect(&options, code)["early_data"], told);
        }
        self.end(server);
    }

    /// The client begins with a group that the server doesn't have, and gets a HelloRetryRequest.
    pub(super) fn early_data_that_is_burned(&self) {
        let server = self.serve(&[EARLY, "--groups", "p-256,x25519"]);
        let (sessions, data) = (self.path("burned"), self.directory.write("data", "early"));
        let options = self.early(&server, &sessions);
        self.connect(&[&options[..], &["--groups", "p-256,x25519"]].concat(), 0);
        let again = ["--groups", "p-384,x25519", "--early-data", &data];
        let fact = self.connect(&[&options[..], &again].concat(), 0);
        assert_eq!(fact["early_data"], "rejected-burned", "{fact}");
        self.end(server);
    }

    /// A restarted server knows none of its old tickets. The client takes the new ones, though its request failed.
    pub(super) fn early_data_that_nobody_knows_of(&self) {
        let pki = Pki::new(P256);
        let (own, key) = (pki.path("server.pem"), pki.path("server.key"));
        let options = [EARLY, "--certificate", &own, "--key", &key];
        let (sessions, data) = (self.path("unknown"), self.directory.write("data", "early"));
        let first = self.serve(&options);
        self.connect(&self.early(&first, &sessions), 0);
        let address = first.address.clone();
        self.end(first);
        let second = Server::listening(&address, &options);
        let mut options = self.early(&second, &sessions);
        options.extend(["--early-data", &data]);
        for (told, code) in [("rejected-unknown", 1), ("accepted", 0)] {
            let fact = self.connect(&options, code);
            assert_eq!(fact["early_data"], told, "{fact}");
            assert!(fact["handshake_micros"].is_u64(), "{fact}");
        }
        self.end(second);
    }

    /// Ctrl-C before the answer.
    pub(super) fn early_data_that_is_never_answered(&self) {
        let server = self.serve(&[EARLY]);
        let (sessions, data) = (self.path("offered"), self.directory.write("data", "early"));
        self.connect(&self.early(&server, &sessions), 0);
        let (address, fingerprint) = (server.address.clone(), server.fingerprint.clone());
        self.end(server);
        let trust = ["--fingerprint", &fingerprint, "--sessions", &sessions];
        let early = [&trust[..], &[EARLY, "--early-data", &data]].concat();
        let output = ended_before_the_answer(&address, &early);
        assert_eq!(output.status.code(), Some(1));
        let fact = DOCUMENT.parse(str::from_utf8(&output.stdout).unwrap());
        assert_eq!(fact["early_data"], "offered");
        self.facts.borrow_mut().push(fact);
    }
}

fn copy_all(from: &str, to: &str) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), format!("{to}/{}", entry.file_name().to_str().unwrap()));
        if entry.file_type().unwrap().is_dir() {
            copy_all(from.to_str().unwrap(), &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}
