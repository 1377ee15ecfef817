//! Serves a greeter, and calls it through two connections: the second one resumes the first.
//!
//! ```text
//! cargo run --package tessera-example-grpc
//! ```

use std::error::Error;
use std::sync::Arc;

use tessera_example_grpc::{channel, configurations, hello, serve};
use tessera_tokio::{Acceptor, Connector, MemorySessionStore};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let configurations = configurations()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(serve(listener, Acceptor::new(configurations.server)));

    let sessions = Arc::new(MemorySessionStore::default());
    let connector = Connector::new(configurations.client).with_sessions(sessions);
    for name in ["Ada", "Grace"] {
        let channel = channel(address, connector.clone()).await?;
        let reply = hello(&channel, name).await?;
        let how = if reply.resumed { "a resumed connection" } else { "a full handshake" };
        println!("{} (through {how})", reply.greeting);
    }
    Ok(())
}
