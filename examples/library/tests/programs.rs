//! The programs of `docs/library.md` run, and the page shows them unchanged.
// Helpers fail their test by panicking; clippy exempts only the test functions themselves.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use axum::extract::ConnectInfo;
use axum::{Router, routing::get};
use tessera::Destination;
use tessera::resume::PskKind;
use tessera::wire::SignatureScheme;
use tessera_example_library::{acceptor, kem_authentication};
use tessera_pki::Authority;
use tessera_test_peers::{Directory, http};
use tessera_tokio::{Limits, Server, StreamInfo, TlsListener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An authority and a server's certificate, as PEM files.
struct Files {
    _directory: Directory,
    root: String,
    chain: String,
    key: String,
}

impl Files {
    fn new() -> Self {
        let root = Authority::new("authority");
        let leaf = root.issue("localhost");
        let directory = Directory::new();
        let [root, chain, key] = [
            ("root.pem", root.pem()),
            ("chain.pem", leaf.chain_pem()),
            ("key.pem", leaf.key_pem()),
        ]
        .map(|(name, text)| directory.write(name, text));
        Self { _directory: directory, root, chain, key }
    }
}

/// A server on a free port, killed when it is dropped.
struct RunningServer {
    child: Child,
    port: String,
}

fn start(program: &str, files: &Files) -> RunningServer {
    let mut command = Command::new(program);
    command.args([&files.chain, &files.key, "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').expect("an address").1.to_owned();
    RunningServer { child, port }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a client, and returns its output.
fn ask(program: &str, files: &Files, server: &RunningServer) -> String {
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
        // All clients are served.
        for option in ["--http1.1", "--http2"] {
            let url = format!("https://localhost:{}/", server.port);
            let answer = http::curl(&[option, "--cacert", &files.root, &url]);
            assert_eq!(answer, "early data: NotOffered");
        }
    }
}

/// The origin announces a second server, which shares its keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_that_follows_has_its_second_request_early_at_another_server() {
    let files = Files::new();
    let acceptor = acceptor(files.chain.as_ref(), files.key.as_ref()).unwrap();
    let sockets = [TcpListener::bind("127.0.0.1:0"), TcpListener::bind("127.0.0.1:0")];
    let [origin, other] = sockets;
    let (origin, other) = (origin.await.unwrap(), other.await.unwrap());
    let ports = [&origin, &other].map(|socket| socket.local_addr().unwrap().port());
    for socket in [origin, other] {
        let field = format!("h2=\"localhost:{}\"; ma=60", ports[1]);
        let answer = move |ConnectInfo(client): ConnectInfo<StreamInfo>| async move {
            ([("alt-svc", field)], format!("early data: {:?}", client.facts.early_data))
        };
        let router = Router::new().route("/", get(answer));
        let service = router.into_make_service_with_connect_info::<StreamInfo>();
        let listener = TlsListener::new(Server::new(socket, acceptor.clone(), Limits::default()));
        tokio::spawn(async move { axum::serve(listener, service).await });
    }
    let url = format!("https://localhost:{}/", ports[0]);
    let client = env!("CARGO_BIN_EXE_following-client");
    let output = tokio::process::Command::new(client).args([&files.root, &url]).output();
    let output = output.await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = format!(
        "early data: NotOffered, by the origin\nearly data: Accepted, by localhost:{} (h2)\n",
        ports[1]
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn the_client_with_tonic_has_its_second_call_early() {
    let files = Files::new();
    let server = start(env!("CARGO_BIN_EXE_tonic-server"), &files);
    assert_eq!(ask(env!("CARGO_BIN_EXE_tonic-client"), &files, &server), EARLY);
}

/// The README's client meets an echo server like `tessera serve`.
#[tokio::test]
async fn the_readmes_client_sends_its_second_greeting_early() {
    let files = Files::new();
    let acceptor = acceptor(files.chain.as_ref(), files.key.as_ref()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept_early(socket).await.unwrap();
            let mut greeting = Vec::new();
            stream.read_to_end(&mut greeting).await.unwrap();
            stream.write_all(&greeting).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    let client = env!("CARGO_BIN_EXE_twice");
    let output = tokio::process::Command::new(client).args([&files.root, &address]).output();
    let output = output.await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "hello, early data: NotOffered\nhello, early data: Accepted\n");
}

#[tokio::test]
async fn a_server_with_a_kem_proves_its_key_and_is_known_by_it() {
    let authority = Authority::new("authority");
    let leaf = authority.issue_kem(SignatureScheme::KEM_MLKEM768, &["localhost"], |_| ());
    let directory = Directory::new();
    let roots = directory.write("root.pem", authority.pem());
    let chain = directory.write("chain.pem", leaf.chain_pem());
    let key = directory.write("key.pem", leaf.key_pem());
    let acceptor = kem_authentication::acceptor(chain.as_ref(), key.as_ref()).unwrap();
    let connector = kem_authentication::connector(roots.as_ref()).unwrap();
    let known = kem_authentication::known_key(chain.as_ref(), "localhost").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            acceptor.accept(socket).await.unwrap().shutdown().await.unwrap();
        }
    });
    for known_server_key in [None, Some(Box::new(known))] {
        let psk = known_server_key.is_some().then_some(PskKind::KnownKey);
        let scheme = psk.is_none().then_some(SignatureScheme::KEM_MLKEM768);
        let to =
            Destination { server_name: "localhost".into(), known_server_key, ..Default::default() };
        let socket = TcpStream::connect(address).await.unwrap();
        let stream = connector.connect(to, socket).await.unwrap();
        let facts = stream.facts();
        assert_eq!((facts.psk, facts.signature_scheme), (psk, scheme));
    }
}

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Returns a file of the repository.
fn page(name: &str) -> String {
    fs::read_to_string(format!("{HERE}/../../{name}")).unwrap()
}

/// Returns the pieces of Rust on a page.
fn pieces(page: &str) -> impl Iterator<Item = &str> {
    page.split("```rust\n").skip(1).filter_map(|rest| rest.split("```").next())
}

/// Returns a program without the comment at its top.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.lines().skip_while(|line| line.starts_with("//!") || line.is_empty());
    code.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_pages_have_each_program_whole_and_nothing_else() {
    let [readme, library] = ["README.md", "docs/library.md"].map(page);
    let files = ["src", "src/bin"].map(|it| fs::read_dir(format!("{HERE}/{it}")).unwrap());
    let files = files.into_iter().flatten().map(|file| file.unwrap().path());
    let files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|it| it == "rs")).collect();
    let codes: Vec<_> = files.iter().map(|path| code(path)).collect();
    for piece in pieces(&library) {
        assert!(codes.iter().any(|code| code.contains(piece)), "in no program:\n{piece}");
    }
    for (path, code) in files.iter().zip(&codes) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let page = if name == "twice.rs" { &readme } else { &library };
        // The library is explained piece by piece.
        let is_whole = pieces(page).any(|piece| piece == code);
        assert!(is_whole || name == "lib.rs", "{name} does not stand there whole");
        assert!(library.contains(name), "{name} is not named");
    }
}

/// A package made with the page's commands has the programs' dependencies.
#[test]
fn the_page_adds_every_dependency_with_its_features() {
    let page = page("docs/library.md");
    let commands = page.lines().filter(|line| line.contains("cargo add "));
    let commands: Vec<Vec<_>> =
        commands.map(|line| line.split([' ', '/', ';']).collect()).collect();
    let manifest = fs::read_to_string(format!("{HERE}/Cargo.toml")).unwrap();
    let dependencies =
        manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let mut count = 0;
    for line in dependencies.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let name = line.split([' ', '.']).next().unwrap();
        let is_named = |word: &&str| word.split('@').next() == Some(name);
        let command = commands.iter().find(|words| words.iter().any(is_named)).expect(name);
        let features =
            line.split("features = [").nth(1).unwrap_or_default().split(']').next().unwrap();
        for feature in features.split([',', '"', ' ']).filter(|feature| !feature.is_empty()) {
            let added = command.iter().flat_map(|word| word.split(',')).any(|it| it == feature);
            assert!(added, "{name} without {feature}");
        }
        count += 1;
    }
    assert!(count > 10, "{count} dependencies");
}
