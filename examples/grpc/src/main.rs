//! Serves a greeter, and calls it through two connections: the first call of the second one travels as
//! early data.
//!
//! ```text
//! cargo run --package tessera-example-grpc
//! ```

use std::error::Error;
use std::sync::Arc;

use tessera_example_grpc::{channel, configurations, hello, serve};
use tessera_tokio::{Acceptor, Connector, Limits, MemorySessionStore, Server};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let configurations = configurations()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let acceptor = Acceptor::new(configurations.server);
    tokio::spawn(serve(Server::new(listener, acceptor, Limits::default())));

    let sessions = Arc::new(MemorySessionStore::default());
    let connector = Connector::new(configurations.client).with_sessions(sessions);
    for name in ["Ada", "Grace"] {
        let channel = channel(address.port(), connector.clone())?;
        let reply = hello(&channel, name).await?;
        let how = if reply.early { "as early data" } else { "after a full handshake" };
        println!("{} ({how})", reply.greeting);
    }
    Ok(())
}
