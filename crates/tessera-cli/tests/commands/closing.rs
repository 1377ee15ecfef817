//! Ends that close or stop reading in unusual ways.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener as StdListener};
use std::path::Path;
use std::pin::Pin;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use tessera::handshake::ClientAuthentication;
use tessera::{ClientConfig, Destination, ServerConfig};
use tessera_kit::{SettingFile, credential, trust};
use tessera_tokio::{Acceptor, Connector, ServerStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

use tessera_test_peers::Directory;

use crate::program::{P256, Pki, Server, run, signal, stderr, tessera};

fn file(path: &str) -> SettingFile<'_> {
    SettingFile { setting: "a test's", path: Path::new(path) }
}

fn config(pki: &Pki) -> ServerConfig {
    let (certificate, key) = (pki.path("server.pem"), pki.path("server.key"));
    let credential = credential::load(file(&certificate), file(&key)).unwrap();
    ServerConfig::new(tessera_aws_lc::provider(), vec![credential])
}

/// Serves one client on its own thread.
fn serve<T: Send + 'static, F: Future<Output = T>>(
    config: ServerConfig,
    serve: impl FnOnce(Acceptor, TcpStream) -> F + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (socket, _) = TcpListener::from_std(listener).unwrap().accept().await.unwrap();
            serve(Acceptor::new(config.checked().unwrap()), socket).await
        })
    });
    (address, thread)
}

#[test]
fn connect_goes_on_writing_after_the_server_has_closed_its_side() {
    let pki = Pki::new(P256);
    let (address, server) = serve(config(&pki), async |acceptor, socket| {
        let mut stream: ServerStream<TcpStream> = acceptor.accept(socket).await.unwrap();
        stream.write_all(b"last words").await.unwrap();
        stream.shutdown().await.unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).await.map(|_| received.len())
    });
    let mut child = tessera()
        .args(["connect", &address.to_string(), "--ca", &pki.path("root.pem")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The server has closed its direction when its last data arrives.
    let mut words = [0; 10];
    child.stdout.as_mut().unwrap().read_exact(&mut words).unwrap();
    assert_eq!(&words, b"last words");
    // Only the client knows when it has seen the end; it reports that itself.
    let mut told = String::new();
    let mut errors = child.stderr.take().unwrap();
    while !told.contains("has ended its side") {
        let mut byte = [0];
        errors.read_exact(&mut byte).unwrap();
        told.push(byte[0].into());
    }
    child.stdin.take().unwrap().write_all(&[7; 1_000_000]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(server.join().unwrap().unwrap(), 1_000_000);
}

/// A socket that closes with unread bytes as soon as its owner has nothing left to send, which resets the peer's
/// connection.
struct Abrupt {
    socket: TcpStream,
    over: bool,
}

impl AsyncRead for Abrupt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.over {
            Poll::Ready(Ok(()))
        } else {
            Pin::new(&mut self.socket).poll_read(cx, buffer)
        }
    }
}

impl AsyncWrite for Abrupt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.over = true;
        Poll::Ready(Ok(()))
    }
}

#[test]
fn connect_reports_the_alert_of_a_server_that_closes_during_a_write() {
    let pki = Pki::new(P256);
    let root = pki.path("root.pem");
    for _ in 0..10 {
        let mut config = config(&pki);
        let verifier = trust::roots(file(&root)).unwrap();
        config.client_authentication = ClientAuthentication::Required(Arc::new(verifier));
        let (address, server) = serve(config, async |acceptor, socket| {
            acceptor.accept(Abrupt { socket, over: false }).await.map(|_| ())
        });
        let mut connect = tessera();
        connect.args(["connect", &address.to_string(), "--ca", &root]);
        let output = run(&mut connect, &"x".repeat(3_000_000));
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(
            told.contains("CERTIFICATE_REQUIRED") && told.contains("--certificate FILE"),
            "{told}"
        );
        server.join().unwrap().unwrap_err();
    }
}

#[test]
fn serve_ends_connections_whose_client_does_not_read() {
    let pki = Pki::new(P256);
    let [root, certificate, key] = ["root.pem", "server.pem", "server.key"].map(|it| pki.path(it));
    let files = ["--certificate", &certificate, "--key", &key];
    let server = Server::start(&[&files[..], &["--write-timeout", "300ms"]].concat());
    let verifier = trust::roots(file(&root)).unwrap();
    let config = ClientConfig::new(tessera_aws_lc::provider(), Arc::new(verifier));
    let connector = Connector::new(config.checked().unwrap());
    let destination = Destination { server_name: "localhost".to_owned(), ..Default::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let socket = TcpStream::connect(&server.address).await.unwrap();
        let mut stream = connector.connect(destination, socket).await.unwrap();
        // The client's output is never read, so the client stops reading.
        while stream.write_all(&[7; 65536]).await.is_ok() {}
    });
    let told = server.next();
    assert_eq!(told["error"], "the peer didn't read for longer than the write limit", "{told}");
}

/// Runs `tessera connect` and ends it by Ctrl-C after its flight; the server in its place reads, and never answers.
pub(crate) fn ended_before_the_answer(address: &str, options: &[&str]) -> Output {
    let listener = StdListener::bind(address).unwrap();
    let child = tessera()
        .args(["connect", address, "--json", "-"])
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut socket, _) = listener.accept().unwrap();
    socket.read_exact(&mut [0; 600]).unwrap();
    signal(&child, "-INT");
    child.wait_with_output().unwrap()
}

/// A user who ends the program while a flight is in transit must learn that it may be executed.
#[test]
fn connect_stopped_before_the_answer_reports_what_may_have_been_executed() {
    let directory = Directory::new();
    let [question, sessions] = ["question", "sessions"].map(|name| directory.path(name));
    std::fs::write(&question, "question").unwrap();
    let server = Server::start(&["--forward-secret-early-data"]);
    let (address, fingerprint) = (server.address.clone(), server.fingerprint.clone());
    let trust = ["--fingerprint", &fingerprint, "--sessions", &sessions];
    let options = [&trust[..], &["--forward-secret-early-data"]].concat();
    let first = server.connect(&options, "hello");
    assert!(first.status.success(), "{}", stderr(&first));
    drop(server);

    let output =
        ended_before_the_answer(&address, &[&options[..], &["--early-data", &question]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = [stderr(&output), String::from_utf8_lossy(&output.stdout).into_owned()];
    for told in told {
        assert!(told.contains("8 bytes of early data may have been executed"), "{told}");
    }
}
