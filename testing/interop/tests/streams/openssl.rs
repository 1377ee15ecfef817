//! OpenSSL's program as the peer.

use tessera::resume::PskKind;
use tessera_interop::{SERVER_NAME, to};
use tessera_test_peers::openssl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::World;

/// Waiting for the program blocks: Tessera's end runs on another thread.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s_client_resumes_and_receives_much_data() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = world.acceptor.clone();
    let server = tokio::spawn(async move {
        let mut psks = Vec::new();
        for _ in 0..2 {
            let (socket, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(socket).await.unwrap();
            let mut line = [0; 6];
            stream.read_exact(&mut line).await.unwrap();
            assert_eq!(&line, b"hello\n");
            stream.write_all(&vec![b'~'; 1 << 20]).await.unwrap();
            stream.write_all(b"\nthe end\n").await.unwrap();
            // s_client sends close_notify.
            assert_eq!(stream.read(&mut line).await.unwrap(), 0);
            stream.shutdown().await.unwrap();
            psks.push(stream.facts().psk);
        }
        psks
    });
    let file = world.pki.directory.path("session.pem");
    for session in ["-sess_out", "-sess_in"] {
        let trust = ["-CAfile", &world.pki.ca_file, "-verify_return_error"];
        let name = ["-servername", SERVER_NAME, "-verify_hostname", SERVER_NAME];
        let arguments = [&trust[..], &name, &[session, &file]].concat();
        let mut program = openssl::s_client(address, &arguments);
        program.tell("hello\n").says("\nthe end\n");
        assert_eq!(program.output().matches('~').count(), 1 << 20);
        program.tell("Q\n");
        assert!(program.ends(), "{}", program.output());
    }
    assert_eq!(server.await.unwrap(), [None, Some(PskKind::Resumption)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn s_server_is_resumed_and_receives_much_data() {
    let world = World::new();
    let (mut program, address) = openssl::s_server(&world.identity.arguments());
    for (times, psk) in [(1, None), (2, Some(PskKind::Resumption))] {
        let socket = TcpStream::connect(address).await.unwrap();
        let mut stream = world.connector.connect(to(None), socket).await.unwrap();
        assert_eq!(stream.facts().psk, psk);
        stream.write_all(&vec![b'~'; 1 << 20]).await.unwrap();
        stream.write_all(format!("\nthe end ({times})\n").as_bytes()).await.unwrap();
        program.says(&format!("the end ({times})"));
        assert_eq!(program.output().matches('~').count(), times << 20);
        // This arrives after the tickets.
        program.tell("from OpenSSL\n");
        let mut heard = [0; 13];
        stream.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"from OpenSSL\n");
        // This side closes first and receives the other's close_notify.
        stream.shutdown().await.unwrap();
        program.says_times("DONE", times);
        assert_eq!(stream.read(&mut heard).await.unwrap(), 0);
    }
}
