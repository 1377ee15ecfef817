//! A process that may open no more files.

use std::fs::File;

use tessera_proxy::gate::{Gate, GateLimits};
use tessera_proxy::listen::{InheritedSockets, ListenOptions, Listener};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::yield_now;

use crate::common;

#[test]
fn a_listener_survives_running_out_of_file_descriptors() {
    if common::is_child() {
        return child();
    }
    let test = "out_of_files::a_listener_survives_running_out_of_file_descriptors";
    let output = common::child(test, r#"ulimit -n 64; exec "$@""#).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn child() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let address = "127.0.0.1:0".parse().unwrap();
        let options = ListenOptions::default();
        let listener = Listener::bind(&address, options, &mut InheritedSockets::default()).unwrap();
        let address = listener.local_addrs().unwrap()[0];
        let gate = Gate::new(GateLimits::default());

        let mut client = TcpStream::connect(address).await.unwrap();
        let mut files = Vec::new();
        let error = loop {
            match File::open("/dev/null") {
                Ok(file) => files.push(file),
                Err(error) => break error,
            }
        };
        assert_eq!(error.raw_os_error(), Some(24), "EMFILE");

        let mut accepting = Box::pin(gate.accept(&listener));
        tokio::select! {
            _ = &mut accepting => unreachable!("there is no file for it"),
            () = async {
                while gate.counts().since_start.accept_errors < 3 {
                    yield_now().await;
                }
            } => (),
        }
        drop(files);
        let mut admitted = accepting.await;
        client.write_all(b"x").await.unwrap();
        assert_eq!(admitted.socket.read_u8().await.unwrap(), b'x');
    });
}
