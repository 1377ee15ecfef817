//! The end of a server end.

use std::time::Duration;

use tessera_proxy::drain::DrainSummary;
use tessera_proxy::listen::{InheritedSockets, Listener};
use tessera_tunnel::metrics::{Role, TunnelMetrics};
use tessera_tunnel::server::ServerEnd;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::backends::Echo;
use crate::world::{Client, Files, answer, within};

#[tokio::test]
async fn connections_in_the_queue_at_the_end_are_served() {
    const COUNT: usize = 8;
    let (files, echo) = (Files::new(), Echo::start().await);
    let section = files.server(&echo.forward());
    let metrics = TunnelMetrics::unregistered(Role::Server);
    let (end, _) = ServerEnd::open("test", section.clone(), metrics).unwrap();
    let options = end.listen_options();
    let listener =
        Listener::bind(&section.listen, options, &mut InheritedSockets::default()).unwrap();
    let address = listener.local_addrs().unwrap()[0];
    let mut queued = Vec::new();
    for _ in 0..COUNT {
        queued.push(TcpStream::connect(address).await.unwrap());
    }
    let running =
        tokio::spawn(
            async move { end.run(listener, async {}, Duration::from_secs(30)).await.unwrap() },
        );
    let client = Client::new(&files.client());
    for socket in queued {
        let mut stream = client.over(socket).await.unwrap();
        stream.write_all(b"late").await.unwrap();
        assert_eq!(answer(&mut stream).await.unwrap(), b"late");
    }
    assert_eq!(within(running).await.unwrap(), DrainSummary { ended: COUNT, cut: 0 });
    TcpStream::connect(address).await.unwrap_err();
}
