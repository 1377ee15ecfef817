//! The programs of `docs/library.md` run, and the page shows them as they are.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tessera_test_peers::{Directory, http};

/// An authority and a server's certificate, as PEM files.
struct Files {
    _directory: Directory,
    root: String,
    chain: String,
    key: String,
}

impl Files {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        // Its name is not the server's: OpenSSL takes a certificate whose issuer has its name for self-signed.
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &root).unwrap();
        let directory = Directory::new();
        let [root, chain, key] = [
            ("root.pem", root.pem()),
            ("chain.pem", certificate.pem()),
            ("key.pem", key.serialize_pem()),
        ]
        .map(|(name, text)| directory.write(name, text));
        Self { _directory: directory, root, chain, key }
    }
}

/// A server on a free port, killed when it is dropped.
struct Running {
    child: Child,
    port: String,
}

fn start(program: &str, files: &Files) -> Running {
    let mut command = Command::new(program);
    command.args([&files.chain, &files.key, "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').expect("an address").1.to_owned();
    Running { child, port }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client wrote.
fn ask(program: &str, files: &Files, server: &Running) -> String {
    let url = format!("https://localhost:{}/", server.port);
    let output = Command::new(program).args([&files.root, &url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const EARLY: &str = "early data: NotOffered\nearly data: Accepted\n";

#[test]
fn the_client_with_hyper_has_its_second_request_early_at_both_servers() {
    let files = Files::new();
    for server in [env!("CARGO_BIN_EXE_axum-server"), env!("CARGO_BIN_EXE_hyper-server")] {
        let server = start(server, &files);
        assert_eq!(ask(env!("CARGO_BIN_EXE_hyper-client"), &files, &server), EARLY);
        // And everybody else is served too.
        for option in ["--http1.1", "--http2"] {
            let url = format!("https://localhost:{}/", server.port);
            let answer = http::curl(&[option, "--cacert", &files.root, &url]);
            assert_eq!(answer, "early data: NotOffered");
        }
    }
}

#[test]
fn the_client_with_tonic_has_its_second_call_early() {
    let files = Files::new();
    let server = start(env!("CARGO_BIN_EXE_tonic-server"), &files);
    assert_eq!(ask(env!("CARGO_BIN_EXE_tonic-client"), &files, &server), EARLY);
}

/// Each piece of Rust on the page is a piece of a program, but for its indentation.
#[test]
fn the_page_shows_the_programs_as_they_are() {
    let here = env!("CARGO_MANIFEST_DIR");
    let page = fs::read_to_string(format!("{here}/../../docs/library.md")).unwrap();
    let sources = [fs::read_dir(format!("{here}/src")), fs::read_dir(format!("{here}/src/bin"))];
    let files = sources.into_iter().flat_map(Result::unwrap).map(|file| file.unwrap().path());
    let programs = files.filter(|path| path.extension().is_some_and(|it| it == "rs"));
    let programs: Vec<_> = programs.map(|path| flat(&fs::read_to_string(path).unwrap())).collect();
    let mut count = 0;
    for block in page.split("```rust\n").skip(1) {
        let block = flat(block.split("```").next().unwrap());
        assert!(programs.iter().any(|program| program.contains(&block)), "in no program:\n{block}");
        count += 1;
    }
    assert!(count >= 5, "{count} pieces");
    // And each program stands on the page.
    for name in fs::read_dir(format!("{here}/src/bin")).unwrap() {
        let name = name.unwrap().file_name().into_string().unwrap();
        assert!(page.contains(&name), "{name}");
    }
}

fn flat(code: &str) -> String {
    code.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}
